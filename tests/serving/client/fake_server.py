"""A server of both protocols over both transports, which answers with a `Fake` and fails as that is told to.

The HTTP side is written from the protocols' pages with the standard library; the gRPC side parses and writes its
messages with the classes that it is given, in the slow tests those of kserve and of TensorFlow Serving.
"""

import json
import re
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc

from tests.serving.client.fake_model import TYPES, flat


def handler(fake):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            found = re.fullmatch(r"/v([12])/models/([^/:]+)(?:/(?:versions|labels)/([^/:]+))?(/metadata)?", self.path)
            if not found or found[2] not in fake.runtimes or found[3] == "9":
                return self._send(404, {"error": f"there is no {self.path}"})
            inputs, outputs = fake.describe(found[2])
            if found[1] == "2":
                labels = fake.runtimes[found[2]].manifest.get("labels")
                body = {
                    side: [{"name": name} for name in names]
                    for side, names in (("inputs", inputs), ("outputs", outputs))
                }
                body |= {"name": found[2], "versions": ["1"], "parameters": {"labels": labels} if labels else {}}
            else:
                signature = {"inputs": dict.fromkeys(inputs, {}), "outputs": dict.fromkeys(outputs, {})}
                body = {
                    "model_spec": {"version": "1"},
                    "metadata": {"signature_def": {"signature_def": {"serving_default": signature}}},
                }
            self._send(200, body)

        def do_POST(self):
            content = self.rfile.read(int(self.headers["Content-Length"]))
            fault = fake.next_fault()
            if callable(fault):
                return fault(self)
            if fault:
                return self._send(fault, {"error": f"as told: {fault}"})
            body = json.loads(content)
            found = re.fullmatch(
                r"/v([12])/models/([^/:]+)(?:/(?:versions|labels)/([^/:]+))?(?:/infer|:predict)", self.path
            )
            try:
                if found[1] == "2":
                    inputs = {each["name"]: each["data"] for each in body["inputs"]}
                    columns = fake.columns(found[2], inputs, body.get("parameters", {}))
                    outputs = []
                    for name, rows in columns.items():
                        values, shape = flat(rows)
                        kind = TYPES[type(values[0])][0] if values else "BYTES"
                        outputs.append({"name": name, "datatype": kind, "shape": shape, "data": values})
                    return self._send(200, {"model_name": found[2], "outputs": outputs})
                return self._send(200, {"outputs": fake.columns(found[2], body["inputs"], {}, served=False)})
            except ValueError as error:
                self._send(400, {"error": str(error)})

        def _send(self, status, body, headers=()):
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    return Handler


class Protos:
    """The classes of the messages of both protocols: ours, or in the slow tests the real ones."""

    def __init__(self):
        from serving.messages import classes

        v2, tfs = classes("v2"), classes("tfs")
        self.infer, self.inferred = v2["ModelInferRequest"], v2["ModelInferResponse"]
        self.model, self.described = v2["ModelMetadataRequest"], v2["ModelMetadataResponse"]
        self.predict, self.predicted = tfs["PredictRequest"], tfs["PredictResponse"]
        self.metadata, self.metadata_found = tfs["GetModelMetadataRequest"], tfs["GetModelMetadataResponse"]
        self.signatures = tfs["SignatureDefMap"]


class Calls:
    """The methods of both services."""

    def __init__(self, fake, protos):
        self.fake, self.protos = fake, protos

    def _known(self, name, version, context):
        if name not in self.fake.runtimes or version == "9":
            context.abort(grpc.StatusCode.NOT_FOUND, f"there is no {name} {version}")

    def _fail(self, context):
        fault = self.fake.next_fault()
        if callable(fault):
            return fault(context)
        if fault:
            context.abort(getattr(grpc.StatusCode, fault), f"as told: {fault}")

    def model(self, request, context):
        self._known(request.name, request.version, context)
        inputs, outputs = self.fake.describe(request.name)
        found = self.protos.described(name=request.name, versions=["1"])
        for side, names in ((found.inputs, inputs), (found.outputs, outputs)):
            for name in names:
                side.add(name=name, datatype="BYTES", shape=[-1])
        return found

    def infer(self, request, context):
        self._known(request.model_name, request.model_version, context)
        self._fail(context)
        parameters = {
            name: getattr(value, value.WhichOneof(value.DESCRIPTOR.oneofs[0].name))
            for name, value in request.parameters.items()
        }
        inputs = {each.name: [text.decode() for text in each.contents.bytes_contents] for each in request.inputs}
        try:
            columns = self.fake.columns(request.model_name, inputs, parameters)
        except ValueError as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        found, raw = self.protos.inferred(model_name=request.model_name), request.id == "raw" or len(self.fake.seen) % 2
        for name, rows in columns.items():
            values, shape = flat(rows)
            datatype, field = TYPES[type(values[0])] if values else TYPES[str]
            output = found.outputs.add(name=name, datatype=datatype, shape=shape)
            values = [value.encode() for value in values] if datatype == "BYTES" else values
            if raw:  # every other answer is raw, as a server may choose
                found.raw_output_contents.append(
                    b"".join(struct.pack("<I", len(value)) + value for value in values)
                    if datatype == "BYTES"
                    else struct.pack(f"<{len(values)}{'f' if datatype == 'FP32' else 'i'}", *values)
                )
            else:
                getattr(output.contents, field).extend(values)
        return found

    def metadata(self, request, context):
        self._known(request.model_spec.name, str(request.model_spec.version.value), context)
        inputs, outputs = self.fake.describe(request.model_spec.name)
        table = self.protos.signatures()
        signature = table.signature_def["serving_default"]
        for side, names in ((signature.inputs, inputs), (signature.outputs, outputs)):
            for name in names:
                side[name].dtype = 7
        found = self.protos.metadata_found()
        found.model_spec.version.value = 1
        found.metadata["signature_def"].value = table.SerializeToString()
        return found

    def predict(self, request, context):
        self._known(request.model_spec.name, str(request.model_spec.version.value), context)
        self._fail(context)
        inputs = {name: [text.decode() for text in tensor.string_val] for name, tensor in request.inputs.items()}
        columns = self.fake.columns(request.model_spec.name, inputs, {}, served=False)
        found = self.protos.predicted()
        for name, rows in columns.items():
            values, shape = flat(rows)
            tensor = found.outputs[name]
            for size in shape:
                tensor.tensor_shape.dim.add(size=size)
            kind = type(values[0]) if values else str
            tensor.dtype = {str: 7, float: 1, int: 3}[kind]
            if kind is str:
                tensor.string_val.extend(value.encode() for value in values)
            elif len(self.fake.seen) % 2:  # as TensorFlow may write it
                tensor.tensor_content = struct.pack(f"<{len(values)}{'f' if kind is float else 'i'}", *values)
            else:
                (tensor.float_val if kind is float else tensor.int_val).extend(values)
        return found


class Servers:
    """Both servers, on free ports of the loopback, as a context."""

    def __init__(self, fake, protos=None):
        self.fake, protos = fake, protos or Protos()
        calls = Calls(fake, protos)
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler(fake))
        self._http.daemon_threads = True
        self._grpc = grpc.server(ThreadPoolExecutor(8), options=[("grpc.so_reuseport", 0)])
        for service, methods in (
            (
                "inference.GRPCInferenceService",
                {"ModelInfer": (calls.infer, protos.infer), "ModelMetadata": (calls.model, protos.model)},
            ),
            (
                "tensorflow.serving.PredictionService",
                {"Predict": (calls.predict, protos.predict), "GetModelMetadata": (calls.metadata, protos.metadata)},
            ),
        ):
            table = {
                name: grpc.unary_unary_rpc_method_handler(
                    call, kind.FromString, lambda answer: answer.SerializeToString()
                )
                for name, (call, kind) in methods.items()
            }
            self._grpc.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, table),))
        self.grpc_port = self._grpc.add_insecure_port("127.0.0.1:0")
        self.http_port = self._http.server_address[1]

    def url(self, scheme):
        return f"{scheme}://127.0.0.1:{self.http_port if 'http' in scheme else self.grpc_port}"

    def __enter__(self):
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        self._grpc.start()
        return self

    def __exit__(self, *error):
        self._http.shutdown()
        self._http.server_close()
        self._grpc.stop(None).wait(5)


def slowly(seconds):
    """A fault: nothing happens for so long."""

    def fault(*_):
        time.sleep(seconds)

    return fault
