"""The two lanes of a version: what is answered soon does not wait for what takes long."""

import asyncio

from serving.server.faults import Fault
from serving.server.lane import Lane


class Lanes:
    """One version of a model: a lane for most requests, and one for those that write for long (`Ask.long`).

    Runs of long ones leave a core to everybody else, and each model has a turn of its own for the others.

    Args:
        soon, late: the `Slots` of all models' lanes of each kind.
        *rest: of both lanes, see `Lane`.
    """

    def __init__(self, soon, late, signatures, batching, queue, meter, log):
        self.signatures, self.meter = signatures, meter
        self.soon, self.late = (Lane(signatures, batching, queue, slots, meter, log) for slots in (soon, late))

    async def answer(self, ask, within, caller=None):
        """As of `Lane`."""
        return await (self.late if ask.long else self.soon).answer(ask, within, caller)

    def end(self, long=True):
        """Send the requests away that are here; the long ones, or all."""
        for lane in (self.late,) if long else (self.soon, self.late):
            lane.end(Fault("not_ready", "the server is stopping, and does not wait for what takes long. Ask another."))

    async def close(self):
        """Finish what waits and what is computed; nothing new may be asked."""
        await asyncio.gather(self.soon.close(), self.late.close())
