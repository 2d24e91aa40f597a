"""The stacks as cases of the contract battery; the models' cases hold the other wirings."""

from tests.blocks.cases import causally, reading, writing
from tests.contracts import Case
from zoo.depth import make_stack


def stack(block, cross=False, **settings):
    return lambda: make_stack(2, 6, 2, 8, block, cross=cross, **settings)


CASES = [
    Case("stack-post_norm-encoder", stack("post_norm"), reading),
    Case("stack-pre_norm-gelu-encoder", stack("pre_norm", activation="gelu"), reading),
    Case("stack-macaron-decoder", stack("macaron", cross=True), writing, causally),
]
