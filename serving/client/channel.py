"""Requests over gRPC."""

from serving.client.errors import ClientError, code_error, retry_seconds

MOST_BYTES = 1 << 28  # of an answer
OPTIONS = [
    ("grpc.max_receive_message_length", MOST_BYTES),
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_retries", 0),  # `serving.client.patience` decides
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
]


class Channel:
    """The requests to one server. Any number of threads may use it.

    Args:
        address: `serving.client.addresses.Address`.
        headers: what is sent with each request, a dict.

    Raises:
        ImportError: grpcio is not installed.
    """

    def __init__(self, address, headers):
        import grpc

        self._grpc, self.where = grpc, f"grpc://{address.authority}"
        self._metadata = [(name.lower(), value) for name, value in headers.items()]
        if address.secure:
            self._channel = grpc.secure_channel(address.authority, grpc.ssl_channel_credentials(), OPTIONS)
        else:
            self._channel = grpc.insecure_channel(address.authority, OPTIONS)

    def call(self, method, request, answer, deadline, cancellation):
        """The message that the server answers.

        Args:
            method: "/package.Service/Method".
            request: a message.
            answer: the class of the answer.
            deadline, cancellation: see `serving.client.patience`.

        Raises:
            ClientError: see `serving.client.errors`.
        """
        deadline.check(self.where)
        ask = self._channel.unary_unary(
            method, request_serializer=type(request).SerializeToString, response_deserializer=answer.FromString
        )
        try:
            future = ask.future(request, timeout=deadline.left, metadata=self._metadata)
            with cancellation.on_cancel(future.cancel):
                return future.result()
        except (self._grpc.FutureCancelledError, self._grpc.RpcError) as error:
            if cancellation.cancelled.is_set() or not isinstance(error, self._grpc.Call):
                raise ClientError("the request was cancelled.") from error
            reason = code_error(error.code().name, self.where, error.details())
            reason.after = retry_seconds(dict(error.trailing_metadata() or ()).get("retry-after"))
            raise reason from error

    def close(self):
        """Close the connection."""
        self._channel.close()
