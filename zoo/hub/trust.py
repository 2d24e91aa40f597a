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
from zoo.hub.base import Untrusted

log = logging.getLogger("seqzoo.hub")
KEYS = "SEQZOO_HUB_KEYS"
CONTEXT = b"seqzoo hub index\n"  # precedes the signed bytes, so that the signature fits nothing else
AHEAD = datetime.timedelta(days=1)  # by which clocks may differ
MEND = "Do not use this hub until you know why; ask its owner."


def keys():
    """The files of the trusted public keys; without any, no index needs a signature."""
    return [Path(os.path.expanduser(each)) for each in listed(KEYS)]  # without a home folder ~ stays ~


def listed(variable):
    """What a variable of the environment lists, separated by commas."""
    return [each.strip() for each in os.environ.get(variable, "").split(",") if each.strip()]


def content(index):
    """The bytes that are signed: the index with date and days, in one form, whatever its file looks like."""
    fields = {name: value for name, value in index["signed"].items() if name != "signature"}
    text = json.dumps({**index, "signed": fields}, sort_keys=True, separators=(",", ":"))
    return CONTEXT + text.encode()


def check(hub, index, trusted=None):
    """Refuse an index that no trusted key signed, that is older than one that was seen before, or whose days are over.

    Args:
        hub: the hub that the index is from.
        index: an index that fits its schema.
        trusted: files of public keys; by default `keys()`, and none for the hubs of the installation.

    Raises:
        Untrusted: the message says why.
        ImportError: the library that checks signatures is not installed.
    """
    trusted = ([] if hub.own else keys()) if trusted is None else trusted
    if not trusted:
        return
    where, names = f"the index of {hub.address}", " or ".join(map(str, trusted))
    if "signed" not in index:
        raise Untrusted(f"{where} is not signed; expected the signature of {names}. {MEND}")
    if not any(_is_signed_by(key, index) for key in trusted):
        raise Untrusted(
            f"{where} was changed since it was signed, or another key signed it; expected the signature of "
            f"{names}. {MEND}"
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
    _record_date(hub, where, index["signed"]["date"])


def dates(index):
    """(when a signed index was signed, until when it counts)."""
    date = datetime.datetime.fromisoformat(index["signed"]["date"])
    return date, date + datetime.timedelta(days=index["signed"]["days"])  # the schema bounds both


def _record_date(hub, where, date):
    """Store the date of the newest index of a hub, and refuse an older one."""
    path = cache.root() / "seen" / f"{hashlib.sha256(hub.address.encode()).hexdigest()[:16]}.json"
    last_date = (cache.read_json(path) or {}).get("date")
    if fault := cache.read_fault(path):
        log.warning("whether the index is older than the last one is not known: %s", fault)
    if isinstance(last_date, str) and date < last_date:  # both are UTC in one form, so texts compare as times
        raise Untrusted(
            f"{where} was signed on {date}, and one that was signed on {last_date} has been seen here: an older one "
            f"may bring back what was withdrawn (a roll-back). {MEND} Where this is right, remove {path}."
        )
    if date != last_date:
        try:
            cache.write_json(path, {"address": hub.address, "date": date})
        except OSError:
            log.warning("the cache cannot be written, so an older index of %s would not be noticed", hub.address)


def _is_signed_by(key, index):
    """Whether the signature is that of this key.

    Raises:
        Untrusted: the file holds no public key on an elliptic curve.
    """
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as error:
        message = f"{KEYS} asks for signatures, which need: pip install 'seqzoo[sign]' ({error})."
        raise ImportError(message, name="cryptography") from error
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
