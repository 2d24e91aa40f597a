"""Whose indexes are used: with SEQZOO_HUB_KEYS, what the owner of one of these public keys signed, and signed last.

The index of a hub says which version is the newest, which were withdrawn, and the SHA-256 of every file. So its
signature is over all that the hub has, and its date and days are part of it. In the words of The Update Framework:

    mix-and-match   an entry, a version or a file stands in another place: the signature does not hold
    roll-back       an index that is older than the last one that was seen here, say from before a withdrawal
    freeze          the same index for ever: it is refused when the days are over for which it was signed

The hubs of the installation itself came with the program, and are trusted as it is. `serving.hub.signing` signs.
"""

import base64
import datetime
import hashlib
import json
import logging
import os
from pathlib import Path

from zoo.hub import cache
from zoo.hub.errors import Untrusted

log = logging.getLogger("seqzoo.hub")
KEYS = "SEQZOO_HUB_KEYS"
CONTEXT = b"seqzoo hub index\n"  # before what is signed, so that it is the signature of nothing else
AHEAD = datetime.timedelta(days=1)  # that clocks may differ
MEND = "Do not use this hub until you know why; ask its owner."


def keys():
    """The files of the public keys that are trusted; with none of them no index needs a signature."""
    given = (each.strip() for each in os.environ.get(KEYS, "").split(","))
    return [Path(os.path.expanduser(each)) for each in given if each]  # without a home folder ~ stays ~


def content(index):
    """The bytes that are signed: the index with date and days, in one form, whatever its file looks like."""
    signed = {name: value for name, value in index["signed"].items() if name != "signature"}
    text = json.dumps({**index, "signed": signed}, sort_keys=True, separators=(",", ":"))
    return CONTEXT + text.encode()


def check(hub, index, trusted=None):
    """Refuse an index that no trusted key signed, that is older than one that was seen before, or whose days are over.

    Args:
        hub: the hub that gave it.
        index: it, checked against its schema.
        trusted: files of public keys; by default those of `keys`, which the hubs of the installation do not need.

    Raises:
        Untrusted: the message says what is wrong with it.
        ImportError: the library that checks signatures is not installed.
    """
    trusted = ([] if hub.own else keys()) if trusted is None else trusted
    if not trusted:
        return
    where = f"the index of {hub.address}"
    if "signed" not in index:
        raise Untrusted(f"{where} is not signed; expected the signature of {_named(trusted)}. {MEND}")
    if not any(_holds(key, index) for key in trusted):
        raise Untrusted(
            f"{where} was changed since it was signed, or another key signed it; expected the signature of "
            f"{_named(trusted)}. {MEND}"
        )
    date, end = dates(index)
    now = datetime.datetime.now(datetime.UTC)
    if now > end:
        raise Untrusted(
            f"{where} was signed on {date:%Y-%m-%d} for {index['signed']['days']} days, which are over: versions may "
            "have been withdrawn since (a freeze). Its owner signs it again with `seqzoo hub sign`."
        )
    if date > now + AHEAD:
        raise Untrusted(f"{where} was signed on {date:%Y-%m-%d}, which is still to come. Compare the clocks.")
    _remember(hub, where, index["signed"]["date"])


def dates(index):
    """(when a signed index was signed, until when it counts)."""
    date = datetime.datetime.fromisoformat(index["signed"]["date"])
    return date, date + datetime.timedelta(days=index["signed"]["days"])  # the schema bounds both


def _named(trusted):
    return " or ".join(map(str, trusted))


def _remember(hub, where, date):
    """Keep the date of the newest index of a hub, and refuse an older one."""
    path = cache.root() / "seen" / f"{hashlib.sha256(hub.address.encode()).hexdigest()[:16]}.json"
    seen = (cache.read_json(path) or {}).get("date")
    if fault := cache.unreadable(path):
        log.warning("whether the index is older than the last one is not known: %s", fault)
    if isinstance(seen, str) and date < seen:  # both in UTC and of one form, so texts are in the order of time
        raise Untrusted(
            f"{where} was signed on {date}, and one that was signed on {seen} has been seen here: an older one may "
            f"bring back what was withdrawn (a roll-back). {MEND} Where this is right, remove {path}."
        )
    if date != seen:
        try:
            cache.write_json(path, {"address": hub.address, "date": date})
        except OSError:
            log.warning("the cache cannot be written, so an older index of %s would not be noticed", hub.address)


def _holds(key, index):
    """Whether the signature is that of this key.

    Raises:
        Untrusted: the file holds no public key on an elliptic curve.
    """
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as error:
        needed = f"{KEYS} asks for signatures, which need: pip install 'seqzoo[sign]' ({error})."
        raise ImportError(needed, name="cryptography") from error
    try:
        public = serialization.load_pem_public_key(Path(key).read_bytes())
        if not isinstance(public, ec.EllipticCurvePublicKey):
            raise ValueError("it is not one on an elliptic curve")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise Untrusted(f"{key} cannot be used as a public key in PEM form: {why}. {KEYS} names such files.") from error
    try:
        signature = base64.b64decode(index["signed"]["signature"], validate=True)
        public.verify(signature, content(index), ec.ECDSA(hashes.SHA256()))
    except (InvalidSignature, ValueError):
        return False
    return True
