"""The gRPC port: `inference.GRPCInferenceService` of the Open Inference Protocol v2, and `grpc.health.v1`.

Messages are parsed here and not by grpc, which would answer a malformed one with INTERNAL and no sentence. That of
ModelInfer is also read here, when there is room for its call: grpc's own bounds end calls beyond them with CANCELLED.
"""

import asyncio
import contextlib
import functools
from collections import Counter
from urllib.parse import unquote

import grpc
from grpc import aio

from serving.messages import classes
from serving.server import messages, v2
from serving.server.bodies import Parameters
from serving.server.faults import AGAIN, Fault, invalid
from serving.server.messages import pb

SERVICE = "inference.GRPCInferenceService"
MOST = 0.75  # the part of all calls that one caller may have
PENDING = 1 << 16  # calls that have come, and learn a moment later whether there is room for them
WAITING = 24 * 60 * 60  # seconds until such a call is cancelled; its own deadline comes first
FRAME = 1 << 16  # bytes beside the texts of a request
HEALTH = "grpc.health.v1.Health"
SERVING, NOT_SERVING, UNKNOWN = 1, 2, 3
LOOK_SECONDS, WATCHERS = 0.5, 64  # between two looks of a watch of health, and the most watches at once
HealthRequest, HealthResponse = classes("health").values()


def make_server(service, version):
    """An `aio.Server` that has no port yet."""
    limits = service.limits
    server = aio.server(
        options=[
            # Beyond these bounds, grpc cancels calls without a word; without the last one, after 30 s of waiting.
            ("grpc.server.max_pending_requests", PENDING),
            ("grpc.server.max_pending_requests_hard_limit", PENDING),
            ("grpc.server_max_unrequested_time_in_server", WAITING),
            ("grpc.max_receive_message_length", limits.bytes + FRAME),
            ("grpc.max_send_message_length", -1),
            ("grpc.so_reuseport", 0),  # a port that is taken is an error
        ],
    )
    calls, health = Calls(service, version), Health(service, ("", SERVICE))
    methods = {
        "ServerLive": _make_handler(calls.live, pb.ServerLiveRequest),
        "ServerReady": _make_handler(calls.ready, pb.ServerReadyRequest),
        "ModelReady": _make_handler(calls.model_ready, pb.ModelReadyRequest),
        "ServerMetadata": _make_handler(calls.server, pb.ServerMetadataRequest),
        "ModelMetadata": _make_handler(calls.model, pb.ModelMetadataRequest),
    }
    infer = functools.partial(_answer, calls.read_and_infer, None)
    methods["ModelInfer"] = grpc.stream_unary_rpc_method_handler(infer)
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(SERVICE, methods), health.handlers(_make_handler))
    )
    return server


def _make_handler(call, kind):
    return grpc.unary_unary_rpc_method_handler(functools.partial(_answer, call, kind))


class Calls:
    """What each method answers.

    Args:
        service: `serving.server.service.Service`.
        version: the version of seqzoo.
    """

    def __init__(self, service, version):
        self.service, self.version = service, version
        self.open = Counter()  # caller -> its calls for answers

    async def live(self, request, context):
        return pb.ServerLiveResponse(live=True)

    async def ready(self, request, context):
        return pb.ServerReadyResponse(ready=self.service.ready)

    async def model_ready(self, request, context):
        self.identify(context)
        self.service.models.find(request.name, request.version)
        return pb.ModelReadyResponse(ready=self.service.ready)

    async def server(self, request, context):
        self.identify(context)
        return pb.ServerMetadataResponse(name="seqzoo", version=self.version, extensions=[])

    async def model(self, request, context):
        self.identify(context)
        served = self.service.models.find(request.name, request.version)
        said = v2.metadata(request.name, served)
        said.pop("parameters", None)
        return pb.ModelMetadataResponse(**said)

    async def read_and_infer(self, stream, context):
        """Answer the one message of a call, which is read if there is room for it."""
        with self.service.counting("v2-grpc") as count:
            count.caller = self.identify(context)
            with self._room(count.caller):
                async for content in stream:
                    return await self._infer(count, content, context)
            raise invalid("the call has no message.")

    def identify(self, context):
        """The name of the caller.

        Raises:
            Fault: a key is required, and the call has none that the server knows.
        """
        metadata = context.invocation_metadata() or ()
        forwarded = ",".join(value for name, value in metadata if name == "x-forwarded-for")
        return self.service.door.identify(address(context), dict(metadata).get("authorization"), forwarded)

    @contextlib.contextmanager
    def _room(self, caller):
        most = self.service.limits.connections
        if self.open.total() >= most or self.open[caller] >= MOST * most:
            raise Fault("busy", "as many calls are under way as this server takes. Try again in a second.")
        self.open[caller] += 1
        try:
            yield
        finally:
            self.open[caller] -= 1
            if not self.open[caller]:
                del self.open[caller]

    async def _infer(self, count, content, context):
        do = self.service.desk.do
        with self.service.holding() as hold:
            hold(len(content))
            count.size = len(content)
            request = await do(count, messages.parse_message, pb.ModelInferRequest, content)
            v2.check_id(request.id)

            def read_request(served):
                parameters = Parameters(messages.parameters(request))
                signature = parameters.take("signature", str)
                tensors = messages.tensors(request, self.service.limits.texts)
                return signature, tensors, parameters.values, [each.name for each in request.outputs]

            within = context.time_remaining()
            answer = await self.service.infer(count, request.model_name, request.model_version, read_request, within)
            return await do(count, messages.response, request, answer)


def address(context):
    """The address of a caller, without its port, such as "127.0.0.1"."""
    kind, _, rest = unquote(context.peer()).partition(":")
    return rest.rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else rest


async def _answer(call, kind, content, context):
    """The bytes of an answer to the bytes of a message; a fault becomes a status with its sentence."""
    try:
        request = content if kind is None else messages.parse_message(kind, content)
        return (await call(request, context)).SerializeToString()
    except Fault as fault:
        if fault.kind in AGAIN:
            context.set_trailing_metadata((("retry-after", str(fault.wait)),))
        status, sentence = grpc.StatusCode[fault.grpc], fault.sentence
    await context.abort(status, sentence)


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
        return HealthResponse(status=status)

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
                    yield HealthResponse(status=status)
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            self.watchers -= 1

    def handlers(self, make_handler):
        """The handlers of both methods; `make_handler` is a function that makes a handler of unary calls."""
        watch = grpc.unary_stream_rpc_method_handler(
            self.watch,
            request_deserializer=HealthRequest.FromString,
            response_serializer=HealthResponse.SerializeToString,
        )
        return grpc.method_handlers_generic_handler(
            HEALTH, {"Check": make_handler(self.check, HealthRequest), "Watch": watch}
        )
