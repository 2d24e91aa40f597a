"""Whose turn it is: callers have equal shares of what is computed, and the requests of one caller among themselves.

This is start-time fair queueing (Goyal, Vin and Chen 1996) at two levels. A caller has a clock, which goes on by the
tokens that are computed for it; the one whose clock is behind has the next turn. Who comes anew begins at the clock of
whose turn it is: nobody saves up turns. Within a caller each request begins at the place that the others have reached,
and its rows follow at the distance of their tokens, so that a request of one text is next, however many texts stand
before it.
"""

import heapq
from dataclasses import dataclass, field


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
