"""The queue of one model, and which of its rows make the next batch: a data structure with a clock and nothing else.

A row is one text, or one row of token ids. Rows of one batch must have the same key: the same signature with the same
options. The first row in turn is in every batch that is taken, so none waits for ever; beside it are rows of its key
that are near to it in length, as long as

    number of rows <= texts        and        number of rows * tokens of the longest <= tokens

and the runtime would compute them in one run: it pads no more than the artefact's kind deserves
(`serving.runtime.loaded.batches`), so that a short row does not wait for long ones.

A batch waits for others at most as long as the rules say, and only for as many as there were lately: callers that wait
for their answers come again when they have them. A caller who is alone waits for nobody.

Callers have equal shares of what is computed, and the requests of one caller among themselves. This is start-time fair
queueing (Goyal, Vin and Chen 1996) at two levels. A caller has a clock, which goes on by the tokens that are computed
for it; the one whose clock is behind has the next turn. Who comes anew begins at the clock of whose turn it is: nobody
saves up turns. Within a caller each request begins at the place that the others have reached, and its rows follow at
the distance of their tokens, so that a request of one text is next, however many texts stand before it.
"""

import heapq
import math
import time
from dataclasses import dataclass, field
from itertools import islice

from serving.runtime.loaded import batches

MIXED = 64  # rows, at least, that are divided into batches at once
WINDOW = 8  # as many batches of the queue are looked through for rows of similar length
FEW = 4  # a request that fills no more than so small a part of a batch shares it with no larger one, and is done sooner
MOST, SMALL = 0.75, 8  # the part of the queue that one caller may fill; of what is left, so small a part may be taken


@dataclass(slots=True, eq=False)
class Row:
    """A row that waits.

    Args:
        owner: the request that it belongs to.
        place: its number in this request.
        key: what rows of one batch have in common.
        cost: the number of its tokens, at least 1.
        payload: what is computed.
        arrived: when it came.
        tag: its place among the rows of its caller.
    """

    owner: object
    place: int
    key: tuple
    cost: int
    payload: object
    arrived: float
    tag: float = 0.0


@dataclass(slots=True, eq=False)
class Caller:
    """Who asks: its clock, the place that its requests have reached, and how many of its rows wait."""

    clock: float
    reached: float = 0.0
    waiting: int = 0


@dataclass(slots=True, eq=False)
class Request:
    """The rows of a request that wait, in order."""

    caller: Caller
    key: tuple
    rows: dict = field(default_factory=dict)  # place -> Row

    @property
    def head(self):
        return next(iter(self.rows.values()))


class Shares:
    """The rows that wait, by caller, request and key."""

    def __init__(self):
        self._callers = {}  # caller -> Caller; one without rows is kept as long as its clock is ahead
        self._requests = {}  # owner -> Request, in the order of arrival
        self._groups = {}  # key -> {owner: Request}
        self._sums = {}  # key -> [rows, tokens]
        self._length, self._clock = 0, 0.0

    def __len__(self):
        return self._length

    def count(self, key):
        """How many rows of a key wait."""
        return self._sums[key][0]

    def tokens(self, key):
        """The sum of the tokens of a key's rows."""
        return self._sums[key][1]

    def waiting(self, caller):
        """How many rows of a caller wait."""
        return self._callers[caller].waiting if caller in self._callers else 0

    def add(self, caller, owner, key, rows):
        """Append the rows of a request, in order; none of them if the key cannot be hashed."""
        if not rows:
            return
        group, sums = self._groups.setdefault(key, {}), self._sums.setdefault(key, [0, 0])
        if caller not in self._callers:
            self._callers[caller] = Caller(self._clock)
        mine = self._callers[caller]
        if not mine.waiting:
            mine.clock = max(mine.clock, self._clock)
        request = self._requests[owner] = group[owner] = Request(mine, key)
        tag = mine.reached
        for row in rows:
            row.tag = tag
            tag += row.cost
            request.rows[row.place] = row
        mine.waiting += len(rows)
        self._length += len(rows)
        sums[0] += len(rows)
        sums[1] += sum(row.cost for row in rows)

    def oldest(self):
        """A row of the request that came first."""
        return next(iter(self._requests.values())).head

    def first(self):
        """The row whose turn it is."""
        return min(self._requests.values(), key=lambda each: (each.caller.clock, each.head.tag)).head

    def size(self, row):
        """How many rows of a row's request wait."""
        return len(self._requests[row.owner].rows)

    def in_turn(self, key, most=None):
        """The rows of a key, in the order in which their callers, side by side, would have their turns.

        Args:
            most: leave out requests of which more rows wait.
        """
        requests = self._groups[key].values()
        lines = (request.rows.values() for request in requests if most is None or len(request.rows) <= most)
        return heapq.merge(*lines, key=lambda row: row.tag - self._requests[row.owner].caller.reached)

    def take(self, first, rows):
        """Remove rows that are computed; `first` is the one whose turn it was."""
        caller = self._requests[first.owner].caller
        self._clock, caller.reached = max(self._clock, caller.clock), max(caller.reached, first.tag)
        for row in rows:
            self._requests[row.owner].caller.clock += row.cost
            self._remove(row)
        ahead = self._clock if self._length else float("inf")
        self._callers = {name: each for name, each in self._callers.items() if each.waiting or each.clock > ahead}

    def drop(self, owner):
        """Remove the rows of a request that still wait; returns how many there were."""
        rows = [*self._requests[owner].rows.values()] if owner in self._requests else []
        for row in rows:
            self._remove(row)
        return len(rows)

    def _remove(self, row):
        request = self._requests[row.owner]
        del request.rows[row.place]
        request.caller.waiting -= 1
        self._length -= 1
        sums = self._sums[row.key]
        sums[0] -= 1
        sums[1] -= row.cost
        if not request.rows:
            del self._requests[row.owner], self._groups[row.key][row.owner]
            if not self._groups[row.key]:
                del self._groups[row.key], self._sums[row.key]


class FullError(Exception):
    """There is no room in the queue."""


class Batcher:
    """A bounded queue that gives batches.

    Args:
        rules: `serving.server.limits.Batching`.
        capacity: the most rows that wait. A request larger than that is taken if the queue is empty.
        padding: the most tokens of padding of a batch.
        clock: a function without arguments that returns seconds.
    """

    def __init__(self, rules, capacity, padding=math.inf, clock=time.monotonic):
        self.rules, self.capacity, self.padding, self.clock = rules, capacity, padding, clock
        self._shares = Shares()
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
        few = max(1, self.rules.texts // FEW)
        most = few if self._shares.size(first) <= few else None
        window = [first, *islice(self._shares.in_turn(first.key, most), WINDOW * self.rules.texts)]
        window = list(dict.fromkeys(window))
        rows = sorted(window, key=lambda row: (row is not first, abs(row.cost - first.cost)))
        rows = rows[: max(MIXED, self.rules.texts)]
        divided = batches([row.cost for row in rows], self.rules.texts, self.rules.tokens, max_padding=self.padding)
        chosen = {rows[place] for place in next(batch for batch in divided if 0 in batch)}
        chosen = [row for row in window if row in chosen]
        self._shares.take(first, chosen)
        self._computed += len(chosen)
        self._expected, self._most = self._most, self._present
        return chosen

    def done(self, batch):
        """Note that a batch that was taken is not computed any more."""
        self._computed -= len(batch)
