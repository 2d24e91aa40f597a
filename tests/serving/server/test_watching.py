"""The watch for new versions goes on, whatever a look meets, and tells each thing once."""

import asyncio
import errno
from types import SimpleNamespace

from serving.server import models
from serving.server.models import Models, Opening
from serving.server.monitoring import Metrics


class Lane:
    def __init__(self, signatures):
        self.signatures, self.meter = signatures, SimpleNamespace(close=lambda: None)

    async def close(self):
        pass


class Disk:
    """A folder in which each look finds the next of `looks`: numbers of versions, or an error."""

    def __init__(self, folder, looks):
        self.home, self.looks = folder, list(looks)

    def versions(self):
        found = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(found, Exception):
            raise found
        return [(number, self.home / str(number)) for number in found]


def watched(monkeypatch, folder, *looks, refused=()):
    """`(version that answers at the end, events)`; the signatures of the versions `refused` cannot be made."""

    def signatures(runtime):
        if runtime.number in refused:
            raise KeyError("inputs")
        return {}

    def opened(directory, opening):
        return SimpleNamespace(manifest={"name": "echo", "version": 1}, kind="generate", number=int(directory.name))

    disk, events = Disk(folder, [[1], *looks]), []
    monkeypatch.setattr(models, "open_runtime", opened)
    monkeypatch.setattr(models, "find_place", lambda given: disk)
    monkeypatch.setattr(models, "signatures_of", signatures)

    async def live():
        log = lambda event, level="info", **fields: events.append((event, fields.get("error")))  # noqa: E731
        house = Models(Opening(), lambda name, number, held: Lane(held), Metrics(), log)
        await house.load(["echo"])
        watching = asyncio.create_task(house.watch(0.001))
        async with asyncio.timeout(5):
            while len(disk.looks) > 1 and not watching.done():
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        assert not watching.done() or watching.result()
        watching.cancel()
        return house.current["echo"].number

    return asyncio.run(live()), [event if error is None else (event, type(error)) for event, error in events]


def test_an_error_of_the_disk_ends_nothing(monkeypatch, tmp_path):
    gone = OSError(errno.ESTALE, "Stale file handle")
    number, events = watched(monkeypatch, tmp_path, [1], gone, gone, [1], gone, [2, 1])
    assert number == 2 and events == ["serving", ("failed", OSError), ("failed", OSError), "serving"]


def test_a_version_whose_signatures_are_damaged_is_refused_once(monkeypatch, tmp_path):
    number, events = watched(monkeypatch, tmp_path, [2, 1], [2, 1], [3, 2, 1], refused=(2,))
    assert number == 3 and events == ["serving", ("version_refused", KeyError), "serving"]


def test_versions_that_vanish_again_are_told_again(monkeypatch, tmp_path):
    number, events = watched(monkeypatch, tmp_path, [], [], [1], [])
    assert number == 1 and events == ["serving", "vanished", "vanished"]
