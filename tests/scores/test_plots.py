"""What figures of scores show, and that all of it lies within the figure."""

import numpy as np
import pytest

from tests.scores import samples
from zoo.scores import compare, plots, translation

LONG = ("multi30k-de-en-transformer-macaron", "multi30k-de-en-transformer-pre-norm")


def row(group, difference, low, high, better=""):
    return {"group": group, "count": 1234, "difference": difference, "difference_interval": [low, high],
            "better": better}  # fmt: skip


def texts(figure):
    """All that is written, each with its box in pixels."""
    from matplotlib.text import Text

    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    ticks = [
        (axis, tick) for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for tick in axis.get_major_ticks()
    ]
    outside = [tick.label1 for axis, tick in ticks if not _within(tick.get_loc(), *axis.get_view_interval())]
    found = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text() and text not in outside]
    return [(text.get_text(), text.get_window_extent(renderer)) for text in found]


def _within(place, *ends):
    return min(ends) <= place <= max(ends)


def check_layout(figure):
    """No text leaves the figure, and no two texts cover each other."""
    written, (width, height) = texts(figure), figure.canvas.get_width_height()
    for text, box in written:
        assert -1 <= box.x0 and box.x1 <= width + 1 and -1 <= box.y0 and box.y1 <= height + 1, text
    for number, (text, box) in enumerate(written):
        for other, second in written[:number]:
            apart = min(box.x1, second.x1) - max(box.x0, second.x0), min(box.y1, second.y1) - max(box.y0, second.y0)
            assert min(apart) <= 1, f"{text!r} lies on {other!r}"


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("kinds", [2, 6, 20])
def test_a_matrix_shows_each_count(kinds):
    outputs, references = samples.labels(1, kinds=kinds, count=1000)
    figure = plots.draw_confusion(outputs, references, title="TREC, test")
    check_layout(figure)
    counts = sorted(text for text, _ in texts(figure) if text.isdigit())
    expected = [str(sum(pair == (one, other) for pair in zip(references, outputs, strict=True)))
                for one in set(references) for other in set(references)]  # fmt: skip
    bar = ["0", "5", "25", "50", "100"]
    assert counts == sorted([text for text in expected if text != "0"] + bar)


def test_two_long_labels_leave_room_for_the_matrix_and_its_bar():
    names = ["a label of so many words", "another, which is as long"]
    figure = plots.draw_confusion(names * 9, names[::-1] * 4 + names * 5, title="Two")
    check_layout(figure)
    assert min(figure.axes[0].get_window_extent().size) > figure.dpi, "each side has more than an inch"


@pytest.mark.parametrize("kinds", [21, 150])
def test_of_many_labels_the_most_confused_pairs_are_shown(kinds):
    outputs, references = samples.labels(1, kinds=kinds, count=3000, right=0.9)
    for place in [place for place, label in enumerate(references) if label == "l7"][:12]:
        outputs[place] = "l3"
    figure = plots.draw_confusion(outputs, references, title="CLINC150, test")
    check_layout(figure)
    shown = [text for text, _ in texts(figure)]
    pairs = [text for text in shown if "→ l" in text]
    total = references.count("l7")
    wrong = sum(pair == ("l7", "l3") for pair in zip(references, outputs, strict=True))
    assert pairs[0] == "l7 → l3" and len(pairs) == plots.ROWS and f" {wrong} of {total}" in shown


def test_a_faultless_classifier_of_many_labels_is_drawn():
    names = [f"l{number}" for number in range(30)]
    figure = plots.draw_confusion(names, names)
    assert any("30 labels; 0 errors among 30" in text for text, _ in texts(figure))


def test_differences_are_coloured_by_what_they_show():
    rows = [row("1-5", 2, 1, 3, "b"), row("6-10", -2, -3, -1, "a"), row("11-15", 1, -1, 2, "b"), row("16-20", 0, 0, 0)]
    figure = plots.draw_differences(rows, "bleu", LONG, "Multi30k de-en, test 2016: where two runs differ")
    check_layout(figure)
    dots = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert [line.get_color() for line in dots] == [plots.BETTER, plots.WORSE, plots.UNCLEAR, plots.UNCLEAR]
    assert [line.get_xdata()[0] for line in dots] == [2, -2, 1, 0]
    assert {"1-5  (1,234)", f"{LONG[1]} is better", "difference in BLEU"} <= {text for text, _ in texts(figure)}


def test_of_many_groups_those_that_differ_most_are_shown():
    rows = [row(f"label_{number}", number % 50, number % 50 - 1, number % 50 + 1, "b") for number in range(150)]
    figure = plots.draw_differences(rows, "accuracy", title="CLINC150, test")
    check_layout(figure)
    shown = [text for text, _ in texts(figure)]
    names = [text.partition(" ")[0] for text in shown if text.startswith("label_")]
    assert len(names) == plots.ROWS and min(int(name[6:]) % 50 for name in names) == 43
    assert any("the 20 of 150 groups" in text for text in shown)
    with pytest.raises(ValueError, match="at least one group"):
        plots.draw_differences([], "accuracy")


def test_groups_of_a_comparison_are_drawn():
    outputs, references = samples.sentences(1)
    found = compare("translation", outputs, references, references, {"a": [0, 1], "b": [2, 3]}, language="en")
    check_layout(plots.draw_differences(found["by_group"], found["leading"]))


def test_scores_have_panels_with_their_intervals():
    outputs, references = samples.sentences(1)
    reports = {LONG[0]: translation(outputs, references, "en"), "x": translation(references, references, "en")}
    figure = plots.draw_scores(reports, title="Multi30k de-en, test 2016")
    check_layout(figure)
    axes = figure.axes
    assert [one.get_xlabel() for one in axes] == ["BLEU", "chrF", "TER, %\n(less is better)", "exact match, %"]
    assert list(axes[0].lines[0].get_xdata()) == reports[LONG[0]]["bleu_interval"]
    assert {"100.00", f"{reports[LONG[0]]['bleu']:.2f}"} <= {text for text, _ in texts(figure)}
    assert len(plots.draw_scores(reports, ["chrf"]).axes) == 1


def test_scores_that_not_all_systems_have_are_refused():
    reports = {"a": {"bleu": 1.0, "bleu_interval": [0, 2]}, "b": {"wer": 1.0, "wer_interval": [0, 2]}}
    with pytest.raises(ValueError, match="they share none; received no system"):
        plots.draw_scores(reports)
    with pytest.raises(ValueError, match="all systems have: bleu; received wer"):
        plots.draw_scores({"a": reports["a"]}, ["wer"])


def test_what_is_below_100_is_not_written_as_100():
    assert [plots.format_score("bleu", value) for value in (99.999, 100.0, 31.254, 0.0)] == [
        "99.99",
        "100.00",
        "31.25",
        "0.00",
    ]
    assert plots.format_score("bits_per_byte", 1.23456) == "1.235"


def test_the_diagram_of_reliability_has_a_point_for_each_bin_and_states_the_error():
    confidences, right = [0.99] * 4 + [0.31] * 2, [True, True, True, False, False, True]
    figure = plots.draw_reliability(confidences, right)
    check_layout(figure)
    points = figure.axes[0].lines[1].get_xydata()
    assert points == pytest.approx(np.array([[0.31, 0.5], [0.99, 0.75]]))
    assert "calibration error 0.223" in figure.axes[0].get_title()  # (4 * 0.24 + 2 * 0.19) / 6
    bars = plots.draw_confidences(confidences, right).axes[0]
    assert [text.get_text() for text in bars.get_legend().get_texts()] == ["right (4)", "wrong (2)"]
