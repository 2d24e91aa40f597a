"""What `compare` says of two systems, for each task."""

import json

import pytest

from tests.scores import samples
from zoo.scores import TASKS, compare, translation

REFERENCES = ["x", "y"] * 50
WORSE = ["x" if number % 10 else "z" for number in range(100)]  # right at 40 of the 50 x
BETTER = [*REFERENCES[:90], *WORSE[90:]]
NATS = [float(number % 7 + 1) for number in range(50)]
SIDES = {
    "translation": (*samples.sentences(1), {"language": "en"}, "bleu"),
    "classification": (*samples.labels(1), {}, "accuracy"),
    "tagging": (*samples.tag_sentences(1, "BI"), {}, "entity_f1"),
    "transduction": (*samples.sentences(2), {}, "wer"),
    "language_model": ([2 * each for each in NATS], [10] * 50, {"bytes": [12] * 50}, "nats_per_character"),
    "similarity": (
        [float(each * each % 11) for each in range(40)],
        [float(each) for each in range(40)],
        {},
        "spearman",
    ),
    "partners": ([str(1 + each % 3) for each in range(40)], ["1"] * 40, {}, "accuracy"),
    "rating": ([float(each * each % 11) for each in range(40)], [float(each) for each in range(40)], {}, "mae"),
    "out_of_scope": (["a", "oos", "a", "oos"] * 9, ["a", "oos", "oos", "a"] * 9, {}, "out_of_scope_recall"),
}


@pytest.mark.parametrize("task", TASKS)
def test_a_perfect_system_is_better(task):
    outputs, references, options, leading = SIDES[task]
    best = NATS if task == "language_model" else references
    found = compare(task, outputs, best, references, **options)
    assert found["leading"] == next(iter(found["scores"])) == leading and found["count"] == len(references)
    for name, score in found["scores"].items():
        low, high = score["difference_interval"]
        assert low <= score["difference"] <= high and score["difference"] == pytest.approx(score["b"] - score["a"])
        assert score["better"] == "b" and score["p_value"] < 0.05, name
    assert json.loads(json.dumps(found)) == found


def test_the_scores_are_those_of_the_task():
    (outputs, references), others = samples.sentences(1), samples.sentences(1)[1][::-1]
    found = compare("translation", outputs, others, references, language="en")["scores"]
    for side, texts in (("a", outputs), ("b", others)):
        alone = translation(texts, references, "en")
        assert {name: score[side] for name, score in found.items()} == {name: alone[name] for name in found}


def test_the_examples_that_differ_come_with_what_was_written():
    found = compare("classification", WORSE, BETTER, REFERENCES)
    changed = [number for number in range(100) if WORSE[number] != BETTER[number]]
    assert {row["example"] for row in found["differ"]} <= set(changed) and len(found["differ"]) == 20
    row = found["differ"][0]
    assert row["influence"] > 0 and row["b"] == row["reference"] != row["a"] == WORSE[row["example"]]
    assert compare("classification", WORSE, WORSE, REFERENCES)["differ"] == []


def test_groups_have_their_own_differences():
    groups = {"x": list(range(0, 100, 2)), "y": list(range(1, 100, 2)), "none": []}
    rows = compare("classification", WORSE, BETTER, REFERENCES, groups)["by_group"]
    assert [(row["group"], row["count"], row["a"], row["b"]) for row in rows] == [("x", 50, 80, 98), ("y", 50, 0, 90)]
    assert all(row["p_value"] < 0.01 for row in rows)


def test_groups_without_a_score_are_left_out():
    """There is no recall of texts out of scope where there are none."""
    outputs, references, *_ = SIDES["out_of_scope"]
    groups = {label: [place for place, one in enumerate(references) if one == label] for label in ("a", "oos")}
    found = compare("out_of_scope", outputs, references, references, groups)
    assert [row["group"] for row in found["by_group"]] == ["oos"]


def test_a_score_that_one_system_lacks_is_left_out():
    found = compare("out_of_scope", ["a", "a"], ["a", "oos"], ["a", "oos"])
    assert list(found["scores"]) == ["out_of_scope_recall", "in_scope_accuracy", "accuracy"]


def test_wrong_use_is_refused():
    with pytest.raises(ValueError, match="a task among translation, .*; received 'music'"):
        compare("music", ["a"], ["a"], ["a"])
    with pytest.raises(ValueError, match="received 1 outputs and 2 references"):
        compare("classification", ["a", "b"], ["a"], ["a", "b"])


def test_examples_that_count_the_same_come_in_their_order():
    a, b = ["x" if number % 3 else "z" for number in range(99)], ["x" if number % 5 else "z" for number in range(99)]
    changed = [number for number in range(99) if a[number] != b[number]]
    found = compare("classification", a, b, ["x"] * 99)["differ"]
    assert [row["example"] for row in found] == changed[:20]


def test_systems_that_share_no_score_are_told():
    with pytest.raises(ValueError, match="no score that both systems have.*spearman: all numbers are equal"):
        compare("similarity", [1, 1, 1], [1, 2, 3], [1, 2, 3])
