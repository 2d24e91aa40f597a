"""The queue of one model, and which of its rows make the next batch: a data structure with a clock and nothing else.

A row is one text, or one row of token ids. Rows of one batch must have the same key: the same signature with the same
options. The oldest row is in every batch that is taken, so none waits for ever; beside it are the rows of its key that
are the nearest to it in length, as long as

    number of rows <= texts        and        number of rows * tokens of the longest <= tokens

Padding costs time, and so does each batch. What they cost is learnt from the batches that were computed (`Pace`), and
the rows that wait are divided so that all of them together take the least time.

A batch waits for others at most as long as the rules say, and only for as many as there were lately: callers that wait
for their answers come again when they have them. A caller who is alone waits for nobody.
"""

import time
from dataclasses import dataclass
from itertools import islice

import numpy as np

TOGETHER = 1.25  # so much more time than divided may be taken by a few rows at once: nobody of them waits twice then
MIXED = 64  # rows, at least, that are divided into batches at once
WINDOW = 8  # as many batches of the queue are looked through for rows of similar length


class FullError(Exception):
    """There is no room in the queue."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A row that waits.

    Args:
        owner: the request that it belongs to.
        place: its number in this request.
        key: what rows of one batch have in common.
        cost: the number of its tokens, at least 1.
        payload: what is computed.
        arrived: when it came.
    """

    owner: object
    place: int
    key: tuple
    cost: int
    payload: object
    arrived: float


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


class Batcher:
    """A bounded queue that gives batches.

    Args:
        rules: `serving.server.limits.Batching`.
        capacity: the most rows that wait. A request larger than that is taken if the queue is empty.
        clock: a function without arguments that returns seconds.
    """

    def __init__(self, rules, capacity, clock=time.monotonic):
        self.rules, self.capacity, self.clock = rules, capacity, clock
        self._queue = {}  # serial number -> row, in the order of arrival
        self._groups = {}  # key -> the same rows of this key
        self._tokens = {}  # key -> the sum of their costs
        self._owned = {}  # owner -> the serial numbers of its rows that wait
        self._paces = {}  # name of a signature, the first part of a key -> its Pace
        self._serial = 0
        self._computed = 0  # rows that were taken, and are not done
        self._most = 0  # how many rows were here at once since the last batch was taken, waiting or computed
        self._expected = None  # the same before that batch; None before the first

    def __len__(self):
        return len(self._queue)

    def add(self, owner, key, payloads, costs):
        """Append the rows of a request.

        Raises:
            FullError: there is no room for all of them; none was appended.
        """
        if self._queue and len(self._queue) + len(payloads) > self.capacity:
            raise FullError
        now, serials = self.clock(), []
        group = self._groups.setdefault(key, {})
        for place, (payload, cost) in enumerate(zip(payloads, costs, strict=True)):
            self._serial += 1
            serials.append(self._serial)
            group[self._serial] = self._queue[self._serial] = Row(owner, place, key, max(1, cost), payload, now)
        self._tokens[key] = self._tokens.get(key, 0) + sum(max(1, cost) for cost in costs)
        self._owned[owner] = set(serials)
        self._most = max(self._most, self._present)

    @property
    def _present(self):
        return len(self._queue) + self._computed

    def drop(self, owner):
        """Remove the rows of a request that still wait; returns how many there were."""
        serials = self._owned.pop(owner, ())
        for serial in serials:
            self._remove(serial)
        return len(serials)

    def due(self):
        """Seconds until a batch should be taken: 0 if it is time, None if nothing waits."""
        if not self._queue:
            return None
        oldest = next(iter(self._queue.values()))
        if len(self._groups[oldest.key]) >= self.rules.texts or self._tokens[oldest.key] >= self.rules.tokens:
            return 0
        if self._expected is not None and self._present >= self._expected:
            return 0
        return max(0, oldest.arrived + self.rules.delay - self.clock())

    def take(self):
        """Remove the next batch from the queue and return it, a list of rows of one key; empty if nothing waits.

        Whoever takes a batch says when it is `done`.
        """
        if not self._queue:
            return []
        oldest_serial, oldest = next(iter(self._queue.items()))
        pace = self._paces.setdefault(oldest.key[0], Pace())
        window = islice(self._groups[oldest.key].items(), WINDOW * self.rules.texts)
        nearest = sorted(window, key=lambda item: (abs(item[1].cost - oldest.cost), item[0]))
        chosen = self._beside(oldest_serial, nearest, pace)
        for serial, row in chosen.items():
            self._remove(serial)
            owned = self._owned[row.owner]
            owned.discard(serial)
            if not owned:
                del self._owned[row.owner]
        self._computed += len(chosen)
        self._expected, self._most = self._most, self._present
        return [chosen[serial] for serial in sorted(chosen)]

    def _beside(self, oldest, nearest, pace):
        """`{serial number: row}` of the batch with the oldest row, of rows that are sorted by their distance to it.

        The rows are computed in the least time together if those of similar lengths go together: sorted by length,
        `least[n] = min over m of least[m] + the time of a batch of rows m to n`. The start of a batch counts twice,
        because who is not in the first batch waits for it, too. As long as nothing is known of times, the batch is as
        large as it may be.
        """
        if not pace.mixes:
            chosen, longest = {}, 0
            for serial, row in sorted(nearest, key=lambda item: item[0] != oldest):
                widest = max(longest, row.cost)
                if not chosen or len(chosen) < self.rules.texts and (len(chosen) + 1) * widest <= self.rules.tokens:
                    chosen[serial], longest = row, widest
            return chosen
        rows = sorted(nearest[: max(MIXED, self.rules.texts)], key=lambda item: item[1].cost)
        least, begins = [0.0], [0]
        for end, (_, row) in enumerate(rows, start=1):
            most = max(1, min(self.rules.texts, end, self.rules.tokens // row.cost))
            paces = pace.of(row.cost, most)
            times = [before + own for before, own in zip(least[end - most : end][::-1], paces, strict=True)]
            least.append(min(times))
            begins.append(end - 1 - times.index(least[-1]))
        end = len(rows)
        if 2 * end <= self.rules.texts and end * rows[-1][1].cost <= self.rules.tokens:
            if pace.of(rows[-1][1].cost, end)[-1] <= TOGETHER * least[-1]:
                return dict(rows)
        while oldest not in (chosen := dict(rows[begins[end] : end])):
            end = begins[end]
        return chosen

    def done(self, batch, seconds=None):
        """A batch that was taken is computed, in so many seconds; None if it failed."""
        self._computed -= len(batch)
        if seconds is not None:
            self._paces[batch[0].key[0]].learn(len(batch), max(row.cost for row in batch), seconds)

    def _remove(self, serial):
        row = self._queue.pop(serial)
        group = self._groups[row.key]
        del group[serial]
        self._tokens[row.key] -= row.cost
        if not group:
            del self._groups[row.key], self._tokens[row.key]
