"""`grpc.health.v1`: what Kubernetes, Envoy and others ask a port of gRPC.

https://github.com/grpc/grpc/blob/master/doc/health-checking.md. The server as a whole has the name "" and that of its
protocol; each model has its own.
"""

import asyncio

import grpc

from serving.messages import classes
from serving.server.faults import Fault

SERVICE = "grpc.health.v1.Health"
SERVING, NOT_SERVING, UNKNOWN = 1, 2, 3
LOOK_SECONDS, WATCHERS = 0.5, 64  # between two looks of a watch, and the most watches at once
Request, Response = classes("health").values()


class Health:
    """What the methods answer.

    Args:
        service: `serving.server.service.Service`.
        names: what stands for the server as a whole.
    """

    def __init__(self, service, names):
        self.service, self.names, self.watchers = service, names, 0

    def status(self, name):
        """The state of the server or of a model; `UNKNOWN` if there is neither."""
        if name not in self.names and name not in self.service.models.current:
            return UNKNOWN
        return SERVING if self.service.ready else NOT_SERVING

    async def check(self, request, context):
        status = self.status(request.service)
        if status == UNKNOWN:
            raise Fault("not_found", f"there is no service and no model {request.service[:80]!r} here.")
        return Response(status=status)

    async def watch(self, request, context):
        """The state, and again whenever it is another one."""
        if self.watchers >= WATCHERS:
            await context.abort(grpc.StatusCode.UNAVAILABLE, f"{WATCHERS} watches are under way. Use Check.")
        self.watchers += 1
        try:
            last = None
            while True:
                if (status := self.status(request.service)) != last:
                    last = status
                    yield Response(status=status)
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            self.watchers -= 1

    def handlers(self, make_handler):
        """The handlers of both methods; `make_handler` is a function that makes a handler of unary calls."""
        watch = grpc.unary_stream_rpc_method_handler(
            self.watch, request_deserializer=Request.FromString, response_serializer=Response.SerializeToString
        )
        return grpc.method_handlers_generic_handler(
            SERVICE, {"Check": make_handler(self.check, Request), "Watch": watch}
        )
