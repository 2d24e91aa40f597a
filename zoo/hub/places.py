"""Where hubs are: the addresses of SEQZOO_HUB, or those of this installation.

An address is a folder, https://URL, or hf://OWNER/REPO[@REVISION][/FOLDER]. Several are separated by commas, because a
folder may have spaces in its name and a URL has colons. A server of this machine may be http://, so that one can be
tried before it has a certificate.
"""

import importlib.util
import logging
import os
import re
import time
from importlib import metadata, resources
from pathlib import Path

from zoo.core.documents import Mismatch
from zoo.core.later import later
from zoo.hub import cache, trust
from zoo.hub.base import Folder, HubError, Unreachable, Untrusted
from zoo.hub.download import retry
from zoo.hub.index import INDEX, MOST_BYTES, check_index, parse

web = later("zoo.hub.web")  # the modules of the network are imported where there is one to use

GROUP, HUB = "seqzoo_models", "SEQZOO_HUB"  # of entry points; the variable of the environment with addresses
log = logging.getLogger("seqzoo.hub")
SNAPSHOT = Path(__file__).parent / "snapshot.json"  # the index of the hub beside which a wheel was built
LOCAL = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/.*)?")  # a server of this machine
FRESH = 600  # seconds for which the index of a hub on the network is not asked for again


def place(address):
    """The hub at an address.

    Raises:
        ValueError: it is no address of a known kind.
    """
    kind, mark, rest = address.partition("://")
    if not mark:
        return Folder(Path(os.path.expanduser(address)))  # without a home folder ~ stays ~, and is not there
    if kind == "https" and rest.strip("/") or kind == "http" and LOCAL.fullmatch(rest):
        return web.Web(address)
    if kind == "hf":
        return web.HuggingFace(address)
    raise ValueError(
        f"{address!r} is not the address of a hub: expected a folder, https://URL (http:// of a server of this machine "
        "alone) or hf://OWNER/REPO. SEQZOO_HUB holds addresses, separated by commas."
    )


def places():
    """The hubs in which names are looked up, in order.

    These are the addresses of SEQZOO_HUB, and behind them models that were installed as packages of their own. Without
    SEQZOO_HUB: the `hub` folder of a checkout, the models that came with this package, those of other packages, and the
    address that was recorded when this package was built.

    Raises:
        ValueError: SEQZOO_HUB holds something that is no address.
    """
    installed = [Folder(path, own=True) for path in installed_hubs()]
    if addresses := trust.listed(HUB):
        return [*map(place, addresses), *installed]
    own = [Path(__file__).parents[2] / "hub", Path(__file__).parent / "bundled"]
    folders = [Folder(path, own=True) for path in own if (path / INDEX).is_file()]
    address = recorded_address()
    return folders + installed + ([place(address)] if address else [])


def recorded_address():
    """The address that was recorded when this package was built; "" in a checkout."""
    return resources.files("zoo.hub").joinpath("address.txt").read_text(encoding="utf-8").strip()


def unlocated_models():
    """The names of the models of the hub beside which this package was built, if the address of that hub is unknown."""
    if trust.listed(HUB) or recorded_address() or not SNAPSHOT.is_file():
        return []
    return sorted({each["name"] for each in parse(SNAPSHOT.read_bytes())["models"] if each["withdrawn"] is None})


def is_offline(offline=None):
    """Whether the network may not be used: what the caller says, or else SEQZOO_OFFLINE."""
    return os.environ.get("SEQZOO_OFFLINE", "") not in ("", "0") if offline is None else offline


def read_entries(hub, offline=False, fresh=FRESH):
    """The entries in the index of a hub; arguments and errors are those of `read_index`."""
    return read_index(hub, offline, fresh)["models"]


def read_index(hub, offline=False, fresh=FRESH):
    """The index of a hub. The last one of a hub on the network is cached and used again.

    Args:
        hub: one of `places()`.
        offline: do not use the network, however old the cached index is.
        fresh: seconds for which a cached index counts as new.

    Raises:
        Unreachable: the hub cannot be reached, or may not be, and no index of it is cached.
        Untrusted: SEQZOO_HUB_KEYS asks for a signature, and it has no valid one (`zoo.hub.trust`).
        HubError: it has no index, or an invalid one.
    """
    if not hub.remote:
        return _request_index(hub)
    cached, read_at, missing = _read_cached(hub)
    if cached is None and hub.address == recorded_address():
        cached, read_at = _read_snapshot(hub)
    if cached is not None and (offline or abs(time.time() - read_at) < fresh):
        return cached
    if offline:
        raise Unreachable(f"{hub.address} is not asked, because this process is offline, and {missing}")
    with cache.one_at_a_time(cache.index_file(hub.address).stem):
        newest, newest_read_at, _ = _read_cached(hub)
        if newest is not None and newest_read_at > read_at:  # another process has read it meanwhile
            return newest
        try:
            index = retry(lambda: _request_index(hub), attempts=3 if cached is None else 1)
        except HubError as error:
            if cached is None or isinstance(error, Untrusted):
                raise
            day = time.strftime("%Y-%m-%d %H:%M", time.localtime(read_at))
            log.warning("%s does not answer; its index of %s is used. %s", hub.address, day, error)
            return cached
        record = {"address": hub.address, "read": time.time(), "index": index}
        try:
            cache.write_json(cache.index_file(hub.address), record)
        except OSError:
            log.info("the index of %s is not kept, because the cache cannot be written", hub.address)
        return index


def _request_index(hub):
    content = hub.read(INDEX, MOST_BYTES)
    try:
        index = parse(content)
    except Mismatch as error:
        raise HubError(f"{hub.address}/{INDEX} is not the index of a hub: {error}.") from error
    trust.check(hub, index)
    return index


def _read_cached(hub):
    """`(index, seconds since 1970, "")` of the cached index of a hub; `(None, 0, why there is none)`."""
    path = cache.index_file(hub.address)
    record = cache.read_json(path)
    try:
        index, read_at = check_index(record["index"]), float(record["read"])
        trust.check(hub, index)
        return index, read_at, ""
    except Untrusted as error:
        return None, 0.0, str(error)
    except (TypeError, KeyError, ValueError):
        fault = cache.read_fault(path)
        return None, 0.0, f"the index of it that was kept, {fault}" if fault else "no index of it was kept"


def _read_snapshot(hub):
    """`(index, seconds since 1970)` of the index that came with this package, the hub's on the day of the build; it is
    never fresh. `(None, 0)` where there is none."""
    if not SNAPSHOT.is_file():
        return None, 0.0
    index = parse(SNAPSHOT.read_bytes())
    try:
        trust.check(hub, index)
    except Untrusted:
        return None, 0.0
    return index, SNAPSHOT.stat().st_mtime - FRESH


def installed_hubs():
    """The folders of the hubs that pip has installed, by the names of their models (`seqzoo hub package`).

    A package is found by its entry point without being imported: nothing of it is executed.
    """
    modules = {point.name: point.value for point in metadata.entry_points(group=GROUP)}
    folders = [folder for _, module in sorted(modules.items()) for folder in _folders(module)]
    return [folder for folder in dict.fromkeys(folders) if (folder / INDEX).is_file()]


def _folders(module):
    if not module.isidentifier():  # to look for a.b would import a
        return []
    spec = importlib.util.find_spec(module)
    places = spec.submodule_search_locations if spec else None
    return [Path(place) / "hub" for place in places or ()]
