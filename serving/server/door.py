"""Who asks: the keys that callers must have, if the operator has given any, and the address that a proxy passes on."""

import hashlib
import hmac
import ipaddress
from pathlib import Path

from serving.server.faults import Fault
from serving.server.visitors import network_of, parse_address

LEAST = 16  # characters of a key


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
