"""The queue of one model, and which of its rows make the next batch: a data structure with a clock and nothing else.

A row is one text, or one row of token ids. Rows of one batch must have the same key: the same signature with the same
options. The oldest row is in every batch that is taken, so none waits for ever; beside it are the rows of its key that
are the nearest to it in length, as long as

    number of rows <= texts        and        number of rows * tokens of the longest <= tokens

and as padding adds at most a quarter to their own tokens: of texts of very different lengths two batches take less time
than one. A batch waits for others at most as long as the rules say, and only for as many as there were lately: callers that wait
for their answers come again when they have them. A caller who is alone waits for nobody.
"""

import time
from dataclasses import dataclass
from itertools import islice

PADDED = 1.25  # padded tokens of a batch by its own; of .1 to 1 this gave the most texts a second, or nearly
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
        window = islice(self._groups[oldest.key].items(), WINDOW * self.rules.texts)
        nearest = sorted(window, key=lambda item: (abs(item[1].cost - oldest.cost), item[0]))
        chosen, longest, own = {oldest_serial: oldest}, oldest.cost, oldest.cost
        for serial, row in nearest:
            if len(chosen) == self.rules.texts:
                break
            widest = max(longest, row.cost)
            padded = (len(chosen) + 1) * widest
            if serial not in chosen and padded <= min(self.rules.tokens, PADDED * (own + row.cost)):
                chosen[serial], longest, own = row, widest, own + row.cost
        for serial, row in chosen.items():
            self._remove(serial)
            owned = self._owned[row.owner]
            owned.discard(serial)
            if not owned:
                del self._owned[row.owner]
        self._computed += len(chosen)
        self._expected, self._most = self._most, self._present
        return [chosen[serial] for serial in sorted(chosen)]

    def done(self, count):
        """So many rows of those that were taken are computed."""
        self._computed -= count

    def _remove(self, serial):
        row = self._queue.pop(serial)
        group = self._groups[row.key]
        del group[serial]
        self._tokens[row.key] -= row.cost
        if not group:
            del self._groups[row.key], self._tokens[row.key]
