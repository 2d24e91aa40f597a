"""A claim of a paper beside what was measured, and intervals over seeds; imports no framework."""

import numpy as np

T_95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}  # Student's, by seeds


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
