"""Whether a claim holds follows from the numbers: other numbers, and it is the other way round."""

import copy

import pytest

from tests.house_rules import ROOT
from zoo.reproduce import report

HOME = ROOT / "docs" / "reproduced"
CHANGES = [  # system, place of the claim, path of the number, another number, whether the claim then holds
    ("recurrent", 0, ["counts", "lstm"], 201, False),
    ("recurrent", 1, ["recalled", "LSTM"], [0.2, 0.2, 0.2], False),
    ("attention", 0, ["right", "additive"], [[1.0, 0.1, 0.1, 0.0]] * 3, False),
    ("attention", 2, ["identities", "v = 0"], 0.1, False),
    ("transformer", 0, ["gradients", "post_norm"], [[0.6, 0.4, 0.3, 0.2]] * 4, False),
    ("transformer", 2, ["last", "post-LN, no warm-up"], [0.0] * 5, False),
    ("transformer", 3, ["last", "post-LN, warm-up"], [0.0] * 5, True),
    ("transformer", 4, ["leak", "before"], 0.1, False),
    ("macaron", 0, ["errors", 0, "Strang, exact"], [1.0, 1.0, 1.0, 1.0], False),
    ("product-key", 0, ["search", "same"], 199, False),
    ("product-key", 1, ["known", "memory"], [0.0, 0.0, 0.0], False),
    ("tensorized", 0, ["parameters", 0, "3 d R + h R"], 1, False),
    ("tensorized", 2, ["loss", "two cores"], [0.0, 0.0, 0.0], True),
    ("tensorized", 4, ["leak", "without"], 0.0, True),
    ("adaptive-span", 2, ["trimmed"], [0.1], False),
    ("universal", 0, ["right", "Universal"], [[1.0, 0.0]] * 3, False),
    ("universal", 3, ["sizes", "8"], 1, False),
    ("universal", 4, ["sums", "interpolated"], 1.0, True),
    ("depth-adaptive", 3, ["chances", "multinomial"], 0.1, False),
    ("star", 0, ["error", "star"], [0.3, 0.3, 0.3], False),
    ("star", 3, ["moved", "star"], [3, 5], False),
    ("reformer", 0, ["union", "one softmax"], 0.1, False),
    ("reformer", 2, ["right"], [[0.9, 0.8, 0.7, 0.6]] * 3, False),
    ("reformer", 3, ["undone"], 0.1, False),
]


@pytest.mark.parametrize(("system", "place", "path", "number", "holds"), CHANGES)
def test_other_numbers_are_judged_otherwise(system, place, path, number, holds):
    found = copy.deepcopy(report.read(system, HOME)["found"])
    *outer, last = path
    part = found
    for name in outer:
        part = part[name]
    part[last] = number
    assert report.load_module(system).claims(found)[place]["holds"] is holds
