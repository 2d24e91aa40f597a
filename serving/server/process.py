"""The process of `seqzoo serve`: ports, signals, loading, and an orderly end."""

import asyncio
import contextlib
import os
import resource
import signal
import socket
import sys
from dataclasses import dataclass, field
from functools import partial

import uvicorn

from serving.lazy import later
from serving.runtime.errors import ServingError
from serving.runtime.sessions import turns
from serving.server.connections import Connection
from serving.server.door import Door, Visitors
from serving.server.grpc_service import make_server
from serving.server.http import application
from serving.server.lane import Lanes, Slots
from serving.server.limits import Batching, Limits
from serving.server.models import Models, Opening
from serving.server.monitoring import Log, Metrics, capture
from serving.server.service import Service

packages = later("zoo.core.later")

# Connections that wait to be accepted, at some 70 microseconds each: in a longer queue a caller would wait longer than
# for an answer. A caller who finds it full gets no answer, and its system tries again after a second.
BACKLOG = 512
ENDING = 2.0  # seconds for runs that are ended: ONNX Runtime checks between two operators
SWITCH = 1e-3  # seconds after which a thread that computes in Python lets the event loop go on


@dataclass(frozen=True)
class Settings:
    """How a server runs.

    Args:
        host: the address that both ports listen on.
        http_port, grpc_port: 0 takes a free one; None is no port.
        batching, limits, opening: see their classes.
        door: who is let in.
        poll: seconds between two looks for new versions; 0 never looks.
        log_requests: whether every request is logged.
    """

    host: str = "127.0.0.1"
    http_port: int | None = 8080
    grpc_port: int | None = 8081
    batching: Batching = field(default_factory=Batching)
    limits: Limits = field(default_factory=Limits)
    opening: Opening = field(default_factory=Opening)
    door: Door = field(default_factory=Door)
    poll: float = 5.0
    log_requests: bool = False


class Quiet(uvicorn.Server):
    """uvicorn's server without its signal handlers: this process has its own."""

    @contextlib.contextmanager
    def capture_signals(self):
        yield


def run(models, settings):
    """Serve models until the process is told to stop; returns its exit status.

    Args:
        models: names and paths of models.
        settings: `Settings`.

    Raises:
        ValueError, OSError: a model cannot be loaded, or a port cannot be had.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    sys.setswitchinterval(SWITCH)
    server = Server(settings)
    loop = uvicorn.Config("", loop="auto").get_loop_factory()  # uvloop, if it is there
    with asyncio.Runner(loop_factory=loop) as runner:
        status = runner.run(server.run(models))
        if server.abandoned:  # a thread still computes or loads, and the end of the block would wait for it
            sys.stderr.flush()
            os._exit(status)
    return status


class Server:
    """Both ports, the models behind them, and their end.

    Args:
        settings: `Settings`.
    """

    def __init__(self, settings):
        self.settings, self.log, self.metrics = settings, Log(), Metrics()
        self.abandoned = False

    async def run(self, arguments):
        """Serve until a signal comes; returns the exit status."""
        settings, loop = self.settings, asyncio.get_running_loop()
        capture(self.log)
        self.stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._handle_signal)
        count = turns(settings.opening.threads)
        self.slots = Slots(count), Slots(max(1, count - 1), own=False)  # long runs leave a core
        models = Models(settings.opening, self._make_lane, self.metrics, self.log)
        self.service = Service(models, settings.limits, self.metrics, self.log, settings.log_requests, settings.door)
        http, rpc = await self._open_ports()
        try:
            if not await self._until_stopped(models.load(arguments)):
                return 1
            self.service.state = "ready"
            self.log("ready", host=settings.host, http_port=self.http_port, grpc_port=self.grpc_port)
            watching = asyncio.create_task(models.watch(settings.poll)) if settings.poll else None
            await self.stop.wait()
            if watching:
                watching.cancel()
                await asyncio.wait([watching])
                self.abandoned = models.abandoned
            return await self._drain(models)
        finally:
            await self._close_ports(http, rpc)

    def _make_lane(self, name, number, signatures):
        meter = self.metrics.make_meter(name, number)
        rules = self.settings.batching, self.settings.limits.queue
        return Lanes(*self.slots, signatures, *rules, meter, self.log)

    async def _until_stopped(self, work):
        """Whether the work was done before a signal came."""
        task, stop = asyncio.ensure_future(work), asyncio.ensure_future(self.stop.wait())
        await asyncio.wait((task, stop), return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if task.done():
            task.result()
            return True
        task.cancel()
        self.abandoned = True
        return False

    def _handle_signal(self):
        if self.stop.is_set():  # told twice: at once
            self.log("stopped", level="warning", open=self.service.open)
            os._exit(1)
        self.service.state = "stopping"
        self.log("stopping", open=self.service.open)
        self.stop.set()

    async def _drain(self, models):
        """Finish what was taken on, except for what takes long, which is ended; returns the exit status."""
        models.end(long=True)
        if await self._finish(models, self.settings.limits.drain):
            self.log("stopped", open=0)
            return 0
        self.log("stopped", level="error", open=self.service.open)
        models.end(long=False)
        self.abandoned = self.abandoned or not await self._finish(models, ENDING)
        return 1

    async def _finish(self, models, seconds):
        """Whether all that is here was finished within so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self.service.idle.wait()
                await models.close()
        except TimeoutError:
            return False
        return True

    async def _open_ports(self):
        """The two servers, listening; or none, if one of the ports cannot be had."""
        settings, release = self.settings, packages.installed_version("seqzoo") or "0"
        self.http_port = self.grpc_port = None
        sock = None if settings.http_port is None else _bind(settings.host, settings.http_port)
        try:
            rpc = None if settings.grpc_port is None else await self._start_grpc(release)
        except ServingError:
            if sock:
                sock.close()
            raise
        http = sock and self._start_http(sock, release)
        return http, rpc

    async def _start_grpc(self, release):
        """The server of gRPC, listening."""
        host, port = self.settings.host, self.settings.grpc_port
        server, address = make_server(self.service, release), f"[{host}]" if ":" in host else host
        try:
            self.grpc_port = server.add_insecure_port(f"{address}:{port}")
        except RuntimeError:
            raise _port_error(host, port, "--grpc-port") from None
        await server.start()
        return server

    def _start_http(self, sock, release):
        """The server of HTTP on a socket, listening."""
        self.http_port, limits = sock.getsockname()[1], self.settings.limits
        visitors = Visitors(limits.connections, limits.connections_of_one, self.settings.door.is_proxy)
        server = Quiet(
            uvicorn.Config(
                application(self.service, release),
                http=partial(Connection, visitors=visitors),
                backlog=BACKLOG,
                log_config=None,
                access_log=False,
                proxy_headers=False,
                lifespan="off",
                ws="none",
                timeout_graceful_shutdown=5,
                server_header=False,
            )
        )
        self._http_task = asyncio.create_task(server.serve([sock]))
        return server

    async def _close_ports(self, http, rpc):
        if http:
            http.should_exit = True
            await self._http_task
        if rpc:
            await rpc.stop(1)


def _bind(host, port):
    """A socket that listens at an address, so that no other process can have it."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError:
        raise _port_error(host, port, "--http-port") from None
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(BACKLOG)  # two that have bound a port and do not listen yet may both believe that it is theirs
    except OSError:
        sock.close()
        raise _port_error(host, port, "--http-port") from None
    return sock


def _port_error(host, port, option):
    return ServingError(
        f"cannot listen on {host}:{port}: another process has this port, or the address is not one of this machine. "
        f"Choose another with {option} or --host."
    )
