"""Eighteen wrong layers are found, each by the law that is there for it, and six right ones pass."""

import keras
import numpy as np
import pytest

from tests.check.right import RIGHT
from tests.check.wrong import LAW
from zoo.check import report, uses
from zoo.check.laws import build
from zoo.check.report import BROKEN, finding
from zoo.check.slots import Subject, cases

OF_THE_SUBJECT = {
    "settings": uses.check_settings,
    "generation": uses.check_generation,
    "memory": uses.check_memory_steps,
    "long": lambda subject: uses.check_long(subject, made(subject)),
}
NEW = ("static", "training", "differences", "implicit_masks")


def made(subject):
    keras.utils.set_random_seed(1)
    return [build(case) for case in cases(subject)]


def asked(law, subject):
    if law in OF_THE_SUBJECT:
        return finding(law, "", lambda: OF_THE_SUBJECT[law](subject))
    return finding(law, "", lambda: [report.BATTERY[law](each) for each in made(subject)])


@pytest.mark.parametrize("cls", LAW, ids=lambda cls: cls.__name__)
def test_it_is_found(cls):
    slot, law = LAW[cls]
    found = asked(law, Subject(cls, slot, {}))
    assert found.result == BROKEN and "Error" not in found.detail.split(":")[0], found


@pytest.mark.release(but=2)
@pytest.mark.slow
@pytest.mark.parametrize("cls", RIGHT, ids=lambda cls: cls.__name__)
def test_a_right_layer_passes(cls):
    subject = Subject(cls, RIGHT[cls], {})
    broken = [each for each in (asked(law, subject) for law in (*OF_THE_SUBJECT, *NEW)) if each.result == BROKEN]
    assert not broken, broken


def test_there_are_enough_of_both():
    assert len(LAW) >= 16 and len(RIGHT) >= 6 and np.all([law for _, law in LAW.values()])
