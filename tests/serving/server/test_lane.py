"""A lane with signatures that only count: who leaves is not computed, who fails costs no other, turns are kept."""

import asyncio
import functools
import threading
import time

import pytest

from serving.runtime.errors import StoppedError
from serving.runtime.sessions import current
from serving.server.faults import Fault
from serving.server.lane import Lane, Lanes, Slots
from serving.server.limits import Batching
from serving.server.monitoring import Metrics
from serving.server.signatures import Ask


class Doubles:
    """Doubles numbers; a negative one fails its batch. It may be held, so that what comes later waits."""

    def __init__(self):
        self.batches, self.held = [], threading.Event()
        self.held.set()

    def run(self, key, payloads):
        self.held.wait(10)
        self.batches.append(list(payloads))
        if min(payloads) < 0:
            raise ArithmeticError(f"a secret: {payloads}")
        return [2 * each for each in payloads]

    def ask(self, *numbers, key="key"):
        return Ask(self, (key,), list(numbers), [1] * len(numbers))


class House:
    """A lane with one thread."""

    def __init__(self, queue=100, **rules):
        self.doubles, self.logged, self.queue = Doubles(), [], queue
        self.rules = {"delay": 0.01, "texts": 4} | rules

    async def __aenter__(self):
        log = lambda event, **fields: self.logged.append((event, fields))  # noqa: E731
        self.metrics = Metrics()
        meter = self.metrics.make_meter("m", 1)
        self.lane = Lane({}, Batching(**self.rules), self.queue, Slots(1), meter, log)
        return self

    async def __aexit__(self, *_):
        self.doubles.held.set()
        async with asyncio.timeout(10):
            await self.lane.close()

    def answer(self, *numbers, within=10, **kwargs):
        return asyncio.ensure_future(self.lane.answer(self.doubles.ask(*numbers, **kwargs), within))

    async def busy(self):
        """The thread computes, and will not be done before `held` is set."""
        self.doubles.held.clear()
        first = self.answer(0)
        while self.lane.batcher or not self.lane.running:
            await asyncio.sleep(0.001)
        return first


def lived(**rules):
    """A decorator that makes a test of a story, which is told of a house of its own."""

    def decorate(story):
        async def live():
            async with House(**rules) as house:
                await story(house)

        return lambda: asyncio.run(live())

    return decorate


def alive(story):
    """A decorator that makes a test of a story."""

    @functools.wraps(story)
    def test(**given):
        asyncio.run(story(**given))

    return test


@lived()
async def test_requests_share_batches_and_get_their_own_answers(house):
    found = await asyncio.gather(*(house.answer(number, 10 * number) for number in range(1, 8)))
    assert found == [[2 * number, 20 * number] for number in range(1, 8)]
    assert len(house.doubles.batches) < 7 and max(map(len, house.doubles.batches)) == 4


@lived()
async def test_a_large_request_is_answered_in_order(house):
    assert await house.answer(*range(50)) == [2 * number for number in range(50)]
    assert await house.answer() == []


@lived()
async def test_who_leaves_is_not_computed(house):
    first = await house.busy()
    leaving, staying = house.answer(5, 6), house.answer(7)
    await asyncio.sleep(0.02)
    leaving.cancel()
    await asyncio.sleep(0)
    house.doubles.held.set()
    assert await staying == [14] and await first == [0]
    assert house.doubles.batches == [[0], [7]]
    assert house.metrics.registry.get_sample_value("seqzoo_dropped_texts_total", {"model": "m", "version": "1"}) == 2


@lived()
async def test_a_deadline_ends_the_wait_and_the_work(house):
    first = await house.busy()
    with pytest.raises(Fault, match="not ready within 0.05 seconds") as caught:
        await house.answer(5, within=0.05)
    assert (caught.value.http, caught.value.grpc) == (504, "DEADLINE_EXCEEDED")
    house.doubles.held.set()
    await first
    assert house.doubles.batches == [[0]]


@lived(queue=6)
async def test_a_full_queue_says_when_to_come_again(house):
    first = await house.busy()
    waiting = [house.answer(number) for number in range(6)]
    await asyncio.sleep(0.02)
    with pytest.raises(Fault, match="6 texts wait already. Try again in 1 second\\.") as caught:
        await house.answer(9)
    assert (caught.value.http, caught.value.grpc, caught.value.wait) == (503, "UNAVAILABLE", 1)
    house.lane.rate = 2.0
    with pytest.raises(Fault, match="Try again in 3 seconds\\."):
        await house.answer(9)
    house.doubles.held.set()
    assert await asyncio.gather(*waiting) == [[2 * number] for number in range(6)]
    await first


@lived(delay=0.2)
async def test_who_fails_costs_no_other_an_answer(house):
    first = await house.busy()
    answers = [house.answer(number) for number in (1, -2, 3)]
    await asyncio.sleep(0.02)
    house.doubles.held.set()
    found = await asyncio.gather(first, *answers, return_exceptions=True)
    assert found[0] == [0] and found[1] == [2] and found[3] == [6]
    assert isinstance(found[2], Fault) and found[2].kind == "broken"
    assert "secret" not in found[2].sentence
    assert [event for event, _ in house.logged] == ["failed"]


def test_a_batch_that_takes_no_time(monkeypatch):
    """A clock may stand still during a short batch; that cost a request its answer once."""
    monkeypatch.setattr("serving.server.lane.time.perf_counter", lambda: 1.0)

    async def story(house):
        assert [await house.answer(number, within=2) for number in range(3)] == [[0], [2], [4]]

    lived()(story)()


@lived()
async def test_answers_that_are_missing_are_told(house):
    house.doubles.run = lambda key, payloads: payloads[1:]
    with pytest.raises(Fault, match="the model could not answer: ServingError"):
        await house.answer(1, 2, within=2)


@lived()
async def test_a_lane_that_closes_finishes_what_waits(house):
    first = await house.busy()
    waiting = [house.answer(number, key=str(number)) for number in range(5)]
    await asyncio.sleep(0.02)
    closing = asyncio.ensure_future(house.lane.close())
    await asyncio.sleep(0.02)
    assert not closing.done()
    house.doubles.held.set()
    await closing
    assert [await each for each in (first, *waiting)] == [[0], *([2 * number] for number in range(5))]


@lived()
async def test_who_has_found_a_lane_before_it_was_closed_is_answered(house):
    """A large body may be read by a thread while another version takes the place of the one that was found."""
    for number in range(2):
        await house.lane.close()
        assert await house.answer(number, within=2) == [2 * number]


@lived()
async def test_a_lane_whose_closing_was_given_up_is_closed_again(house):
    first = await house.busy()
    left = house.answer(5, within=0.05)  # the lane waits for a turn for it
    with pytest.raises(Fault, match="not ready"):
        await left
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await house.lane.close()
    house.doubles.held.set()
    await house.lane.close()
    assert await first == [0]


class Endless:
    """Signatures whose runs end when they are ended, and not before."""

    def __init__(self):
        self.begun, self.ended = threading.Event(), threading.Event()

    def run(self, key, payloads):
        self.begun.set()
        while not current().is_ended:
            time.sleep(0.001)
        self.ended.set()
        raise StoppedError("ended")

    async def until_begun(self):
        await asyncio.to_thread(self.begun.wait, 10)


def lanes(log=print, count=1):
    rules = Batching(0.05, texts=4), 100
    return Lanes(Slots(count), Slots(1, own=False), {}, *rules, Metrics().make_meter("m", 1), log)


def asking(made, signature, *numbers, within=30, **kwargs):
    ask = Ask(signature, ("key",), list(numbers), [1] * len(numbers), **kwargs)
    return asyncio.ensure_future(made.answer(ask, within))


@pytest.mark.parametrize("how", ["leaves", "is late"])
@alive
async def test_a_run_for_which_nobody_waits_is_ended(how):
    endless, logged = Endless(), []
    made = lanes(lambda event, **fields: logged.append(event))
    asked = asking(made, endless, 1, 2, within=0.3 if how == "is late" else 30)
    await endless.until_begun()
    if how == "leaves":
        asked.cancel()
    await asyncio.wait([asked])
    assert await asyncio.to_thread(endless.ended.wait, 10)
    assert await asking(made, Doubles(), 4) == [8]  # its turn is free again
    await made.close()
    assert logged == []


@alive
async def test_a_run_goes_on_as_long_as_one_waits_for_it():
    endless, made = Endless(), lanes()
    asked = [asking(made, endless, number) for number in range(2)]
    await endless.until_begun()
    asked[0].cancel()
    await asyncio.sleep(0.05)
    assert not endless.ended.is_set()
    asked[1].cancel()
    assert await asyncio.to_thread(endless.ended.wait, 10)
    await made.close()


@alive
async def test_what_takes_long_keeps_nobody_waiting():
    """Neither callers of the same model, nor those of another; and it is ended when the server stops."""
    endless, made = Endless(), lanes()
    slow = [asking(made, endless, number, long=True) for number in range(20)]
    await endless.until_begun()
    assert await asking(made, Doubles(), 4) == [8]
    made.end()
    found = await asyncio.gather(*slow, return_exceptions=True)
    assert {(type(each), each.kind) for each in found} == {(Fault, "not_ready")}
    await made.close()


@alive
async def test_each_lane_has_a_turn_of_its_own():
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


@alive
async def test_turns_without_an_owner_are_taken_in_order():
    slots, order = Slots(1, own=False), []

    async def hold(lane):
        await slots.acquire(lane)
        order.append(lane)
        await asyncio.sleep(0)
        slots.release(lane)

    await asyncio.gather(*map(hold, "abcab"))
    assert order == list("abcab")
