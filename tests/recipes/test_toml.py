"""TOML that is written is read back by Python's own reader: the same values, and no setting that nobody gave."""

import random
import tomllib

import pytest

from tests.hostile.strings import HOSTILE, MODULE, SURROGATE
from zoo.recipes.proposal import dumps_with_comments
from zoo.recipes.toml import comment, line, literal, toml


def read(text):
    return tomllib.loads(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_are_values_keys_and_comments(text):
    assert read(line("x", text, text)) == {"x": text}
    assert read(toml({"x": text, text or "k": [text, {text: text}], "t": {"u": {f"k{text}": text}}})) == {
        "x": text,
        text: [text, {text: text}],
        "t": {"u": {f"k{text}": text}},
    }
    assert read(comment(text)) == {} and comment(text).count("\n") == 1


def drawn(draw, depth=0):
    """A value as a recipe may have it."""
    kinds = [
        lambda: draw.choice(HOSTILE),
        lambda: draw.choice([True, False, 0, -3, 10**12, 1.5, -1e-300, 1e30, float("inf"), float("-inf")]),
        lambda: [drawn(draw, depth + 1) for _ in range(draw.randrange(3))],
        lambda: {draw.choice(HOSTILE): drawn(draw, depth + 1) for _ in range(1 + draw.randrange(3))},
    ]
    return draw.choice(kinds[: 4 if depth < 3 else 2])()


def test_any_tables_come_back():
    draw = random.Random(3)
    for _ in range(200):
        tables = {f"t{place}": drawn(draw) for place in range(4)}
        assert read(toml(tables)) == tables


def test_what_no_encoding_has_is_refused_in_words():
    with pytest.raises(ValueError, match=r"'a\\\\ud800b\\\\udcff' holds bytes that are no UTF-8, which no recipe can"):
        literal([SURROGATE])


def test_notes_of_a_proposal_are_no_settings():
    settings = {"name": "mine", "task": "classify", "data": {"corpus": "files", "train": HOSTILE[0], "columns": {}}}
    settings["model"] = {"kind": "transformer"}
    text = dumps_with_comments(settings, HOSTILE)
    assert read(text)["data"]["train"] == HOSTILE[0] and "imports" not in read(text)
    assert text.count("\n# ") + 1 >= len(HOSTILE) and MODULE in text
