"""The HTTP port: an ASGI application that never waits for a caller longer than is allowed.

Requests for answers come in `serving.server.asking`, without a framework between the port and the queue; everything
else, which is rare, is Starlette's.
"""

import orjson
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from serving.server import tf_rest, v2
from serving.server.asking import JSON, PATH, Asking, identify_caller, refusal
from serving.server.faults import Fault
from serving.server.tensors import describe

HEALTH = ("/v2/health/live", "/v2/health/ready")  # which nobody needs a key for


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
