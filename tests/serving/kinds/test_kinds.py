"""What every kind says of its answers holds together: columns on a server, rows of a table, lines; and its rules."""

import pytest

from serving.kinds import KINDS, find_kind
from serving.kinds.base import ONE, PAIR
from serving.kinds.classify import Label
from serving.kinds.embed import Vector
from serving.kinds.generate import Hypothesis, Result
from serving.kinds.rate import Rating
from serving.kinds.rules import checked
from serving.kinds.tag import RULES, Entity, Tags, Word
from zoo.text import words

TEXTS = ["Anna sleeps", "", "x y"]
LABELS = ["bad", "good"]
MANIFEST = {
    "labels": LABELS,
    "signatures": [{"name": "embed", "inputs": [], "outputs": [{"name": "vector", "shape": ["batch", 2]}]}],
}
WRITTEN = [
    Result("a", -0.5, (Hypothesis("a", -0.5), Hypothesis("b", -1.5))),
    Result("c", -2.0, (Hypothesis("c", -2.0),)),
]
LABELLED = [Label("good", 0.75, {"good": 0.75, "bad": 0.25}), Label("bad", 1.0, {"bad": 1.0, "good": 0.0})]
ANSWERS = {  # to the first and the last of the texts, and a line of each
    "generate": (WRITTEN, ["a", "c"]),
    "continue": (WRITTEN, ["a", "c"]),
    "classify": (LABELLED, ["good\t0.7500", "bad\t1.0000"]),
    "compare": (LABELLED, ["good\t0.7500", "bad\t1.0000"]),
    "tag": (
        [
            Tags((Word("Anna", "B-PER", 0, 4, 0.5), Word("sleeps", "O", 5, 11, 0.25))),
            Tags((Word("x", "O", 0, 1, 1.0), Word("y", "B-LOC", 2, 3, 0.5)), (Entity("LOC", 2, 3, "y"),)),
        ],
        ["Anna/B-PER sleeps/O", "x/O y/B-LOC"],
    ),
    "rate": ([Rating(4.25), Rating(-1e-3)], ["4.25", "-0.001"]),
    "embed": ([Vector((0.5, -2.0)), Vector((0.0, 1.0))], ["[0.5, -2.0]", "[0.0, 1.0]"]),
}
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def results_of(kind):
    first, last = ANSWERS[kind.name][0]
    return [first, kind.blank(), last]


def size(values, axes):
    """The shape of nested lists."""
    return (len(values), *(size(values[0], axes - 1) if axes > 1 else ()))


@pytest.mark.parametrize(
    ("kind", "width"), [(kind, width) for kind in KINDS.values() for width in ((1, 2) if kind.writes else (1,))]
)
def test_a_client_reads_what_a_server_writes(kind, width):
    results = results_of(kind)
    columns = kind.write(results, MANIFEST, width)
    assert list(columns) == [output.name for output in kind.outputs]
    for output in kind.outputs:
        shape, values = columns[output.name]
        assert len(shape) == output.axes + (width > 1) and size(values, len(shape)) == shape
    found = list(kind.read(TEXTS, {name: column.values for name, column in columns.items()}, LABELS))
    assert [each.answer for each in found] == [each.answer for each in results]
    if width > 1 or not kind.writes:
        assert found == results


@each_kind
def test_columns_have_the_types_that_they_say(kind):
    for name, (held, value) in kind.columns(2).items():
        inner = held[0] if isinstance(held, list) else held
        for result in results_of(kind):
            found = value(result)
            for each in found or () if isinstance(held, list) or found is None else [found]:
                assert isinstance(each, float if inner == "float32" else inner), name


@each_kind
def test_an_answer_is_a_line_and_a_blank_one_is_empty(kind):
    results, lines = ANSWERS[kind.name]
    assert [kind.line(each, str) for each in results] == lines and kind.line(kind.blank(), str) == ""


@each_kind
def test_equal_answers_agree_and_others_do_not(kind):
    one = [each.answer for each in results_of(kind)]
    assert kind.agreement(one, one) == pytest.approx(1)
    assert kind.agreement(one, [one[2], one[1], one[0]]) < 0.9


def test_a_server_tells_its_kind_by_inputs_and_outputs():
    for kind in KINDS.values():
        if kind.mark:
            for sides in kind.forms:
                assert find_kind(sides, [output.name for output in kind.outputs]) == (kind, sides)
    assert find_kind(ONE, ["output_0"]) is None and find_kind(PAIR, ["tags"]) is None


def test_a_manifest_knows_every_rule_of_words():
    """A manifest is checked without zoo, so the kind has a list of its own."""
    assert list(RULES) == list(words.RULES)


def test_bad_words_are_bounded_by_the_table_that_a_graph_makes_of_them():
    """A row for each word, as wide as the longest: a few kilobytes of words would fill gigabytes."""
    assert checked({"bad_words": ["a" * 100] + ["b"] * 999})["bad_words"][0] == "a" * 100
    with pytest.raises(ValueError, match=r"100,000 characters .* received 1,000 texts, the longest of 101\."):
        checked({"bad_words": ["a" * 101] + ["b"] * 999})
    assert checked({"bad_words": []}) == {"bad_words": ()}
