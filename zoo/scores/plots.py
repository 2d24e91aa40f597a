"""Figures of scores: confusions of labels, differences of two systems, scores with their intervals.

Each function returns a matplotlib `Figure`, whose size fits what it shows: save it with `figure.savefig("name.png")`.
"""

import numpy as np

from zoo.core.escaping import in_figure
from zoo.core.later import later
from zoo.scores.confidence import calibration_error, reliability
from zoo.scores.labels import confusion

backend_agg = later("matplotlib.backends.backend_agg")
colors = later("matplotlib.colors")
matplotlib_figure = later("matplotlib.figure")
lines = later("matplotlib.lines")

MATRIX = 20  # labels that a matrix shows; of more, the pairs that are confused most
ROWS = 20  # the most that a figure shows
TENTHS = np.linspace(0, 1, 11)  # bins of confidences
INK, BETTER, WORSE, UNCLEAR = "#333333", "#2b6ca3", "#c2602c", "#9a9a9a"
NAMES = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "ter": "TER, %",
    "wer": "word error rate, %",
    "per": "phone error rate, %",
    "macro_f1": "macro F1, %",
    "entity_f1": "entity F1, %",
    "nats_per_character": "nats per character",
    "bits_per_character": "bits per character",
    "bits_per_byte": "bits per byte",
    "perplexity": "perplexity",
    "mae": "mean absolute error",
    "mrr": "mean reciprocal rank, %",
    "spearman": "Spearman's correlation, %",
    "pearson": "Pearson's correlation, %",
}
UNITS = (
    "nats_per_character",
    "bits_per_character",
    "bits_per_byte",
    "perplexity",
    "mae",
)  # those that are no percentages
ERRORS = ("ter", "wer", "per", *UNITS)  # of which less is better


def score_name(name):
    """A score as an axis names it."""
    return NAMES.get(name, f"{name.replace('_', ' ')}, %")


def format_score(name, value):
    """A score in digits; what is below 100 % is not written as 100."""
    text = f"{value:.4g}" if name in UNITS else f"{value:.2f}"
    return "99.99" if name not in UNITS and value < 100 and text == "100.00" else text


def format_interval(name, scores):
    """The interval of a score in digits: "81.20 to 83.05"."""
    return " to ".join(format_score(name, bound) for bound in scores[f"{name}_interval"])


def names_with_interval(scores):
    """The names of those scores that have an interval."""
    return [name for name in scores if f"{name}_interval" in scores]


def draw_confusion(outputs, references, labels=None, title=""):
    """Which labels were taken for which: a matrix of up to 20 labels, or the 20 pairs that were confused most.

    Args:
        outputs: list of labels; of a tagger, of the tags of all words.
        references: list of labels, one for each output.
        labels: their order, see `zoo.scores.confusion`.
        title: of the figure.
    """
    names, counts = confusion(outputs, references, labels)
    names = list(map(in_figure, names))
    draw = _draw_matrix if len(names) <= MATRIX else _draw_pairs
    figure, axes = draw(names, counts)
    axes.set_title(title)
    return figure


def _draw_matrix(names, counts):
    size, longest = len(names), max(map(len, names))
    room = 0.08 * longest  # inches that the names take
    figure, axes = new_figure(2.6 + 0.42 * max(size, 3) + room, 1.9 + 0.36 * max(size, 3) + room * (longest > 3))
    shares = 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    # By the square root, or a good classifier's errors would all be white.
    shade = colors.PowerNorm(0.5, 0, 100)
    image = axes.imshow(shares, cmap="Blues", norm=shade, aspect="auto")
    for row, column in zip(*np.nonzero(counts), strict=True):
        number = counts[row, column]
        text = f"{number:,}" if number < 10_000 else f"{number / 1000:,.0f}k"
        color = "white" if shade(shares[row, column]) > 0.5 else INK
        axes.text(column, row, text, ha="center", va="center", fontsize=7 if size > 9 else 9, color=color)
    axes.set_xticks(range(size), names, rotation=90 if longest > 3 else 0, fontsize=9)
    axes.set_yticks(range(size), names, fontsize=9)
    axes.set_xlabel("output")
    axes.set_ylabel("reference")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axes, ticks=[0, 5, 25, 50, 100], fraction=0.05, pad=0.02)
    bar.set_label("share of the row, %", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
    return figure, axes


def _draw_pairs(names, counts):
    wrong = counts - np.diag(np.diag(counts))
    order = np.argsort(-wrong, axis=None, kind="stable")[:ROWS]
    pairs = [divmod(int(place), len(names)) for place in order if wrong.flat[place]]
    figure, axes = new_figure(7, 1.5 + 0.24 * max(len(pairs), 1))
    errors, total = int(wrong.sum()), int(counts.sum())
    shown = [int(wrong[pair]) for pair in pairs]
    axes.barh(range(len(pairs)), shown, color=BETTER, height=0.7)
    for place, (pair, number) in enumerate(zip(pairs, shown, strict=True)):
        axes.text(number, place, f" {number:,} of {counts[pair[0]].sum():,}", va="center", fontsize=8, color=INK)
    axes.set_yticks(range(len(pairs)), [f"{names[true]} → {names[taken_for]}" for true, taken_for in pairs], fontsize=8)
    axes.set_ylim(max(len(pairs), 1) - 0.4, -0.6)
    axes.set_xlim(0, 1.2 * max(shown, default=1))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("reference → output, how often")
    note = f"{len(names)} labels; {errors:,} errors among {total:,}, of which {sum(shown):,} are shown"
    figure.supxlabel(note, fontsize=8, color=INK)  # across the whole foot: long labels leave the axes little room
    _style_axes(axes)
    return figure, axes


def draw_differences(rows, score, names=("a", "b"), title=""):
    """The difference of two systems in each group of examples, with its interval.

    Args:
        rows: `by_group` of `zoo.scores.compare`. Of more than 20 those that differ most, in their order.
        score: its name, such as "bleu": `leading` of `zoo.scores.compare`.
        names: of the two systems.
        title: of the figure.
    """
    if not rows:
        raise ValueError("Expected at least one group of examples to draw the differences of; received none.")
    chosen = sorted(sorted(range(len(rows)), key=lambda row: -abs(rows[row]["difference"]))[:ROWS])
    shown = [rows[row] for row in chosen]
    figure, axes = new_figure(7, 2 + 0.28 * len(shown))
    for place, row in enumerate(shown):
        low, high = row["difference_interval"]
        color = UNCLEAR if low <= 0 <= high else BETTER if row["better"] == "b" else WORSE
        axes.plot([low, high], [place, place], color=color, linewidth=2, solid_capstyle="butt")
        axes.plot(row["difference"], place, "o", color=color, markersize=6)
    axes.axvline(0, color=INK, linewidth=1)
    axes.set_yticks(range(len(shown)), [f"{in_figure(row['group'])}  ({row['count']:,})" for row in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlabel(f"difference in {score_name(score)}")
    left_out = f"; the {len(shown)} of {len(rows)} groups that differ most" if len(shown) < len(rows) else ""
    axes.set_title(title)
    _style_axes(axes)
    one, other = map(in_figure, names)
    texts = {BETTER: f"{other} is better", WORSE: f"{one} is better", UNCLEAR: "may be chance"}
    _add_legend(figure, texts, f"lines: 95 % intervals; in brackets: number of examples{left_out}")
    return figure


def draw_confidences(confidences, right, title="Confidence"):
    """How many answers of each confidence are right, and how many are wrong.

    Args:
        confidences: the probability of each answer.
        right: whether it is right.
        title: of the figure.
    """
    confidences, right = np.asarray(confidences, "float64"), np.asarray(right, bool)
    figure, axes = new_figure(5, 3.8)
    sides = [confidences[right], confidences[~right]]
    names = [f"right ({right.sum():,})", f"wrong ({(~right).sum():,})"]
    axes.hist(sides, TENTHS, stacked=True, color=[BETTER, WORSE], label=names)
    axes.set_xlabel("confidence")
    axes.set_ylabel("answers")
    axes.set_title(title)
    axes.legend(frameon=False)
    _style_axes(axes)
    return figure


def draw_reliability(confidences, right, title="Reliability"):
    """The share of right answers of each confidence, which is on the diagonal where the confidence is calibrated.

    Args: as of `draw_confidences`; see `zoo.scores.reliability`.
    """
    bins, error = reliability(confidences, right), calibration_error(confidences, right)
    sure, share = ([each[name] for each in bins] for name in ("confidence", "accuracy"))
    figure, axes = new_figure(4.4, 3.8)
    axes.plot([0, 1], [0, 1], color=UNCLEAR, linewidth=1)
    axes.plot(sure, share, "o-", color=BETTER)
    axes.set(xlim=(0, 1.02), ylim=(0, 1.02), xlabel="confidence", ylabel="share of right answers")
    axes.set_title(f"{title}: calibration error {error:.3f}")
    _style_axes(axes)
    return figure


def _add_legend(figure, texts, note):
    handles = [lines.Line2D([], [], color=color, marker="o", linewidth=2, label=text) for color, text in texts.items()]
    columns = 1 if sum(map(len, texts.values())) > 75 else len(texts)
    legend = figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)
    legend.set_title(note, prop={"size": 8})


def draw_scores(reports, scores=None, title=""):
    """Scores of systems, each with its interval: a panel for each score.

    Args:
        reports: a dict of the system's name -> what a function such as `zoo.scores.translation` returned.
        scores: the names of those to draw; by default the first four that all systems have.
        title: of the figure.
    """
    every = list(map(names_with_interval, reports.values())) or [[]]
    shared = [name for name in every[0] if all(name in names for names in every)]
    chosen = list(scores or shared[:4])
    if not chosen or set(chosen) - set(shared):
        raise ValueError(
            f"Expected scores that all systems have: {', '.join(shared) or 'they share none'}; "
            f"received {', '.join(chosen) or 'no system'}."
        )
    names = list(map(in_figure, reports))
    width = 1.4 + 0.09 * max(map(len, names)) + 2.4 * len(chosen)
    figure, first = new_figure(width, 1.6 + 0.4 * len(reports), len(chosen))
    for axes, name in zip(np.atleast_1d(first), chosen, strict=True):
        for place, report in enumerate(reports.values()):
            low, high = report[f"{name}_interval"]
            axes.plot([low, high], [place, place], color=BETTER, linewidth=2, solid_capstyle="butt")
            axes.plot(report[name], place, "o", color=BETTER, markersize=6)
            axes.annotate(format_score(name, report[name]), (report[name], place), (0, 6), textcoords="offset points",
                          ha="center", fontsize=8, color=INK)  # fmt: skip
        axes.set_ylim(len(reports) - 0.5, -0.7)
        axes.margins(x=0.15)
        axes.set_yticks(range(len(reports)), names)
        axes.label_outer()
        axes.set_xlabel(score_name(name) + "\n(less is better)" * (name in ERRORS))
        _style_axes(axes)
    figure.suptitle(title)
    return figure


def new_figure(width, height, panels=1, dpi=150):
    """(figure, its axes) of a size in inches; of several panels, beside each other, an array of axes."""
    figure = matplotlib_figure.Figure(figsize=(width, height), dpi=dpi, layout="constrained")
    backend_agg.FigureCanvasAgg(figure)
    return figure, figure.subplots(1, panels, sharey=True)


def _style_axes(axes):
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
