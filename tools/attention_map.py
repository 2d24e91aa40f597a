"""Attention maps as pictures: source pieces across, output pieces down, dark where weight lies."""

import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

# Fonts with Chinese, Japanese and Korean signs; the first one held joins the default font.
CJK_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "Source Han Sans SC",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "Droid Sans Fallback",
    "Microsoft YaHei",
    "PingFang SC",
    "Hiragino Sans GB",
    "Arial Unicode MS",
    "SimHei",
)
SUFFIXES = (".pdf", ".png", ".svg")


def check(path):
    """Refuse what `draw` could not write, before the map is computed.

    Raises:
        ValueError: another suffix, a directory, or no matplotlib.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"Expected a figure's name to end in one of {', '.join(SUFFIXES)}; received {path}.")
    if path.is_dir():
        raise ValueError(f"Expected the name of a figure to write; received {path}, which is a directory.")
    if find_spec("matplotlib") is None:
        raise ValueError(
            "Drawing a figure needs matplotlib, which is not installed here. "
            "Install it with: pip install 'seqzoo[plot]'"
        )


def draw(attention, path):
    """Write the map of a `serving.runtime.Attention` to `path` (.png, .svg or .pdf).

    A sign that no font here holds is drawn as an empty box; a note on standard error says so.

    Raises:
        ValueError: see `check`, or a file that cannot be written.
    """
    path = Path(path)
    check(path)
    import matplotlib
    from matplotlib import font_manager
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    held = {font.name for font in font_manager.fontManager.ttflist}
    family = ["DejaVu Sans", *[name for name in CJK_FONTS if name in held][:1]]
    rows, columns = attention.weights.shape
    with (
        matplotlib.rc_context({"font.family": family}),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        figure = Figure(figsize=(2 + 0.35 * columns, 2 + 0.3 * rows), dpi=120, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        image = axes.imshow(attention.weights, cmap="Greys", vmin=0, vmax=1, aspect="auto")
        axes.set_xticks(range(columns), _labels(attention.source), rotation=90)
        axes.set_yticks(range(rows), _labels(attention.target))
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.set(xlabel="source", ylabel="output")
        figure.colorbar(image, ax=axes, label="attention weight")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path)
        except OSError as error:
            raise ValueError(f"Cannot write {path}: {error.strerror}.") from error
    if any("missing from font" in str(warning.message) for warning in caught):
        print(
            "note: no font on this machine has some of the signs; they show as boxes "
            "(a font such as Noto Sans CJK mends it)",
            file=sys.stderr,
        )


def _labels(pieces):
    """Pieces as plain text: a dollar sign must not start a formula."""
    return [piece.replace("$", r"\$") for piece in pieces]
