"""Tags that may not follow each other are never answered, and what is answered is the likeliest of the others."""

import itertools

import numpy as np
import pytest

from zoo.scores import find_entities
from zoo.scores.transitions import likeliest, transitions

IOB2 = ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]
IOBES = ["B-A", "E-A", "I-A", "O", "S-A", "S-B"]


def spells(tags, rules):
    """Whether all tags but O belong to an entity by the strict rules of a scheme: seqeval's, in `find_entities`."""
    covered = {word for _, first, last in find_entities(tags, rules) for word in range(first, last + 1)}
    return covered == {word for word, tag in enumerate(tags) if tag != "O"}


@pytest.mark.parametrize(("labels", "rules"), [(IOB2, "iob2"), (IOBES, "bioes"), (["B-A", "I-A", "O", "B-C"], "iob2")])
@pytest.mark.parametrize("words", [1, 2, 4])
def test_what_is_allowed_is_what_the_scheme_spells_and_the_likeliest_of_it_is_found(labels, rules, words):
    draw, allowed = np.random.default_rng(words), transitions(labels)
    right = [
        one for one in itertools.product(range(len(labels)), repeat=words) if spells([labels[i] for i in one], rules)
    ]
    for _ in range(30):
        scores = np.log(draw.dirichlet(np.full(len(labels), 0.3), words))
        best = max(right, key=lambda one: sum(scores[word, tag] for word, tag in enumerate(one)))
        assert likeliest(scores, allowed).tolist() == list(best)


def test_prefixes_of_other_schemes_mean_the_same():
    bilou = transitions(["B-A", "L-A", "I-A", "O", "U-A", "U-B"])
    for one, other in zip(vars(bilou).values(), vars(transitions(IOBES)).values(), strict=True):
        assert (one == other).all()


@pytest.mark.parametrize(
    "labels", [["NOUN", "VERB"], ["PER", "LOC", "O"], ["I-LOC", "I-PER", "O", "B-LOC"], ["B-A", "I-A", "O", "X"], ["O"]]
)
def test_tags_of_no_scheme_may_follow_each_other(labels):
    assert transitions(labels) is None


def test_what_is_impossible_by_the_scores_is_left_out_where_something_else_is_allowed():
    scores = np.array([[-np.inf, -np.inf, 0.0, -np.inf, -2.0], [-1.0, -np.inf, 0.0, -np.inf, -3.0]])
    assert [IOB2[tag] for tag in likeliest(scores, transitions(IOB2))] == ["O", "B-LOC"]
    assert likeliest(np.empty((0, 5)), transitions(IOB2)).tolist() == []


SURE = [(IOBES, ["B-A"]), (IOBES, ["O", "I-A", "O"]), (["I-PER", "O", "B-PER"], ["O", "I-PER"])]


@pytest.mark.parametrize(("labels", "tags"), SURE)
def test_what_is_impossible_by_the_scores_goes_before_what_is_not_allowed(labels, tags):
    """A network may be so sure that the float32 of every allowed sequence is 0."""
    with np.errstate(divide="ignore"):
        scores = np.log(np.eye(len(labels))[[labels.index(tag) for tag in tags]])
    found = [labels[tag] for tag in likeliest(scores, transitions(labels))]
    assert spells(found, "bioes" if labels is IOBES else "iob2")
