"""A few hundred of the strings of benchmarks/strings.py through every form of every kind."""

import importlib.util

import pytest

from tests.house_rules import ROOT


@pytest.fixture(scope="module")
def strings():
    spec = importlib.util.spec_from_file_location("strings", ROOT / "benchmarks" / "strings.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_strings_are_what_they_are_called(strings):
    drawn = strings.strings(600)
    assert drawn == strings.strings(600) and len(drawn) == 600
    assert {name for name, _ in drawn} >= strings.SHARES.keys() | strings.PIECES.keys()
    for name, text in drawn:
        bad = name in ("lone surrogates", "bytes that are no UTF-8") and any(
            "\ud800" <= sign < "\ue000" for sign in text
        )
        try:
            strings.as_bytes(text).decode("utf-8")
            assert not bad
        except UnicodeDecodeError:
            assert bad
        assert "\n" not in text


@pytest.mark.release(but=1)
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["generate", "continue", "classify", "tag"])
def test_no_string_is_lost_or_moves_another(artefacts, strings, kind):
    drawn = strings.strings(300, seed=1)
    outcomes, differ = strings.check(artefacts(kind), drawn)
    assert set(differ.values()) == {0}, differ
    assert sum(outcomes.values()) == 300 and {what for _, what in outcomes} >= {"answered", "refused"}
