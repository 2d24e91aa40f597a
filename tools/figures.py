"""Files of figures: which there can be, how they are written, and maps of attention."""

import io
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

from serving.lazy import later
from zoo.core.escaping import in_figure
from zoo.core.storage import write_bytes

font_manager = later("matplotlib.font_manager")
matplotlib = later("matplotlib")
plots = later("zoo.scores.plots")

SUFFIXES = (".pdf", ".png", ".svg")
# Fonts with Chinese, Japanese and Korean characters; the first one that is installed is added to the default font.
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


def check(path):
    """Check, before anything is computed, that `save` can write a figure.

    Raises:
        ValueError: the suffix is unknown, the path is a directory, or matplotlib is not installed.
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


def save(figure, path):
    """Write a figure of matplotlib; a failure leaves the old file, or none.

    A character that no installed font has is drawn as an empty box; a note on standard error says so.

    Raises:
        ValueError: as of `check`.
        OSError: the file cannot be written; the error names it.
    """
    path, buffer = Path(path), io.BytesIO()
    check(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.savefig(buffer, format=path.suffix[1:].lower())
    if any("missing from font" in str(warning.message) for warning in caught):
        print(
            "note: no font on this machine has some of the characters, which are drawn as boxes; "
            "install a font such as Noto Sans CJK",
            file=sys.stderr,
        )
    write_bytes(path, buffer.getvalue())


def draw_attention(attention, path):
    """Write the map of a `serving.runtime.Attention` to `path` (.png, .svg or .pdf).

    Columns are source pieces, rows are output pieces, and darker cells have more weight.

    Raises: as of `save`.
    """
    installed = {font.name for font in font_manager.fontManager.ttflist}
    family = ["DejaVu Sans", *[name for name in CJK_FONTS if name in installed][:1]]
    rows, columns = attention.weights.shape
    with matplotlib.rc_context({"font.family": family}):
        figure, axes = plots.new_figure(2 + 0.35 * columns, 2 + 0.3 * rows, dpi=120)
        image = axes.imshow(attention.weights, cmap="Greys", vmin=0, vmax=1, aspect="auto")
        axes.set_xticks(range(columns), _labels(attention.source), rotation=90)
        axes.set_yticks(range(rows), _labels(attention.target))
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.set(xlabel="source", ylabel="output")
        figure.colorbar(image, ax=axes, label="attention weight")
        save(figure, path)


def _labels(pieces):
    return list(map(in_figure, pieces))
