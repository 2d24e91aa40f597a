"""Who comes: callers, by their keys or their addresses, and how many connections of HTTP each of them may have.

Callers must have keys if the operator has given any. Their address may be what a proxy passes on. Connections are
bounded for all together and for each address, with room for health and metrics beyond. A caller who is at its bound
takes the place of its own connection that has waited longest for a whole request: who opens connections and sends
nothing, or halves of requests, keeps nobody out, not even others at the same address.
"""

import hashlib
import hmac
import ipaddress
from collections import Counter
from pathlib import Path

import orjson

from serving.server.faults import Fault

LEAST = 16  # characters of a key
OPEN = ("/v2/health/live", "/v2/health/ready", "/metrics")  # what is answered beyond the bounds
RESERVE = 64  # connections beyond the bounds, so that one of these can be asked
FULL = orjson.dumps({"error": "as many connections are open as this server takes. Try again in a second."})
FIELDS = {"content-type": "application/json", "content-length": len(FULL), "retry-after": 1, "connection": "close"}
RAW = b"HTTP/1.1 503 Service Unavailable\r\n%s\r\n%s" % (
    "".join(f"{name}: {value}\r\n" for name, value in FIELDS.items()).encode(),
    FULL,
)


def read_keys(path):
    """`[(name, key)]` of a file with both in each line; empty lines and those that begin with # are left out.

    Raises:
        OSError: the file cannot be read.
        ValueError: a line is neither, or there is no key.
    """
    keys = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2 or len(words[1]) < LEAST or not words[1].isascii():
            raise ValueError(
                f"{path}, line {number}: expected the name of a caller and its key, of at least {LEAST} characters of "
                f"ASCII without spaces; received {len(words)} word{'s' * (len(words) != 1)}"
                f"{' and a key of ' + str(len(words[1])) if len(words) == 2 else ''}. `openssl rand -hex 24` makes one."
            )
        keys.append((words[0], words[1]))
    if not keys:
        raise ValueError(f"{path} has no key. Write a line with a name and a key for each caller.")
    return keys


class Door:
    """Distinguishes callers, and admits those who have a key.

    Args:
        keys: `[(name, key)]`; empty lets everybody in.
        proxies: addresses or networks whose header `X-Forwarded-For` names the caller.

    Raises:
        ValueError: a proxy is no address.
    """

    def __init__(self, keys=(), proxies=()):
        self._keys = [(name, _digest(key)) for name, key in keys]
        self._proxies = [_parse_network(each) for each in proxies]

    def identify(self, host, authorization=None, forwarded=None):
        """The name of the key that a caller has, or its address.

        Args:
            host: the address of the connection.
            authorization, forwarded: the values of the headers `Authorization` and `X-Forwarded-For`.

        Raises:
            Fault: a key is wanted, and this is none.
        """
        if self._keys:
            return self._find_owner(authorization)
        return network_of(self._find_address(host, forwarded))

    def is_proxy(self, host):
        """Whether other callers come from an address."""
        try:
            address = parse_address(host)
        except ValueError:
            return False
        return any(address in network for network in self._proxies)

    def _find_owner(self, authorization):
        scheme, _, key = (authorization or "").strip().partition(" ")
        digest, owner = _digest(key.strip()), None
        for name, expected in self._keys:  # all of them, so that the time reveals nothing
            if hmac.compare_digest(expected, digest):
                owner = name
        if owner is None or scheme.lower() != "bearer":
            raise Fault("unknown", "this server wants a key it knows: send the header Authorization: Bearer KEY.")
        return "key", owner

    def _find_address(self, host, forwarded):
        """The last address that no proxy of ours has; the caller itself may have written those before it."""
        for address in reversed((forwarded or "").split(",")):
            if not self.is_proxy(host):
                break
            host = address.strip() or host
        return host


def _parse_network(proxy):
    try:
        return ipaddress.ip_network(proxy, strict=False)
    except ValueError:
        raise ValueError(
            f"a proxy is named by its address or network, such as 10.0.0.7 or 10.0.0.0/24; received {proxy!r}."
        ) from None


def _digest(key):
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


async def refuse_full(scope, receive, send):
    """The ASGI application that answers callers who are beyond the bounds."""
    pairs = [(name.encode(), str(value).encode()) for name, value in FIELDS.items()]
    await send({"type": "http.response.start", "status": 503, "headers": pairs})
    await send({"type": "http.response.body", "body": FULL})


def network_of(host):
    """What counts as one address: that of IPv4, and the first half of that of IPv6, which one caller has as a whole.

    >>> from serving.server.door import network_of
    >>> network_of("192.0.2.7"), network_of("2001:db8::7"), network_of("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7')
    """
    try:
        address = parse_address(host)
    except ValueError:
        return host
    if address.version == 4:
        return str(address)
    return str(ipaddress.ip_network((int(address) >> 64 << 64, 64)))


def parse_address(host):
    """The address in a string; "::ffff:192.0.2.7", an IPv4 caller at a port of IPv6, becomes one of IPv4.

    Raises:
        ValueError: the string is no address.
    """
    address = ipaddress.ip_address(host)
    return (address.ipv4_mapped or address) if address.version == 6 else address


class Visitors:
    """The connections that are open.

    Args:
        most: of all addresses together.
        of_one: of one address.
        is_proxy: a function that says of an address whether it has no bound, because many callers come from it.
    """

    def __init__(self, most=900, of_one=256, is_proxy=lambda host: False):
        self.most, self.of_one, self.is_proxy = most, of_one, is_proxy
        self._homes = {}  # connection -> address
        self._counts = Counter()  # address -> connections
        self._idle = {}  # address -> {connection: None} of those without a whole request, the longest idle first

    def enter(self, connection, host):
        """Count a new connection. Returns whether it is beyond the bounds, or None if it is beyond the reserve, too."""
        home = self._homes[connection] = "proxies" if self.is_proxy(host) else network_of(host)
        self._counts[home] += 1
        if self._is_full(home):
            self._make_room(home)
        self.wait(connection)
        return self.is_beyond(connection)

    def is_beyond(self, connection):
        """Whether the bounds are exceeded where a connection comes from; None if the reserve is, too."""
        home = self._homes.get(connection)
        return None if self._is_full(home, RESERVE) else self._is_full(home)

    def leave(self, connection):
        """A connection is closed, or is going to be."""
        home = self._homes.pop(connection, None)
        if home is None:
            return
        self._remove(home, connection)
        self._counts[home] -= 1
        if not self._counts[home]:
            del self._counts[home]

    def wait(self, connection):
        """A connection waits for a request."""
        if connection in self._homes:
            self._idle.setdefault(self._homes[connection], {})[connection] = None

    def work(self, connection):
        """A whole request has come."""
        self._remove(self._homes.get(connection), connection)

    def _remove(self, home, connection):
        idle = self._idle.get(home, {})
        idle.pop(connection, None)
        if not idle:
            self._idle.pop(home, None)

    def _is_full(self, home, reserve=0):
        count = 0 if home == "proxies" else self._counts[home]
        return count > self.of_one + reserve or self._counts.total() > self.most + reserve

    def _make_room(self, home):
        """Close the connection that was idle for the longest, of this address, or of the one that has most."""
        if self._counts.total() > self.most:
            home = max(self._idle, key=lambda each: self._counts[each], default=home)
        idle = self._idle.get(home, {})
        # Connections that never asked anything go first.
        oldest = next((each for each in idle if each.cycle is None), next(iter(idle), None))
        if oldest is not None:
            self.leave(oldest)
            oldest.transport.abort()
