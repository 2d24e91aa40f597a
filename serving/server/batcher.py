"""The queue of one model, and which of its rows make the next batch: a data structure with a clock and nothing else.

A row is one text, or one row of token ids. Rows of one batch must have the same key: the same signature with the same
options. The first row in turn is in every batch that is taken (`serving.server.shares`: callers take turns, and so do
the requests of each), so none waits for ever; beside it are the rows of its key that are the nearest to it in length,
as long as

    number of rows <= texts        and        number of rows * tokens of the longest <= tokens

Padding costs time, and so does each batch. What they cost is learnt from the batches that were computed (`Pace`), and
the rows that wait are divided so that all of them together take the least time.

A batch waits for others at most as long as the rules say, and only for as many as there were lately: callers that wait
for their answers come again when they have them. A caller who is alone waits for nobody.
"""

import time
from itertools import islice

import numpy as np

from serving.server.shares import Row, Shares

TOGETHER = 1.25  # so much more time than divided may be taken by a few rows at once: nobody of them waits twice then
MIXED = 64  # rows, at least, that are divided into batches at once
WINDOW = 8  # as many batches of the queue are looked through for rows of similar length
FEW = 4  # a request that fills no more than so small a part of a batch shares it with no larger one, and is done sooner
MOST, SMALL = 0.75, 8  # the part of the queue that one caller may fill; of what is left, so small a part may be taken


class FullError(Exception):
    """There is no room in the queue."""


class Batcher:
    """A bounded queue that gives batches.

    Args:
        rules: `serving.server.limits.Batching`.
        capacity: the most rows that wait. A request larger than that is taken if the queue is empty.
        clock: a function without arguments that returns seconds.
    """

    def __init__(self, rules, capacity, clock=time.monotonic):
        self.rules, self.capacity, self.clock = rules, capacity, clock
        self._shares = Shares()
        self._paces = {}  # name of a signature, the first part of a key -> its Pace
        self._computed = 0  # rows that were taken, and are not done
        self._most = 0  # how many rows were here at once since the last batch was taken, waiting or computed
        self._expected = None  # the same before that batch; None before the first

    def __len__(self):
        return len(self._shares)

    def add(self, owner, key, payloads, costs, caller=None):
        """Append the rows of a request.

        Args:
            owner: the request, which has no rows here yet.
            key: what rows of one batch have in common.
            payloads, costs: of each row what is computed, and the number of its tokens.
            caller: who asks; callers have equal shares.

        Raises:
            FullError: there is no room for all of them; none was appended.
        """
        room, count = self.capacity - len(self), len(payloads)
        own = self._shares.waiting(caller) + count
        if len(self) and (count > room or own > MOST * self.capacity and count > max(1, room // SMALL)):
            raise FullError
        now = self.clock()
        rows = [
            Row(owner, place, key, max(1, cost), payload, now)
            for place, (payload, cost) in enumerate(zip(payloads, costs, strict=True))
        ]
        self._shares.add(caller, owner, key, rows)
        self._most = max(self._most, self._present)

    @property
    def _present(self):
        return len(self) + self._computed

    def drop(self, owner):
        """Remove the rows of a request that still wait; returns how many there were."""
        return self._shares.drop(owner)

    def seconds_left(self):
        """Seconds until a batch should be taken: 0 if it is time, None if nothing waits."""
        if not len(self):
            return None
        oldest = self._shares.oldest()
        if self._shares.count(oldest.key) >= self.rules.texts or self._shares.tokens(oldest.key) >= self.rules.tokens:
            return 0
        if self._expected is not None and self._present >= self._expected:
            return 0
        return max(0, oldest.arrived + self.rules.delay - self.clock())

    def take(self):
        """Remove the next batch from the queue and return it, a list of rows of one key; empty if nothing waits.

        Whoever takes a batch says when it is `done`.
        """
        if not len(self):
            return []
        first = self._shares.first()
        pace = self._paces.setdefault(first.key[0], Pace())
        few = max(1, self.rules.texts // FEW)
        most = few if self._shares.size(first) <= few else None
        window = [first, *islice(self._shares.in_turn(first.key, most), WINDOW * self.rules.texts)]
        nearest = sorted(dict.fromkeys(window), key=lambda row: (row is not first, abs(row.cost - first.cost)))
        batch = set(self._choose_batch(first, nearest, pace))
        chosen = [row for row in dict.fromkeys(window) if row in batch]
        self._shares.take(first, chosen)
        self._computed += len(chosen)
        self._expected, self._most = self._most, self._present
        return chosen

    def _choose_batch(self, first, nearest, pace):
        """The batch with the first row, of rows that are sorted by their distance to it.

        The rows are computed in the least time together if those of similar lengths go together: sorted by length,
        `least[n] = min over m of least[m] + the time of a batch of rows m to n`. The start of a batch counts twice,
        because who is not in the first batch waits for it, too. As long as nothing is known of times, the batch is as
        large as it may be.
        """
        if not pace.mixes:
            chosen, longest = [], 0
            for row in nearest:
                widest = max(longest, row.cost)
                if not chosen or len(chosen) < self.rules.texts and (len(chosen) + 1) * widest <= self.rules.tokens:
                    chosen.append(row)
                    longest = widest
            return chosen
        rows = sorted(nearest[: max(MIXED, self.rules.texts)], key=lambda row: row.cost)
        least, begins = [0.0], [0]
        for end, row in enumerate(rows, start=1):
            most = max(1, min(self.rules.texts, end, self.rules.tokens // row.cost))
            paces = pace.of(row.cost, most)
            times = [before + own for before, own in zip(least[end - most : end][::-1], paces, strict=True)]
            least.append(min(times))
            begins.append(end - 1 - times.index(least[-1]))
        end = len(rows)
        if 2 * end <= self.rules.texts and end * rows[-1].cost <= self.rules.tokens:
            if pace.of(rows[-1].cost, end)[-1] <= TOGETHER * least[-1]:
                return rows
        while first not in (chosen := rows[begins[end] : end]):
            end = begins[end]
        return chosen

    def done(self, batch, seconds=None):
        """Note that a batch that was taken is computed, in so many seconds; None if it failed."""
        self._computed -= len(batch)
        if seconds is not None:
            self._paces[batch[0].key[0]].learn(len(batch), max(row.cost for row in batch), seconds)


class Pace:
    """What a batch of n rows costs whose longest has L tokens: `seconds = a + b L + c (n - 1) L`.

    By least squares over the last batches, of which each counts `FADE` times as much as the one after it. As long as
    all had one row, c is 0: that is how larger batches come to be tried.
    """

    FADE, RIDGE = 0.97, 1e-4

    def __init__(self):
        self.coefficients = np.zeros(3)  # a, b, c
        self._products, self._sums = np.zeros((3, 3)), np.zeros(3)

    def learn(self, count, longest, seconds):
        """Learn from a batch of `count` rows that took so many seconds."""
        x = np.array([1.0, longest, (count - 1) * longest])
        self._products = self.FADE * self._products + np.outer(x, x)
        self._sums = self.FADE * self._sums + seconds * x
        size = np.sqrt(np.diag(self._products)) + 1e-9
        scaled = self._products / np.outer(size, size) + self.RIDGE * np.eye(3)
        self.coefficients = np.maximum(0.0, np.linalg.solve(scaled, self._sums / size) / size)

    @property
    def mixes(self):
        """Whether the cost of further rows is known."""
        return self.coefficients[2] > 0

    def of(self, longest, most):
        """Seconds of batches of 1 to `most` rows, a list; the start counts twice."""
        start, each, more = self.coefficients
        return (2 * start + longest * (each + more * np.arange(most))).tolist()
