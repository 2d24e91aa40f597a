"""How figures look that are read at a width of 400 pixels, and how they become the same bytes each time."""

import io

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from zoo.reproduce.claims import interval

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
