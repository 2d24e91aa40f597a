"""The address of a server, whose scheme says the protocol."""

from dataclasses import dataclass
from urllib.parse import urlsplit

SCHEMES = {  # scheme -> protocol, transport, whether it is encrypted, port
    "http": ("v2", "http", False, 8080),
    "https": ("v2", "http", True, 443),
    "grpc": ("v2", "grpc", False, 8081),
    "grpcs": ("v2", "grpc", True, 443),
    "tfs+http": ("tfs", "http", False, 8501),
    "tfs+https": ("tfs", "http", True, 443),
    "tfs+grpc": ("tfs", "grpc", False, 8500),
    "tfs+grpcs": ("tfs", "grpc", True, 443),
}


@dataclass(frozen=True)
class Address:
    """Where a server is, and what it speaks.

    Args:
        protocol: "v2", the Open Inference Protocol, or "tfs", that of TensorFlow Serving.
        transport: "http" or "grpc".
        secure: whether the connection is encrypted.
        host: a name or an address, without brackets.
        port: its port.
        path: what comes before the protocol's own paths, without a slash at its end; only of HTTP.
    """

    protocol: str
    transport: str
    secure: bool
    host: str
    port: int
    path: str

    @property
    def authority(self):
        """`host:port`, as both transports write it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(url):
    """The `Address` in a URL.

    >>> from serving.client.addresses import parse_address
    >>> parse_address("tfs+grpc://models.example").authority
    'models.example:8500'

    Raises:
        ValueError: it holds none.
    """
    expected = f"Expected SCHEME://HOST:PORT with one of the schemes {', '.join(SCHEMES)}"
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"{url!r} is not the address of a server: {error}. {expected}.") from None
    if parts.scheme not in SCHEMES or not host or " " in host or not host.isprintable():
        raise ValueError(f"{url!r} is not the address of a server. {expected}, such as http://127.0.0.1:8080.")
    protocol, transport, secure, usual = SCHEMES[parts.scheme]
    path = parts.path.rstrip("/")
    if parts.query or parts.fragment or parts.username is not None or path and transport == "grpc":
        raise ValueError(
            f"{url!r} has more than an address: leave out the user, the query, the fragment, and over gRPC the path. "
            "A secret belongs into a header."
        )
    return Address(protocol, transport, secure, host, usual if port is None else port, path)
