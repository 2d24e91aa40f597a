"""The HTTP port: an ASGI application of Starlette that never waits for a caller longer than is allowed."""

import asyncio
import contextlib
import math
from importlib.metadata import PackageNotFoundError, version

import orjson
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from serving.server import tf_rest, v2
from serving.server.faults import AGAIN, Fault, invalid
from serving.server.tensors import said

JSON = "application/json"
TIMEOUT = "request-timeout"  # a header: seconds that the caller is going to wait


def application(service):
    """The ASGI application of a `serving.server.service.Service`."""
    pages = Pages(service)
    version_ = "/versions/{version}"
    hot = [("/v2/models/{name}", "/infer", pages.infer), ("/v1/models/{name}", ":predict", pages.predict)]
    routes = [Route(head + at + tail, page, methods=["POST"]) for at in ("", version_) for head, tail, page in hot]
    routes += [
        Route("/", pages.server, methods=["GET"]),
        Route("/metrics", pages.metrics, methods=["GET"]),
        Route("/v2", pages.server, methods=["GET"]),
        Route("/v2/health/live", pages.live, methods=["GET"]),
        Route("/v2/health/ready", pages.ready, methods=["GET"]),
        Route("/v2/models", pages.models, methods=["GET"]),
        Route("/v1/models", pages.models, methods=["GET"]),
    ]
    for at in ("", version_):
        routes += [
            Route("/v2/models/{name}" + at + "/ready", pages.model_ready, methods=["GET"]),
            Route("/v2/models/{name}" + at, pages.model, methods=["GET"]),
            Route("/v1/models/{name}" + at + "/metadata", pages.signatures, methods=["GET"]),
            Route("/v1/models/{name}" + at, pages.status, methods=["GET"]),
        ]
    return Starlette(routes=routes, exception_handlers={Fault: _fault, HTTPException: _not_here})


class Pages:
    """What each address answers.

    Args:
        service: `serving.server.service.Service`.
    """

    def __init__(self, service):
        self.service, self.limits = service, service.limits
        try:
            self.version = version("seqzoo")
        except PackageNotFoundError:
            self.version = "0"

    async def server(self, request):
        return _json({"name": "seqzoo", "version": self.version, "extensions": v2.EXTENSIONS})

    async def live(self, request):
        return _json({"live": True})

    async def ready(self, request):
        return _json({"ready": self.service.ready}, 200 if self.service.ready else 503)

    async def models(self, request):
        return _json({"models": sorted(self.service.models.current)})

    async def metrics(self, request):
        return Response(self.service.metrics.exposed(), media_type=CONTENT_TYPE_LATEST)

    async def model(self, request):
        return _json(v2.metadata(request.path_params["name"], self._found(request)))

    async def model_ready(self, request):
        self._found(request)
        ready = self.service.ready
        return _json({"name": request.path_params["name"], "ready": ready}, 200 if ready else 503)

    async def status(self, request):
        return _json(tf_rest.status(self._found(request)))

    async def signatures(self, request):
        return _json(tf_rest.metadata(request.path_params["name"], self._found(request)))

    def _found(self, request):
        return self.service.models.find(request.path_params["name"], request.path_params.get("version"))

    async def infer(self, request):
        body = await self._body(request)
        asked = v2.Request(body, request.headers.get(v2.HEADER))
        answer = await self._answer(
            request, "v2-http", lambda found: (asked.signature, asked.tensors, asked.parameters)
        )
        content, size = v2.response(asked, answer)
        if size is None:
            return Response(content, media_type=JSON)
        return Response(content, media_type="application/octet-stream", headers={v2.HEADER: str(size)})

    async def predict(self, request):
        asked = tf_rest.Request(await self._body(request))
        answer = await self._answer(
            request, "v1-http", lambda found: (asked.signature, asked.tensors(found), asked.parameters)
        )
        return Response(tf_rest.response(asked, answer), media_type=JSON)

    async def _answer(self, request, protocol, asked):
        """The answer, unless the caller leaves before it is there: then what still waits is not computed."""
        name, number = request.path_params["name"], request.path_params.get("version")
        work = asyncio.ensure_future(self.service.infer(protocol, name, number, asked, _seconds(request)))
        gone = asyncio.ensure_future(request.receive())
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError, Fault):
                await work
            raise Fault("gone", "the caller left.")
        finally:
            gone.cancel()
            work.cancel()

    async def _body(self, request):
        """The body, within the bounds of size and time."""
        if request.headers.get("content-encoding", "identity") != "identity":
            raise Fault("encoded", "the body must not be compressed; send it as it is.")
        most, length = self.limits.bytes, request.headers.get("content-length", "")
        if length.isdecimal() and int(length[:20]) > most:
            raise _too_large(most)
        parts, size = [], 0
        try:
            async with asyncio.timeout(self.limits.reading):
                async for part in request.stream():
                    size += len(part)
                    if size > most:
                        raise _too_large(most)
                    parts.append(part)
        except TimeoutError:
            raise Fault("slow", f"the body did not come within {self.limits.reading:g} seconds.") from None
        except Exception as error:
            if isinstance(error, Fault):
                raise
            raise Fault("gone", "the caller left.") from error
        return b"".join(parts)


def _seconds(request):
    """What the header Request-Timeout says."""
    value = request.headers.get(TIMEOUT)
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise invalid(f"the header Request-Timeout must be a number of seconds, more than 0; received {said(value)}.")
    return seconds


def _too_large(most):
    return Fault("too_large", f"the body has more than {most} bytes. Send fewer texts at once.")


def _json(value, status=200):
    return Response(orjson.dumps(value), status, media_type=JSON)


async def _fault(request, fault):
    headers = {"retry-after": str(fault.wait)} if fault.kind in AGAIN else {}
    if fault.kind in ("too_large", "slow"):  # the rest of the body is not read
        headers["connection"] = "close"
    return Response(orjson.dumps({"error": fault.sentence}), fault.http, headers, JSON)


async def _not_here(request, error):
    path, method = said(request.url.path), request.method
    sentence = f"there is nothing at {path}." if error.status_code == 404 else f"{path} does not answer {method[:20]}."
    return Response(orjson.dumps({"error": sentence}), error.status_code, dict(error.headers or {}), JSON)
