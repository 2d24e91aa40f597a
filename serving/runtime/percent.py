"""Percentages as text."""


def percent(value, digits=1):
    """`value` with that many decimals, except that no value below 100 is written as 100.

    >>> from serving.runtime.percent import percent
    >>> percent(99.96), percent(100.0), percent(31.25, 2)
    ('99.9', '100.0', '31.25')
    """
    text = f"{value:.{digits}f}"
    return f"{100 - 10**-digits:.{digits}f}" if value < 100 <= float(text) else text
