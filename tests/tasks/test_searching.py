"""What a recipe's search asks of its model is said before anything is read."""

import pytest

from tests.tasks import runs
from zoo.tasks.parts.building import build_model

STACK = {"model": {"kind": "transformer", **runs.STACK}, "text": {"vocab_size": 40}}
ADAPTIVE = {"depth": "depth_adaptive", "loss": {"kind": "depth_adaptive"}}


def covered(tmp_path, **changes):
    return runs.recipe("transduce", tmp_path, search={"max_output_length": 6, "coverage_penalty": 0.2}, **changes)


TOLD = {"seq2seq": {}, "stack": STACK, "reversible": STACK | {"depth": "reversible"}}
UNTOLD = {"none": {"attention": "none"}, "universal": STACK | {"depth": "universal"}, "exits": STACK | ADAPTIVE}


@pytest.mark.parametrize("name", TOLD)
def test_a_coverage_penalty_is_taken_where_attention_is_told(name, tmp_path):
    one = covered(tmp_path, **TOLD[name])
    one.job.check(one)
    build_model(one.job, one, 11, 13).source_mask({"mask": None})  # an error where it is not told


@pytest.mark.parametrize("name", UNTOLD)
def test_a_coverage_penalty_is_refused_elsewhere(name, tmp_path):
    one = covered(tmp_path, **UNTOLD[name])
    with pytest.raises(ValueError, match="coverage_penalty needs the attention of each step .* Leave it out"):
        one.job.check(one)
