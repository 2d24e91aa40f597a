"""What a batch costs, learnt from those that were computed."""

import numpy as np


class Pace:
    """What a batch of n rows costs whose longest has L tokens: `seconds = a + b L + c (n - 1) L`.

    By least squares over the last batches, of which each counts `FADE` times as much as the one after it. As long as
    all had one row, c is 0: that is how larger batches come to be tried.
    """

    FADE, RIDGE = 0.97, 1e-4

    def __init__(self):
        self.known = np.zeros(3)  # a, b, c
        self._products, self._sums = np.zeros((3, 3)), np.zeros(3)

    def learn(self, count, longest, seconds):
        """A batch took so long."""
        x = np.array([1.0, longest, (count - 1) * longest])
        self._products = self.FADE * self._products + np.outer(x, x)
        self._sums = self.FADE * self._sums + seconds * x
        size = np.sqrt(np.diag(self._products)) + 1e-9
        scaled = self._products / np.outer(size, size) + self.RIDGE * np.eye(3)
        self.known = np.maximum(0.0, np.linalg.solve(scaled, self._sums / size) / size)

    @property
    def mixes(self):
        """Whether it is known what more rows cost."""
        return self.known[2] > 0

    def of(self, longest, most):
        """Seconds of batches of 1 to `most` rows, a list; the start counts twice."""
        start, each, more = self.known
        return (2 * start + longest * (each + more * np.arange(most))).tolist()
