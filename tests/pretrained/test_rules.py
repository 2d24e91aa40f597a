"""Every rule of every tiny network, there and back; and the steps that no such network has."""

import numpy as np
import pytest

from tests.pretrained.test_families import NAMES
from tests.pretrained.tiny import DATA
from zoo.pretrained.opening import family_of
from zoo.pretrained.rules import Rule, join, rows
from zoo.pretrained.source import open_address

LOSSES = "rows left out", "barred", "another matrix added"


@pytest.mark.parametrize("name", [*NAMES, "marian_files", "marian_files_apart", "marian_student"])
def test_weights_become_their_tensors_again(name):
    """Unless a step of the rule loses numbers, which it then says."""
    with open_address(DATA / name) as source:
        rules, restored = family_of(source).network(source).rules, 0
        for rule in rules:
            lossy = any(word in step.name for step in rule.steps for word in LOSSES)
            for words, names in rule.matches(list(source.tensors)).items():
                others = [pattern.format(**dict(words)) for pattern in rule.theirs[1:]]
                arrays = [source.tensors[each].read() for each in (names[0], *others)]
                made = rule.forth(*arrays)
                if lossy:
                    with pytest.raises(ValueError, match="numbers were lost when it was read"):
                        rule.back(*made)
                    continue
                restored += 1
                for one, other in zip(arrays, rule.back(*made), strict=True):
                    np.testing.assert_allclose(other, one, rtol=3e-7)
    assert restored > len(rules) / 2


def test_what_was_joined_is_split_at_its_places():
    arrays = [np.arange(6.0).reshape(2, 3), np.arange(10.0).reshape(2, 5)]
    rule = Rule(("a", "b"), "c", join(3, 5))
    made = rule.forth(*arrays)
    assert made[0].shape == (2, 8)
    for one, other in zip(arrays, rule.back(*made), strict=True):
        np.testing.assert_array_equal(one, other)


def test_rows_are_as_many_as_the_ids_of_the_source():
    ids = np.array([2, 0, 1])
    for step, count in ((rows(ids), 3.0), (rows(ids, 4), 4.0)):
        assert step.forward(np.arange(count))[0].tolist() == [2, 0, 1]
    with pytest.raises(ValueError, match="it has 4 rows for 3 ids"):
        rows(ids).forward(np.arange(4.0))
    assert rows(ids).reverse and not rows(ids, 4).reverse, "a row without an id is lost"
