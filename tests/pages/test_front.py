"""The front by its definition, and figures whose names can be read."""

import random
import sys

import numpy as np
import pytest

from tests.house_rules import ROOT

sys.path.append(str(ROOT / "docs"))

from front import Point, draw_front, front  # noqa: E402
from placing import crosses, overlap, place_names  # noqa: E402

NAMES = "simple-rnn gru-none gru-dot lstm-additive self-attentive post-norm pre-norm macaron universal best".split()


def beaten(point, points, sign):
    """By the definition: another is at least as good in both, and better in one. `sign` is -1 where less is better."""
    return any(
        other.cost <= point.cost
        and sign * other.score >= sign * point.score
        and (other.cost < point.cost or sign * other.score > sign * point.score)
        for other in points
    )


@pytest.mark.parametrize("sign", [1, -1])
def test_the_front_is_what_nobody_beats(sign):
    draw = random.Random(3)
    for _ in range(200):  # whole numbers, so that costs and scores are often the same
        points = [Point(str(name), draw.randint(1, 6), draw.randint(0, 6)) for name in range(draw.randint(1, 12))]
        found = front(points, less_is_better=sign < 0)
        assert {each.name for each in found} == {each.name for each in points if not beaten(each, points, sign)}
        assert [each.cost for each in found] == sorted(each.cost for each in found)


def crowd(count, seed, costs=(4, 6), score=26):
    draw = random.Random(seed)
    values = [(draw.uniform(*costs), draw.gauss(score, 1.5)) for _ in range(count)]
    return [Point(NAMES[each], *values[each], (values[each][1] - 1, values[each][1] + 1)) for each in range(count)]


@pytest.mark.parametrize("costs", [(4, 4.3), (1, 8), (1, 90)])
def test_names_are_over_nothing_else(costs):
    points = crowd(len(NAMES), 5, costs)
    figure = draw_front(points, "bleu", "MB", "translate-en-zh: score and size")
    figure.draw_without_rendering()
    (axes,) = figure.axes
    boxes = {text.get_text(): text.get_window_extent().extents for text in axes.texts}
    assert sorted(boxes) == sorted(NAMES)
    spots = {each.name: axes.transData.transform((each.cost, each.score)) for each in points}
    for name, box in boxes.items():
        assert not [other for other in NAMES if other != name and overlap(box, boxes[other])]
        assert not [other for other in NAMES if (box[:2] < spots[other]).all() and (spots[other] < box[2:]).all()]
        assert (box[:2] >= 0).all() and (box[2:] <= figure.bbox.extents[2:]).all()
    fonts = [*axes.texts, axes.xaxis.label, axes.yaxis.label, *axes.get_xticklabels(), *axes.get_yticklabels()]
    width = figure.get_size_inches()[0] * 72
    assert min(each.get_fontsize() for each in fonts) * 400 / width >= 10, "pixels at a width of 400"


def strokes(axes):
    return sum(line.get_transform() == axes.transAxes for line in axes.lines)


def test_an_axis_that_is_cut_is_marked():
    (axes,) = draw_front(crowd(4, 1, (1, 8)), "bleu", "MB").axes
    assert axes.get_xlim()[0] == 0 < axes.get_ylim()[0] and strokes(axes) == 2
    (axes,) = draw_front(crowd(4, 1, (4, 4.2)), "bleu", "MB").axes
    assert axes.get_xlim()[0] > 0 < axes.get_ylim()[0] and strokes(axes) == 4
    (axes,) = draw_front(crowd(4, 1, (1, 8), score=2.0), "bleu", "MB").axes
    assert axes.get_xlim()[0] == 0 >= axes.get_ylim()[0] and strokes(axes) == 0
    (axes,) = draw_front(crowd(10, 1, (1, 200)), "bleu", "MB").axes
    assert axes.get_xscale() == "log" and "log" in axes.get_xlabel()


def test_better_is_higher_up():
    bottom, top = draw_front(crowd(4, 1), "wer", "MB").axes[0].get_ylim()
    assert bottom > top
    bottom, top = draw_front(crowd(4, 1), "bleu", "MB").axes[0].get_ylim()
    assert bottom < top


def test_what_is_shown_is_what_is_given():
    points = [Point("a", 1, 20.0), Point("b", 2, 30.0, (28.0, 33.0)), Point("c", 3, 25.0, (24.0, 26.0))]
    (axes,) = draw_front(points, "bleu", "MB").axes
    lines = [line.get_xydata().tolist() for line in axes.lines]
    for each in points:
        assert [[each.cost, each.score]] in lines
        assert each.interval is None or [[each.cost, end] for end in each.interval] in lines
    (stairs,) = (line for line in axes.lines if line.get_drawstyle() == "steps-post")
    assert stairs.get_xydata().tolist() == [[1, 20], [2, 30]]


def test_wrong_points_are_refused():
    with pytest.raises(ValueError, match="at least one point"):
        draw_front([], "bleu", "MB")
    with pytest.raises(ValueError, match="costs above 0"):
        draw_front([Point("a", 0, 1.0)], "bleu", "MB")


def test_there_may_be_no_place():
    assert place_names([(5, 5)], [(20, 4)], (0, 0, 10, 10), [], []) is None
    (placed,) = place_names([(5, 5)], [(3, 4)], (0, 0, 40, 40), [], [])
    assert placed == ((10, 3, 13, 7), None)


def test_crossing_by_many_points():
    draw = np.random.default_rng(2)
    box = (0.3, 0.4, 0.6, 0.7)
    for start, end in draw.uniform(0, 1, (300, 2, 2)):
        points = start + np.linspace(0, 1, 4001)[:, None] * (end - start)
        inside = ((points > box[:2]) & (points < box[2:])).all(axis=1).sum()
        assert crosses((start, end), box) == bool(inside) or inside < 3
