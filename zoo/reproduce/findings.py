"""What is found: a claim of a paper beside what was measured, intervals over seeds, and figures read at 400 pixels."""

import io

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

T_95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}  # Student's, by seeds
BLUE, RED, GREEN, YELLOW, GREY = "#0072b2", "#d55e00", "#009e73", "#b58900", "#767676"
SIZE, DPI = (4.0, 3.0), 200  # 800 pixels; at 400 a text of 9 points is 12 pixels high
STYLE = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9.5,
    "font.size": 9,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
}


def claim(paper, ours, holds, seeds=()):
    """`{"paper", "ours", "holds", "seeds"}`.

    Args:
        paper: what the paper claims, with the place and its number.
        ours: what was measured here.
        holds: what a rule says of the measured numbers.
        seeds: of the trainings or draws; none where the claim is mathematics.
    """
    return {"paper": paper, "ours": ours, "holds": bool(holds), "seeds": [int(seed) for seed in seeds]}


def interval(rows):
    """(mean, half of the 95 % interval of the mean) over the first axis, the seeds: `t_(n-1) s / sqrt(n)`."""
    rows = np.asarray(rows, float)
    return rows.mean(0), T_95[len(rows)] * rows.std(0, ddof=1) / np.sqrt(len(rows))


def plus_minus(rows, form="{:.3f}"):
    """The mean over seeds and half of its 95 % interval, such as "0.512 ± 0.013"."""
    mean, half = interval(rows)
    return f"{form.format(mean)} ± {form.format(half)}"


def is_above(first, second):
    """Whether the mean of `first - second`, paired by seeds, is above 0 with all of its 95 % interval."""
    mean, half = interval(np.asarray(first, float) - np.asarray(second, float))
    return bool(mean > half)


def bin_means(values, count):
    """A curve in about `count` points: means of equal parts, without what is left over."""
    width = max(1, len(values) // count)
    return np.reshape(values[: len(values) // width * width], (-1, width)).mean(1).round(4).tolist()


def slope(x, y):
    """Of the straight line through `(log x, log y)`: the exponent of a power law."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def panels(*titles):
    """(figure, axes) with one panel below the other; a title says what is seen in its panel."""
    height = SIZE[1] if len(titles) == 1 else 2.6 * len(titles)
    figure = Figure(figsize=(SIZE[0], height), layout="constrained")
    FigureCanvasAgg(figure)
    all_axes = [figure.add_subplot(len(titles), 1, place + 1) for place in range(len(titles))]
    for axes, title in zip(all_axes, titles, strict=True):
        axes.set_title(title, loc="left")
    return figure, all_axes


def line(axes, x, rows, label, color, log=False, **look):
    """The mean over seeds as a line, its 95 % interval as a band; with `log` both are those of the logarithm."""
    mean, half = interval(np.log(rows) if log else rows)
    low, middle, high = (np.exp(each) if log else each for each in (mean - half, mean, mean + half))
    axes.plot(x, middle, color=color, label=label, **look)
    axes.fill_between(x, low, high, color=color, alpha=0.25, lw=0)


def points(axes, place, values, color, label=None):
    """One point a seed, beside each other where they are equal."""
    spread = np.linspace(-0.12, 0.12, len(values))
    axes.plot(place + spread, sorted(values), "o", color=color, alpha=0.8, clip_on=False, zorder=3, label=label)


def png(draw, description):
    """The bytes of the figure that `draw()` makes, the same for the same fonts and version of matplotlib.

    Args:
        draw: makes a figure.
        description: a text that the file keeps, such as a hash of what is drawn.
    """
    file = io.BytesIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        draw().savefig(file, format="png", dpi=DPI, metadata={"Software": None, "Description": description})
    return file.getvalue()
