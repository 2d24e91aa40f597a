"""Quality against cost: which systems nobody beats in both, and a figure of all of them.

`draw_front` returns a matplotlib `Figure` that can still be read at a width of 400 pixels: save it with
`figure.savefig("name.png")`.
"""

import math
from dataclasses import dataclass

from matplotlib import figure as matplotlib_figure, patheffects, textpath, ticker
from matplotlib.backends import backend_agg
from placing import place_names

from zoo.core.escaping import in_figure
from zoo.scores.plots import BETTER, ERRORS, INK, UNCLEAR, UNITS, score_name

WIDTH, HEIGHT, MORE, MOST = 4.6, 3.2, 0.14, 9.0  # inches; for each point; at most
LETTERS = 9  # points, which at a width of 400 pixels are 11 pixels
MARGINS = (0.66, 0.14, 0.56, 0.34)  # inches at the left, right, bottom and top
NARROW = 0.4  # costs whose range is less than this share of the highest have an axis that does not begin at 0
WIDE = 12  # costs that differ by more than this factor have a logarithmic axis


@dataclass(frozen=True)
class Point:
    """A system: its short name, its cost (less is better), its score, and the interval of the score, if it has one."""

    name: str
    cost: float
    score: float
    interval: tuple[float, float] | None = None


def front(points, less_is_better=False):
    """The points that no other beats (the Pareto front), the cheapest first.

    A point is beaten by another that is at least as good in cost and in score, and better in one of them.

    Args:
        points: list of `Point`.
        less_is_better: of the score, too, as of an error rate.
    """
    sign = 1 if less_is_better else -1
    unbeaten = []
    for point in sorted(points, key=lambda each: (each.cost, sign * each.score)):
        if not unbeaten or sign * point.score < sign * unbeaten[-1].score or _alike(point, unbeaten[-1]):
            unbeaten.append(point)
    return unbeaten


def _alike(one, other):
    return (one.cost, one.score) == (other.cost, other.score)


def draw_front(points, score, cost, title=""):
    """Every system as a point, better scores higher up; a line of steps joins those of the front.

    The axis of a score that is an error is turned round. An axis that does not begin at 0 has two strokes through it,
    or is logarithmic, which its name says.

    Args:
        points: list of `Point`, at least one.
        score: the name of the score, such as "bleu".
        cost: the name of the cost for its axis, with the unit.
        title: of the figure.
    """
    if not points:
        raise ValueError("Expected at least one point to draw; received none.")
    if any(not math.isfinite(value) or value <= 0 for value in (each.cost for each in points)):
        raise ValueError(f"Expected costs above 0; received {sorted(each.cost for each in points)}.")
    height = HEIGHT + MORE * len(points)
    while height < MOST:
        figure, axes = _figure(height)
        _axes(axes, points, score, cost, title)
        _points(axes, points, score in ERRORS)
        if _names(figure, axes, points, front(points, score in ERRORS)):
            return figure
        height += 0.8
    raise ValueError(
        f"Expected points whose names fit in a figure; received {len(points)}. Draw some of them, or use shorter names."
    )


def _figure(height):
    figure = matplotlib_figure.Figure(figsize=(WIDTH, height), dpi=160)
    backend_agg.FigureCanvasAgg(figure)
    left, right, bottom, top = MARGINS
    inside = (left / WIDTH, bottom / height, 1 - (left + right) / WIDTH, 1 - (bottom + top) / height)
    return figure, figure.add_axes(inside)


def _axes(axes, points, score, cost, title):
    costs = [each.cost for each in points]
    logarithmic = max(costs) > WIDE * min(costs)
    if logarithmic:
        axes.set_xscale("log")
        axes.set_xlim(min(costs) / 1.6, max(costs) * 1.6)
        axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(ticker.NullFormatter())
    else:
        spread = max(costs) - min(costs)
        cut = 0 < spread < NARROW * max(costs)
        axes.set_xlim(
            min(costs) - 0.4 * spread if cut else 0, max(costs) + (0.4 * spread if cut else 0.15 * max(costs))
        )
        if cut:
            _strokes(axes, 0, across=True)
    low, high = _range(points, score)
    turned = score in ERRORS
    axes.set_ylim(*((high, low) if turned else (low, high)))
    if low > 0:
        _strokes(axes, 1 if turned else 0)
    axes.set_xlabel(cost + " (log scale)" * logarithmic, fontsize=LETTERS)
    axes.set_ylabel(score_name(score) + " (less is better)" * turned, fontsize=LETTERS)
    axes.set_title(title, fontsize=LETTERS + 1, loc="left", color=INK)
    axes.tick_params(labelsize=LETTERS)
    axes.locator_params(axis="y", nbins=6)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _range(points, score):
    """The ends of the axis of scores: all intervals and some room; 0 where it is near."""
    ends = [end for each in points for end in (*(each.interval or ()), each.score)]
    room = 0.12 * (max(ends) - min(ends)) or 0.02 * abs(max(ends)) or 1.0
    low, high = min(ends) - room, max(ends) + room
    if score not in UNITS:
        high = max(min(high, 100.0 + room / 2 * (max(ends) > 99)), max(ends))
    return (0.0 if 0 <= min(ends) and low < 0.15 * high else low), high


def _strokes(axes, end, across=False):
    """Two strokes through an axis, at its end: it does not begin at 0."""
    for place in (0.025, 0.045):
        along, off = abs(end - place), (-0.018, 0.018)
        ends = (off, (along - 0.012, along + 0.012))
        if across:
            ends = (along - 0.012, along + 0.012), off
        axes.plot(*ends, transform=axes.transAxes, color=INK, linewidth=1.2, clip_on=False, zorder=5)


def _points(axes, points, less_is_better):
    best = front(points, less_is_better)
    for each in points:
        color = BETTER if each in best else UNCLEAR
        if each.interval:
            axes.plot([each.cost] * 2, each.interval, color=color, linewidth=1, alpha=0.55, zorder=2)
        axes.plot(each.cost, each.score, "o", color=color, markersize=5.5, zorder=4)
    steps = dict(drawstyle="steps-post", color=BETTER, linewidth=1.2, zorder=3)
    axes.plot([each.cost for each in best], [each.score for each in best], **steps)


def _names(figure, axes, points, best):
    """Write each name near its point, over no other name, dot or step; False where one has no place."""
    scale = figure.dpi / 72  # pixels of a point
    spots = axes.transData.transform([(each.cost, each.score) for each in points]) / scale
    sizes = [
        (textpath.TextPath((0, 0), each.name, size=LETTERS).get_extents().width + 4, LETTERS + 3) for each in points
    ]
    corners = [(one, other) for one, other in zip(best, best[1:], strict=False)]
    steps = [((one.cost, one.score), (other.cost, one.score)) for one, other in corners]
    steps += [((other.cost, one.score), (other.cost, other.score)) for one, other in corners]
    bars = [((each.cost, each.interval[0]), (each.cost, each.interval[1])) for each in points if each.interval]
    steps, bars = ([axes.transData.transform(each) / scale for each in lines] for lines in (steps, bars))
    placed = place_names(spots, sizes, axes.get_window_extent().extents / scale, steps, bars)
    if placed is None:
        return False
    back = axes.transData.inverted()
    for each, (box, leader) in zip(points, placed, strict=True):
        if leader is not None:
            ends = back.transform([[scale * value for value in end] for end in leader])
            axes.plot(*zip(*ends, strict=True), color=INK, linewidth=0.6, alpha=0.7, zorder=3.5)
        x, y = back.transform((scale * (box[0] + box[2]) / 2, scale * (box[1] + box[3]) / 2))
        text = axes.text(x, y, in_figure(each.name), ha="center", va="center", fontsize=LETTERS, color=INK, zorder=6)
        text.set_path_effects([patheffects.withStroke(linewidth=2, foreground="white")])  # where it covers a bar
    return True
