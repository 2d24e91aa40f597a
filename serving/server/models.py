"""Which model and version a name stands for, and new versions that appear while the server runs."""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from serving.kinds import KINDS
from serving.runtime import Runtime
from serving.runtime.artefact import MANIFEST, locate
from serving.runtime.errors import DamagedError
from serving.server.faults import Fault
from serving.server.signatures import NAME, Rows, Texts
from serving.server.tensors import quote


@dataclass(frozen=True)
class Opening:
    """How artefacts are opened: the arguments of `serving.runtime.Runtime`."""

    threads: int | None = 1
    precision: str | None = None
    verify: bool = True
    overlong: str | None = None
    shortlist: bool = False


@dataclass(frozen=True)
class Place:
    """Where the versions of a model are.

    Args:
        argument: what the command was given, a name or a path.
        home: the folder whose numbered folders are the versions, or None if there is one version and no other.
    """

    argument: str
    home: Path | None

    def versions(self):
        """`[(number, folder)]` of all versions that lie in the folder, the newest first."""
        folders = [path.parent for path in self.home.glob(f"*/{MANIFEST}")]
        numbered = [(int(path.name), path) for path in folders if path.name.isdecimal() and path.name.isascii()]
        return sorted(numbered, reverse=True)


def find_place(argument):
    """The `Place` of a name or a path.

    Raises: as of `serving.runtime.artefact.locate`.
    """
    first = locate(argument)
    is_home = isinstance(first, Path) and not (Path(argument) / MANIFEST).is_file() and first.name.isdecimal()
    return Place(argument, first.parent if is_home else None)


def open_runtime(directory, opening):
    """A `Runtime` with every graph open, every hash compared, and one text answered.

    Raises: as of `serving.runtime.Runtime` and its `run`.
    """
    runtime = Runtime(directory, **vars(opening))
    runtime.preload()
    texts = [text for text in runtime.manifest["texts"] if text.strip()]
    runtime.run([texts[0] if texts else KINDS[runtime.kind].example(runtime.manifest)])
    return runtime


def signatures_of(runtime):
    """The signatures that a runtime answers, by name; `serving_default` is the first."""
    return {NAME: Texts(runtime)} | {name: Rows(runtime, name) for name in runtime.signatures}


@dataclass(frozen=True)
class Version:
    """One version that answers: its number, its signatures by name and its lanes."""

    number: int
    signatures: dict
    lane: Any


class Models:
    """The models of a server, by name.

    Args:
        opening: `Opening`.
        make_lane: a function `(name, number, signatures) -> Lanes`.
        metrics: `serving.server.monitoring.Metrics`.
        log: a function `(event, **fields)`.
    """

    def __init__(self, opening, make_lane, metrics, log):
        self.opening, self.make_lane, self.metrics, self.log = opening, make_lane, metrics, log
        self.current, self.places = {}, {}
        self._logged, self._closing = {}, {}  # tasks, and the lanes that they close
        self.abandoned = False  # whether a thread may still open an artefact for which nobody waits

    def find(self, name, version=None):
        """The `Version` that answers for a model.

        Raises:
            Fault: there is no such model, or it has another version now.
        """
        served = self.current.get(name)
        if served is None:
            names = ", ".join(sorted(self.current)) or "none yet"
            raise Fault("not_found", f"there is no model {quote(name)} here; this server has {names}.")
        if version not in (None, "", str(served.number)):
            raise Fault(
                "not_found", f"{name} answers as version {served.number} now, and no other; received {quote(version)}."
            )
        return served

    async def load(self, arguments):
        """Load the newest version of each of `arguments`.

        Raises: whatever opening an artefact raises; ValueError if two have one name.
        """
        for argument in arguments:
            place = find_place(argument)
            number, folder = place.versions()[0] if place.home else (None, locate(argument))
            runtime = await self._open(folder)
            name = runtime.manifest["name"]
            if name in self.current:
                raise ValueError(
                    f"two models have the name {name!r}: {self.places[name].argument} and {argument}. Serve one."
                )
            self.places[name] = place
            number = runtime.manifest["version"] if number is None else number
            self._serve_version(name, number, runtime, signatures_of(runtime))

    async def watch(self, seconds):
        """Look for new versions for ever, this many seconds apart, whatever goes wrong in a look."""
        while True:
            await asyncio.sleep(seconds)
            for name, place in self.places.items():
                if place.home:
                    try:
                        await self.look(name, place)
                    except Exception as error:  # such as a file system that is away for a while
                        self._log_once(name, "failed", "error", (type(error), str(error)), "look", error=error)
                    else:
                        self._logged.pop((name, "look"), None)

    async def look(self, name, place):
        """Serve the newest version that is sound, if it is another one than now."""
        now, versions = self.current[name].number, place.versions()
        if not versions:
            self._log_once(name, "vanished", "warning", True, "vanished", version=now, folder=str(place.home))
            return
        self._logged.pop((name, "vanished"), None)
        for number, folder in versions:
            if number == now:
                return
            state = folder_state(folder)
            if self._logged.get((name, number)) == state:
                continue  # it was tried as it is, and failed
            try:
                runtime = await self._open(folder)
                if runtime.manifest["name"] != name:
                    raise DamagedError(f"{folder} is an artefact of {runtime.manifest['name']!r}, not of {name!r}.")
                signatures = signatures_of(runtime)
            except Exception as error:  # whatever is wrong with it, the version that answers goes on
                self.metrics.failures.labels(name).inc()
                self._log_once(
                    name, "version_refused", "error", state, number, version=number, serving=now, error=error
                )
                continue
            self._serve_version(name, number, runtime, signatures)
            return

    async def _open(self, folder):
        """The runtime of a folder, opened in a thread. The thread goes on if nobody waits for it any more."""
        try:
            return await asyncio.to_thread(open_runtime, folder, self.opening)
        except asyncio.CancelledError:
            self.abandoned = True
            raise

    def _log_once(self, name, event, level, state, about, **fields):
        """Log an event once for each `state` of its subject `about`: the number of a version, or a word."""
        if self._logged.get((name, about)) != state:
            self._logged[name, about] = state
            self.log(event, level=level, model=name, **fields)

    def _serve_version(self, name, number, runtime, signatures):
        previous = self.current.get(name)
        lane = self.make_lane(name, number, signatures)
        self.current[name] = Version(number, signatures, lane)
        self.log("serving", model=name, version=number, kind=runtime.kind, before=previous and previous.number)
        if previous:  # what it has taken on it finishes
            task = asyncio.create_task(self._retire(previous.lane))
            self._closing[task] = previous.lane
            task.add_done_callback(self._closing.pop)

    @staticmethod
    async def _retire(lane):
        await lane.close()
        lane.meter.close()

    def end(self, long):
        """Send requests away, and end what is computed for them: the long ones, or all."""
        for lane in (*(version.lane for version in self.current.values()), *self._closing.values()):
            lane.end(long)

    async def close(self):
        """Finish what waits in every lane."""
        await asyncio.gather(*(version.lane.close() for version in self.current.values()), *self._closing)


def folder_state(folder):
    """The names, sizes and times of the files of a folder, which differ when one has changed."""
    states = []
    for home, _, names in os.walk(folder):
        for name in names:
            try:
                status = os.stat(os.path.join(home, name))
            except OSError:
                continue
            states.append((os.path.join(home, name), status.st_size, status.st_mtime_ns))
    return tuple(sorted(states))
