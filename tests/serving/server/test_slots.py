"""Turns: one for each lane, and others that they share in the order in which they come."""

import asyncio

from serving.server.lane import Slots


def test_each_lane_has_a_turn_of_its_own():
    async def live():
        slots = Slots(3)
        for _ in range(3):
            await slots.acquire("a")
        await slots.acquire("b")
        waiting = [asyncio.ensure_future(slots.acquire(lane)) for lane in "aab"]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.wait([waiting[0]])
        assert not any(each.done() for each in waiting[1:])
        slots.release("a")
        await asyncio.wait_for(waiting[1], 5)
        slots.release("b")
        await asyncio.wait_for(waiting[2], 5)
        for lane in "aaab":
            slots.release(lane)
        assert not slots._busy and not slots._waiting

    asyncio.run(live())


def test_turns_without_an_owner_are_taken_in_order():
    async def live():
        slots, order = Slots(1, own=False), []

        async def hold(lane):
            await slots.acquire(lane)
            order.append(lane)
            await asyncio.sleep(0)
            slots.release(lane)

        await asyncio.gather(*map(hold, "abcab"))
        assert order == list("abcab")

    asyncio.run(live())
