"""Labels against scikit-learn's numbers and entities against seqeval's, and both against their definitions."""

import itertools
import json
import random
import re
from statistics import mean

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.scores import samples
from zoo.scores import classification, confusion, find_entities, tagging

# sklearn.metrics.f1_score(references, outputs, average="macro") of scikit-learn 1.9.1, times 100.
MACRO_F1 = {1: 65.04262812, 2: 57.80861248, 3: 54.39120909}
# precision_recall_fscore_support(references, outputs) for seed 1.
BY_LABEL = [
    [0.75, 0.61538462, 0.6, 0.72727273, 0.57142857],
    [0.64285714, 0.8, 0.66666667, 0.5, 0.72727273],
    [0.69230769, 0.69565217, 0.63157895, 0.59259259, 0.64],
    [14, 10, 9, 16, 11],
]
# (seed, prefixes of `samples.tag_sentences`, rules, f1, precision, recall, accuracy) by seqeval 1.2.2, times 100: with
# its defaults for "conlleval", with mode="strict" and scheme=IOB2 or IOBES for "iob2" and "bioes". All numbers were
# equal on 400 seeds of each of these four kinds.
SEQEVAL = [
    (1, "BI", "conlleval", 75.3968254, 74.80314961, 76.0, 80.0),
    (1, "BIES", "conlleval", 84.96732026, 85.52631579, 84.41558442, 81.42076503),
    (1, "BI", "iob2", 77.46478873, 76.38888889, 78.57142857, 80.0),
    (1, "BIES", "bioes", 78.84615385, 82.0, 75.92592593, 81.42076503),
    (2, "BI", "conlleval", 79.45205479, 78.37837838, 80.55555556, 84.30232558),
    (2, "BIES", "conlleval", 82.25108225, 81.1965812, 83.33333333, 82.3943662),
    (2, "BI", "iob2", 79.6875, 77.27272727, 82.25806452, 84.30232558),
    (2, "BIES", "bioes", 92.5, 94.87179487, 90.24390244, 82.3943662),
    (3, "BI", "conlleval", 67.51054852, 67.22689076, 67.79661017, 77.83783784),
    (3, "BIES", "conlleval", 73.92550143, 74.56647399, 73.29545455, 73.70892019),
    (3, "BI", "iob2", 64.1221374, 63.63636364, 64.61538462, 77.83783784),
    (3, "BIES", "bioes", 70.0, 70.0, 70.0, 73.70892019),
]
TAGS = st.lists(st.sampled_from(["O", *(f"{prefix}-{kind}" for prefix in "BIES" for kind in "xy")]), max_size=9)


@pytest.mark.parametrize("seed", MACRO_F1)
def test_macro_f1_is_that_of_scikit_learn(seed):
    outputs, references = samples.labels(seed)
    found = classification(outputs, references)
    assert found["macro_f1"] == pytest.approx(MACRO_F1[seed], abs=1e-6)
    assert found["count"] == 60 and json.loads(json.dumps(found)) == found


def test_each_label_has_its_row():
    rows = classification(*samples.labels(1))["by_label"]
    assert [row["label"] for row in rows] == ["l0", "l1", "l2", "l3", "l4"]
    for key, column in zip(("precision", "recall", "f1"), BY_LABEL, strict=False):
        assert [row[key] / 100 for row in rows] == pytest.approx(column, abs=1e-6)
    assert [row["count"] for row in rows] == BY_LABEL[3]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), min_size=1, max_size=30))
def test_scores_by_their_definition(pairs):
    outputs, references = map(list, zip(*pairs, strict=True))
    found = classification(outputs, references, resamples=2)

    def f1(name):
        hits = sum(one == other == name for one, other in pairs)
        return 2 * hits / (outputs.count(name) + references.count(name))

    assert found["macro_f1"] == pytest.approx(100 * mean(f1(name) for name in {*outputs, *references}))
    assert found["accuracy"] == pytest.approx(100 * mean(one == other for one, other in pairs))
    names, matrix = confusion(outputs, references)
    for row, true in enumerate(names):
        for column, output in enumerate(names):
            assert matrix[row, column] == pairs.count((output, true))


def test_labels_come_in_the_order_that_is_asked_for():
    names, matrix = confusion(["b", "x", "b"], ["b", "a", "a"], labels=["b", "c", "a"])
    assert names == ["b", "c", "a", "x"]
    assert np.array_equal(matrix, [[1, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0]])
    found = classification(["b", "x", "b"], ["b", "a", "a"], labels=["b", "c", "a"])
    assert [row["label"] for row in found["by_label"]] == names
    # The label "c" occurs nowhere, so it is no part of the mean: (2/3 + 0 + 0) / 3.
    assert found["macro_f1"] == pytest.approx(200 / 9)


def test_many_labels_cost_no_row_for_each_example():
    outputs, references = samples.labels(5, kinds=150, count=3000, right=0.9)
    found = classification(outputs, references)
    low, high = found["macro_f1_interval"]
    assert low < found["macro_f1"] < high < low + 5


@pytest.mark.parametrize(("seed", "prefixes", "rules", "f1", "precision", "recall", "accuracy"), SEQEVAL)
def test_scores_are_those_of_seqeval(seed, prefixes, rules, f1, precision, recall, accuracy):
    found = tagging(*samples.tag_sentences(seed, prefixes), rules)
    names = ("entity_f1", "entity_precision", "entity_recall", "accuracy")
    assert [found[name] for name in names] == pytest.approx([f1, precision, recall, accuracy], abs=1e-6)
    assert all(found[f"{name}_interval"][0] < found[name] < found[f"{name}_interval"][1] for name in names)
    assert found["entity_rules"] == rules and found["count"] == 30


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("B-PER I-PER O B-LOC", [("PER", 0, 1), ("LOC", 3, 3)]),
        ("I-PER I-PER I-LOC", [("PER", 0, 1), ("LOC", 2, 2)]),  # IOB1, and a wrong IOB2
        ("B-PER B-PER I-LOC", [("PER", 0, 0), ("PER", 1, 1), ("LOC", 2, 2)]),
        ("S-PER E-PER B-PER E-PER I-PER", [("PER", 0, 0), ("PER", 1, 1), ("PER", 2, 3), ("PER", 4, 4)]),
        ("U-PER B-LOC I-LOC L-LOC", [("PER", 0, 0), ("LOC", 1, 3)]),  # BILOU
        ("B-PER M-PER E-PER", [("PER", 0, 2)]),  # BMES
        ("B I O B-mid-word", [("_", 0, 1), ("mid-word", 3, 3)]),
        ("B-PER _ I-PER", [("PER", 0, 0), ("PER", 2, 2)]),  # a word that was not read
        ("O", []),
    ],
)
def test_entities_of_a_sentence(tags, expected):
    assert find_entities(tags.split()) == expected


def spelled(tags, pattern):
    """The entities whose words match a pattern of prefixes, each type by itself."""
    found = set()
    for kind in "xy":
        text = "".join(tag[0] if tag.endswith(kind) else "O" for tag in tags)
        found |= {(kind, hit.start(), hit.end() - 1) for hit in re.finditer(pattern, text)}
    return found


@given(TAGS)
def test_strict_entities_are_what_the_scheme_spells(tags):
    assert set(find_entities(tags, "bioes")) == spelled(tags, "S|BI*E")
    plain = [tag.replace("E-", "I-").replace("S-", "B-") for tag in tags]
    assert set(find_entities(plain, "iob2")) == spelled(plain, "BI*")


@given(TAGS)
def test_forgiving_entities_are_all_words_but_those_outside(tags):
    """By conlleval's rules each tagged word belongs to one entity; a new one begins where the old one cannot go on."""
    assert set(find_entities(tags)) == spelled(tags, "S|[BI]I*E?|E")
    covered = [word for _, first, last in find_entities(tags) for word in range(first, last + 1)]
    assert covered == [word for word, tag in enumerate(tags) if tag != "O"]


def test_a_shifted_border_is_two_errors():
    found = tagging(["B-PER I-PER O O"], ["B-PER O O B-LOC"])
    assert found["entity_f1"] == found["entity_recall"] == 0 and found["accuracy"] == 50
    assert found["by_type"] == [
        {"type": "LOC", "count": 1, "precision": 0, "recall": 0, "f1": 0},
        {"type": "PER", "count": 1, "precision": 0, "recall": 0, "f1": 0},
    ]


def test_types_have_rows():
    rows = tagging(["B-PER O B-LOC", "B-PER"], ["B-PER O B-PER", "B-PER"])["by_type"]
    assert rows[1] == {"type": "PER", "count": 3, "precision": 100, "recall": pytest.approx(200 / 3), "f1": 80}
    assert rows[0] == {"type": "LOC", "count": 0, "precision": 0, "recall": 0, "f1": 0}


def test_tags_that_spell_no_entity_have_accuracy_alone():
    found = tagging(["NOUN VERB", "PRON _"], ["NOUN NOUN", "PRON VERB"])
    assert found.keys() == {"count", "sentences", "labels", "accuracy", "accuracy_interval"}
    assert (found["count"], found["labels"], found["accuracy"]) == (2, 4, 50)
    assert "entity_f1" not in tagging(["O O"], ["O O"])
    assert tagging(["B-PER"], ["O"])["entity_f1"] == 0  # the references of a few sentences may have none


def test_other_rules_and_tags_are_refused():
    with pytest.raises(ValueError, match="rules among conlleval, iob2, bioes, runs; received 'iob1'"):
        find_entities(["O"], "iob1")
    with pytest.raises(ValueError, match="read the tags O and B-TYPE, I-TYPE; received 'S-PER'"):
        tagging(["S-PER"], ["S-PER"], "iob2")


def test_tags_without_a_partner_are_refused():
    with pytest.raises(ValueError, match="sentence 1 has 1 and 2: 'X' and 'X Y'"):
        tagging(["X", "X"], ["X", "X Y"])
    with pytest.raises(ValueError, match="as many outputs as references"):
        tagging([], [])


def runs(tags):
    """The oracle of plain tags: itertools' groups."""
    found, at = [], 0
    for tag, group in itertools.groupby(tags):
        size = len(list(group))
        found += [(tag, at, at + size - 1)] if tag != "O" else []
        at += size
    return found


def test_plain_tags_are_runs_of_one_tag():
    draw = random.Random(3)
    sentences = [draw.choices(["O", "PER", "LOC", "ORG"], [6, 2, 2, 1], k=draw.randint(1, 12)) for _ in range(60)]
    answers = [[tag if draw.random() < 0.8 else draw.choice(["O", "PER"]) for tag in tags] for tags in sentences]
    assert [find_entities(tags, "runs") for tags in sentences] == list(map(runs, sentences))
    found = tagging(*([" ".join(tags) for tags in side] for side in (answers, sentences)))
    pairs = [(set(runs(one)), set(runs(other))) for one, other in zip(answers, sentences, strict=True)]
    both, ours, theirs = (sum(map(len, side)) for side in zip(*((a & b, a, b) for a, b in pairs), strict=True))
    assert found["entity_f1"] == pytest.approx(200 * both / (ours + theirs)) and found["entity_rules"] == "runs"
    assert {row["type"] for row in found["by_type"]} == {"PER", "LOC", "ORG"} and "missing" not in found


@pytest.mark.parametrize("stray", ["-", "X", "PER", "B_PER", "*"])
@pytest.mark.parametrize("side", ["references", "outputs"])
def test_a_tag_of_no_scheme_is_named(stray, side):
    tags = ["O O B-PER", "O B-LOC I-LOC"]
    strayed = [tags[0], f"O {stray} O"]
    outputs, references = (strayed, tags) if side == "outputs" else (tags, strayed)
    found = tagging(outputs, references)
    why = found["missing"]["entity_f1"]
    assert "entity_f1" not in found and f"the tag {stray!r} of the {side} is of no scheme (first in sentence 2)" in why


def test_what_names_no_entity():
    assert tagging(["O O"], ["O O"])["missing"] == {"entity_f1": "no tag names an entity: all of them are O"}
    speech = tagging(["NOUN VERB O", "NOUN VERB"], ["NOUN VERB O", "NOUN NOUN"])  # O for a pronoun, as on Twitter
    assert not {"missing", "entity_f1"} & speech.keys()
    plain = tagging(["O O PER", "O O O"], ["O O PER", "O - O"])
    assert "the tag '-' of the references" in plain["missing"]["entity_f1"] and "entity_f1" not in plain
    unread = tagging(["O PER _", "O O O"], ["O PER PER", "O O LOC"])  # a word that was not read
    assert unread["entity_rules"] == "runs" and {row["type"] for row in unread["by_type"]} == {"PER", "LOC"}
