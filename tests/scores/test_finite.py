"""No score is nan or infinite, whatever is empty: it is left out, and `missing` says why."""

import itertools
import json

import pytest

from zoo import scores

TEXTS = ["", " ", "a b", "a", "c d e f"]


def check(found):
    """All numbers can be written as JSON, and what is missing is not there and has a reason."""
    json.dumps(found, allow_nan=False)
    for name, why in found.get("missing", {}).items():
        assert name not in found and f"{name}_interval" not in found and len(why) > 10


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize(
    ("score", "options"),
    [
        (scores.transduction, {}),
        (scores.transduction, {"separator": ""}),
        (scores.translation, {}),
        (scores.translation, {"language": "en"}),
        (scores.translation, {"language": "zh"}),
        (scores.translation, {"language": "de", "tokenized": True}),
        (scores.classification, {}),
    ],
)
def test_empty_texts(score, options, size):
    sides = list(itertools.product(TEXTS, repeat=size))
    for outputs, references in itertools.product(sides[:: size * 2], sides[:: size * 3]):
        check(score(list(outputs), list(references), **options, resamples=5))


def test_a_reference_without_symbols():
    found = scores.transduction(["a b"], [""])
    assert found["missing"] == {"per": "the references have no symbols"} and found["wer"] == 100
    assert scores.transduction(["a", ""], ["", "b c"])["per"] == 150
    rows = scores.by_length(scores.transduction_scores(["a", "b"], ["", "b"]), [1, 9])
    assert "per" not in rows[0] and rows[0]["missing"] and rows[1]["per"] == 0
    for row in rows:
        check(row)


@pytest.mark.parametrize("tags", [["O"], ["_"], ["B"], ["B-A"], ["A"], ["-"], [""]])
def test_tags(tags):
    for other in (["O"], ["_"], ["B-A"], ["A"], ["-"]):
        check(scores.tagging(tags, other, resamples=5))
        check(scores.tagging([*tags, "O O"], [*other, "O O"], resamples=5))


def test_language_models_and_texts_out_of_scope():
    check(scores.language_model([0.0, 3.0], [4, 0], [4, 0], [2, 0], [1, 0], resamples=20))
    found = scores.language_model([1e6], [1], tokens=[1])
    check(found)
    assert found["missing"] == {"perplexity": "it is infinite"} and found["nats_per_character"] == 1e6
    some = scores.out_of_scope(["a", "a"], ["a", "oos"])
    check(some)
    assert some["missing"] == {"out_of_scope_precision": "no output is out of scope"}
    check(scores.out_of_scope(["oos", "oos"], ["a", "oos"], resamples=5))


@pytest.mark.parametrize("outputs", [["a b", ""], ["", ""], ["a b", "c"]])
def test_comparisons(outputs):
    for task in ("transduction", "translation", "classification", "tagging"):
        first, second = (outputs, ["", ""]) if task != "tagging" else (["A B", "C"], ["A A", "C"])
        for references in (["", ""], ["a b", ""]) if task != "tagging" else (["A B", "O"],):
            check(
                scores.compare(
                    task, first, second, references, groups={"one": [0], "two": [1], "none": []}, resamples=5
                )
            )
