"""Where hubs are: the addresses of SEQZOO_HUB, or those of this installation.

An address is a folder, file://FOLDER, http://URL, https://URL, or hf://OWNER/REPO[@REVISION][/FOLDER]. Several are
separated by commas, because a folder may have spaces in its name and a URL has colons; a folder with a comma is written
as file:// with %2C.
"""

import logging
import os
import time
from importlib import resources
from pathlib import Path

from zoo.hub import cache
from zoo.hub.checker import Mismatch
from zoo.hub.download import patiently
from zoo.hub.errors import HubError, Unreachable
from zoo.hub.folder import Folder
from zoo.hub.index import INDEX, MOST_BYTES, checked, parse
from zoo.hub.packaged import packaged

log = logging.getLogger("seqzoo.hub")
FRESH = 600  # seconds for which the index of a hub on the network is not asked for again


def place(address):
    """The hub at an address.

    Raises:
        ValueError: it is no address of a kind that is known.
    """
    kind, mark, rest = address.partition("://")
    if not mark:
        return Folder(Path(address).expanduser())
    if kind in ("http", "https") and rest.strip("/"):
        from zoo.hub.web import Web  # the modules of the network are imported where there is one to use

        return Web(address)
    if kind == "hf":
        from zoo.hub.huggingface import HuggingFace

        return HuggingFace(address)
    if kind == "file" and rest.startswith("/"):
        from urllib.request import url2pathname

        return Folder(url2pathname(rest), address)
    raise ValueError(
        f"{address!r} is not the address of a hub: expected a folder, file:///FOLDER, http://URL, https://URL or "
        "hf://OWNER/REPO. SEQZOO_HUB holds addresses, separated by commas."
    )


def places():
    """The hubs in which names are looked up, in order.

    These are the addresses of SEQZOO_HUB, and behind them models that were installed as packages of their own. Without
    SEQZOO_HUB: the `hub` folder of a checkout, the models that came with this package, those of other packages, and the
    address that was recorded when this package was built.

    Raises:
        ValueError: SEQZOO_HUB holds something that is no address.
    """
    given = [address.strip() for address in os.environ.get("SEQZOO_HUB", "").split(",")]
    installed = [Folder(path, own=True) for path in packaged()]
    if any(given):
        return [place(address) for address in given if address] + installed
    own = [Path(__file__).parents[2] / "hub", Path(__file__).parent / "bundled"]
    found = [Folder(path, own=True) for path in own if (path / INDEX).is_file()]
    address = recorded()
    return found + installed + ([place(address)] if address else [])


def recorded():
    """The address that was recorded when this package was built; "" in a checkout."""
    return resources.files("zoo.hub").joinpath("address.txt").read_text(encoding="utf-8").strip()


def is_offline(offline=None):
    """Whether the network may not be used: what the caller says, or else SEQZOO_OFFLINE."""
    return os.environ.get("SEQZOO_OFFLINE", "") not in ("", "0") if offline is None else offline


def read_index(hub, offline=False, fresh=FRESH):
    """The entries of a hub. The last index of a hub on the network is kept and serves again.

    Args:
        hub: one of `places()`.
        offline: do not use the network, however old the kept index is.
        fresh: seconds for which a kept index counts as new.

    Raises:
        Unreachable: the hub cannot be reached, or may not be, and no index of it was kept.
        HubError: it has no index, or one that does not hold.
    """
    if not hub.remote:
        return _read(hub)["models"]
    kept, read = _kept(hub)
    if kept is None and hub.address == recorded():
        kept, read = _packaged()
    if kept is not None and (offline or abs(time.time() - read) < fresh):
        return kept["models"]
    if offline:
        fault = cache.unreadable(cache.index_file(hub.address))
        why = f"the index of it that was kept, {fault}" if fault else "no index of it was kept"
        raise Unreachable(f"{hub.address} is not asked, because this process is offline, and {why}")
    with cache.one_at_a_time(cache.index_file(hub.address).stem):
        newer, when = _kept(hub)
        if newer is not None and when > read:  # another process has read it meanwhile
            return newer["models"]
        try:
            index = patiently(lambda: _read(hub), attempts=3 if kept is None else 1)
        except HubError as error:
            if kept is None:
                raise
            day = time.strftime("%Y-%m-%d %H:%M", time.localtime(read))
            log.warning("%s does not answer; its index of %s is used. %s", hub.address, day, error)
            return kept["models"]
        known = {"address": hub.address, "read": time.time(), "index": index}
        try:
            cache.write_json(cache.index_file(hub.address), known)
        except OSError:
            log.info("the index of %s is not kept, because the cache cannot be written", hub.address)
        return index["models"]


def _read(hub):
    content = hub.read(INDEX, MOST_BYTES)
    try:
        return parse(content)
    except Mismatch as error:
        raise HubError(f"{hub.address}/{INDEX} is not the index of a hub: {error}.") from error


def _kept(hub):
    """`(index, seconds since 1970)` of the last index of a hub; `(None, 0)` if there is none."""
    known = cache.read_json(cache.index_file(hub.address))
    try:
        return checked(known["index"]), float(known["read"])
    except (TypeError, KeyError, ValueError):
        return None, 0.0


def _packaged():
    """As `_kept`, of the index that came with this package: the hub's on the day of the build, and so never fresh."""
    path = Path(__file__).parent / "snapshot.json"
    return (parse(path.read_bytes()), path.stat().st_mtime - FRESH) if path.is_file() else (None, 0.0)
