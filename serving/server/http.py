"""The HTTP port: an ASGI application that never waits for a caller longer than is allowed.

Requests for answers, of both protocols, come in `Asking`, without a framework between the port and the queue;
everything else, which is rare, is Starlette's.
"""

import asyncio
import math
import re

import orjson
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from serving.server import tf_rest, v2
from serving.server.bodies import Body
from serving.server.faults import AGAIN, Fault, invalid
from serving.server.tensors import describe, text_of

JSON, BINARY = "application/json", "application/octet-stream"
HEALTH = ("/v2/health/live", "/v2/health/ready")  # which nobody needs a key for
PATH = re.compile(
    r"/(?:v2/models/([^/]+)(?:/versions/([^/]+))?/infer|v1/models/([^/]+?)(?:/versions/([^/]+))?:predict)"
)


class Asking:
    """An ASGI application of the two paths that are asked for answers.

    Args:
        service: `serving.server.service.Service`.
    """

    def __init__(self, service):
        self.service, self.do = service, service.desk.do

    async def __call__(self, scope, receive, send):
        """Answer a request; returns whether its path is one of those."""
        parts = PATH.fullmatch(scope["path"])
        if parts is None:
            return False
        v2_name, v2_version, v1_name, v1_version = parts.groups()
        protocol, ask = ("v2-http", self._infer) if v2_name is not None else ("v1-http", self._predict)
        headers, name = dict(scope["headers"]), v2_name or v1_name
        body = Body(self.service.limits, headers, receive)
        try:
            with self.service.counting(protocol, name) as count, self.service.holding() as hold:
                count.caller = identify_caller(self.service.door, scope, headers)
                content = await body.read(hold)
                if body.is_packed:
                    count.size = self.service.limits.bytes
                    content = await self.do(count, body.unpack, content)
                    hold(len(content))
                count.size = len(content)
                status, extra, content = await ask(count, headers, receive, content, name, v2_version or v1_version)
        except Fault as fault:
            status, extra, content = refusal(fault)
        fields = {"content-type": JSON, "content-length": str(len(content))} | extra
        pairs = [(name.encode(), value.encode()) for name, value in fields.items()]
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": content, "more_body": not body.ended})
        if not body.ended:
            await body.drop()
            await send({"type": "http.response.body"})
        return True

    async def _infer(self, count, headers, receive, body, name, version):
        size = headers.get(v2.HEADER.encode())
        request = await self.do(count, v2.Request, body, size and text_of(size), self.service.limits.texts)

        def read_request(model):
            return request.signature, request.tensors, request.parameters, request.outputs

        answer = await self._answer_unless_gone(receive, count, name, version, read_request, _read_timeout(headers))
        content, size = await self.do(count, v2.response, request, answer)
        return 200, {} if size is None else {"content-type": BINARY, v2.HEADER: str(size)}, content

    async def _predict(self, count, headers, receive, body, name, version):
        request = await self.do(count, tf_rest.Request, body)

        def read_request(model):
            return request.signature, request.tensors(model), request.parameters, ()

        answer = await self._answer_unless_gone(receive, count, name, version, read_request, _read_timeout(headers))
        return 200, {}, await self.do(count, tf_rest.response, request, answer)

    async def _answer_unless_gone(self, receive, *request):
        """The answer of the service, unless the caller leaves before it is there: then it is given up."""
        me, gone = asyncio.current_task(), []

        async def watch():
            while (await receive())["type"] != "http.disconnect":
                pass
            gone.append(True)
            me.cancel()

        watching = asyncio.create_task(watch())
        try:
            return await self.service.infer(*request)
        except asyncio.CancelledError:
            if not gone:
                raise
            me.uncancel()
            raise Fault("gone", "the caller left.") from None
        finally:
            watching.cancel()


def identify_caller(door, scope, headers):
    """The name of the caller of a request.

    Raises:
        Fault: a key is required, and the request has none that the server knows.
    """
    host = scope["client"][0] if scope.get("client") else ""
    forwarded = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for")
    return door.identify(host, text_of(headers.get(b"authorization", b"")), text_of(forwarded))


def refusal(fault):
    """`(status, headers, content)` of a request that is not answered."""
    headers = {"unknown": {"www-authenticate": "Bearer"}, "encoded": {"accept-encoding": "gzip"}}.get(fault.kind, {})
    if fault.kind in AGAIN:
        headers = {"retry-after": str(fault.wait)}
    if fault.kind in ("too_large", "slow"):  # the rest of the body may be long
        headers = {"connection": "close"}
    return fault.http, headers, orjson.dumps({"error": fault.sentence})


def _read_timeout(headers):
    """The seconds that the caller is going to wait, by the header Request-Timeout; None without it."""
    value = headers.get(b"request-timeout")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise invalid(
            f"the header Request-Timeout must be a number of seconds, more than 0; received {describe(text_of(value))}."
        )
    return seconds


def application(service, version):
    """The ASGI application of a `serving.server.service.Service`; `version` is that of seqzoo."""
    pages, asking = Pages(service, version), Asking(service)
    rest = Starlette(routes=pages.routes(), exception_handlers={Fault: _answer_fault, HTTPException: _answer_missing})
    rest.router.redirect_slashes = False  # it would send callers of a proxy with TLS, and their keys, to http://

    async def app(scope, receive, send):
        if scope["method"] == "POST" and await asking(scope, receive, send):
            return
        page = rest
        if scope["path"] not in HEALTH:
            try:
                identify_caller(service.door, scope, dict(scope["headers"]))
            except Fault as fault:
                page = await _answer_fault(None, fault)
        await page(scope, receive, send)

    return app


class Pages:
    """What each address answers.

    Args:
        service: `serving.server.service.Service`.
        version: the version of seqzoo.
    """

    def __init__(self, service, version):
        self.service, self.version = service, version

    def routes(self):
        """Where each page is."""
        pages = {
            "/": self.server,
            "/metrics": self.metrics,
            "/v2": self.server,
            "/v2/health/live": self.live,
            "/v2/health/ready": self.ready,
            "/v2/models": self.models,
            "/v1/models": self.models,
        }
        for at in ("{name}", "{name}/versions/{version}"):
            pages |= {
                f"/v2/models/{at}/infer": self.questions,  # a POST never comes here
                f"/v1/models/{at}:predict": self.questions,
                f"/v2/models/{at}/ready": self.model_ready,
                f"/v2/models/{at}": self.model,
                f"/v1/models/{at}/metadata": self.signatures,
                f"/v1/models/{at}": self.status,
            }
        return [Route(path, page, methods=["GET"]) for path, page in pages.items()]

    async def questions(self, request):
        raise HTTPException(405)

    async def server(self, request):
        return _respond({"name": "seqzoo", "version": self.version, "extensions": v2.EXTENSIONS})

    async def live(self, request):
        return _respond({"live": True})

    async def ready(self, request):
        return _respond({"ready": self.service.ready}, 200 if self.service.ready else 503)

    async def models(self, request):
        return _respond({"models": sorted(self.service.models.current)})

    async def metrics(self, request):
        return Response(self.service.metrics.expose(), media_type=CONTENT_TYPE_LATEST)

    async def model(self, request):
        return _respond(v2.metadata(request.path_params["name"], self._find_version(request)))

    async def model_ready(self, request):
        self._find_version(request)
        ready = self.service.ready
        return _respond({"name": request.path_params["name"], "ready": ready}, 200 if ready else 503)

    async def status(self, request):
        return _respond(tf_rest.status(self._find_version(request)))

    async def signatures(self, request):
        return _respond(tf_rest.metadata(request.path_params["name"], self._find_version(request)))

    def _find_version(self, request):
        return self.service.models.find(request.path_params["name"], request.path_params.get("version"))


def _respond(value, status=200):
    return Response(orjson.dumps(value), status, media_type=JSON)


async def _answer_fault(request, fault):
    status, headers, content = refusal(fault)
    return Response(content, status, headers, JSON)


async def _answer_missing(request, error):
    path, method, headers = describe(request.url.path), request.method, dict(error.headers or {})
    if error.status_code == 405 and PATH.fullmatch(request.url.path):
        headers["Allow"] = "POST"
    others = f", but {headers['Allow']}" if headers.get("Allow") else ""
    missing = error.status_code == 404
    sentence = f"there is nothing at {path}." if missing else f"{path} does not answer {method[:20]}{others}."
    return Response(orjson.dumps({"error": sentence}), error.status_code, headers, JSON)
