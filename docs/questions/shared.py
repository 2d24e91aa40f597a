"""What the scripts of the questions share: how figures look at 400 pixels, intervals over seeds, and a small training.

A script has `measure()`, which gives what JSON can hold, and `draw(found)`, which gives a matplotlib figure of it, and
`says(found)`: what the page says of it in numbers.
"""

from zoo.reproduce.findings import BLUE, GREEN, GREY, RED, YELLOW, interval, line, panels, points

__all__ = ["BLUE", "GREEN", "GREY", "RED", "YELLOW", "axes_of", "interval", "line", "points", "trainer"]


def axes_of(title):
    """(figure, axes), with a title that says what is seen."""
    figure, (axes,) = panels(title)
    return figure, axes


def trainer(make):
    """A `zoo.reproduce.trials.Trainer` of Adam at 0.003; `make` makes a model, which this builds. Imports Keras."""
    from zoo.reproduce.trials import Trainer

    def built():
        model = make()
        model.build()
        return model

    return Trainer(built)
