"""The queue of one model, and which of its rows make the next batch: a data structure with a clock and nothing else.

A row is one text, or one row of token ids. Rows of one batch must have the same key: the same signature with the same
options. The first row in turn is in every batch that is taken (`serving.server.shares`: callers take turns, and so do
the requests of each), so none waits for ever; beside it are rows of its key that are near to it in length, as long as

    number of rows <= texts        and        number of rows * tokens of the longest <= tokens

and the runtime would compute them in one run: it pads no more than the artefact's kind deserves
(`serving.runtime.loaded.batches`), so that a short row does not wait for long ones.

A batch waits for others at most as long as the rules say, and only for as many as there were lately: callers that wait
for their answers come again when they have them. A caller who is alone waits for nobody.
"""

import math
import time
from itertools import islice

from serving.runtime.loaded import batches
from serving.server.shares import Row, Shares

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
