"""Draws attention maps: columns are source pieces, rows are output pieces, and darker cells have more weight."""

from serving.lazy import later
from zoo.core.escaping import in_figure

from .figures import save

font_manager = later("matplotlib.font_manager")
matplotlib = later("matplotlib")
plots = later("zoo.scores.plots")

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


def draw(attention, path):
    """Write the map of a `serving.runtime.Attention` to `path` (.png, .svg or .pdf).

    Raises: as of `tools.figures.save`.
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
