"""`grpc.health.v1`: what Kubernetes, Envoy and others ask a port of gRPC.

https://github.com/grpc/grpc/blob/master/doc/health-checking.md. The server as a whole has the name "" and that of its
protocol; each model has its own.
"""

import asyncio

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from serving.server.faults import Fault

SERVICE = "grpc.health.v1.Health"
SERVING, NOT_SERVING, UNKNOWN = 1, 2, 3
LOOK_SECONDS, WATCHERS = 0.5, 64  # between two looks of a watch, and the most watches at once


def _messages():
    """`(HealthCheckRequest, HealthCheckResponse)`, whose enumeration of states is a number on the wire."""
    made = descriptor_pb2.FileDescriptorProto(name="health.proto", package="grpc.health.v1", syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto.TYPE_STRING, descriptor_pb2.FieldDescriptorProto.TYPE_INT32
    for name, field, kind in zip(
        ("HealthCheckRequest", "HealthCheckResponse"), ("service", "status"), kinds, strict=True
    ):
        made.message_type.add(name=name).field.add(name=field, number=1, type=kind, label=1)
    pool = descriptor_pool.DescriptorPool()  # one of its own: another library may have the same names
    pool.Add(made)
    return [
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"grpc.health.v1.{each.name}"))
        for each in made.message_type
    ]


Request, Response = _messages()


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
            told = None
            while True:
                if (status := self.status(request.service)) != told:
                    told = status
                    yield Response(status=status)
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            self.watchers -= 1

    def handlers(self, answered):
        """The handlers of both methods; `answered` is a function that makes a handler of unary calls."""
        watch = grpc.unary_stream_rpc_method_handler(
            self.watch, request_deserializer=Request.FromString, response_serializer=Response.SerializeToString
        )
        return grpc.method_handlers_generic_handler(SERVICE, {"Check": answered(self.check, Request), "Watch": watch})
