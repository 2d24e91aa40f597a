"""Signatures of hubs and of published versions: who has the public key knows whose they are.

The signature of an index stands in it, with the date and the days for which it counts; `zoo.hub.trust` checks it. It is
over all that the hub has: names, versions, withdrawals and the SHA-256 of every file.

The signature of a version is one more file of it, `model.sig`, by the OpenSSF's model-signing: a Sigstore bundle over
the SHA-256 of each of its other files, which the command `model_signing verify key` understands, too. Signing changes
no byte of the model, so a version may be signed after it was published.
"""

import base64
import datetime
import hashlib
import importlib
import tempfile
from pathlib import Path

from serving.hub import shelf
from serving.runtime.errors import DamagedError
from zoo.core.storage import write_bytes
from zoo.hub import cache, index as hub_index, trust
from zoo.hub.base import HubError

SIGNATURE = hub_index.SIGNATURE
CURVES = ("secp256r1", "secp384r1", "secp521r1")
DAYS = 90  # for which the signature of an index counts


def sign_index(hub, key, password=None, days=DAYS):
    """Sign the index of a hub in a folder, and return it.

    Args:
        hub: the folder.
        key: the PEM file of a private key on an elliptic curve (NIST P-256, P-384 or P-521).
        password: of the key, if it is encrypted.
        days: for how many days the signature counts, from 1 to 3650.

    Raises:
        ValueError: there is no index, or the key or the days are none.
        DamagedError: the index does not hold.
        ImportError: model-signing is not installed.
    """
    add_signature = _make_signer(key, password, days)
    if not (Path(hub) / hub_index.INDEX).is_file():
        raise ValueError(f"{hub} is no hub: it has no {hub_index.INDEX}. Name the folder of a hub with --hub.")
    with shelf.lock(hub):
        shelf.write_index(hub, shelf.read_index(hub)["models"], add_signature)
        return shelf.read_index(hub)


def sign(hub, name, version, key, password=None, days=DAYS):
    """Sign a version in the folder of a hub, and with it the index, and return its entry, which lists the signature.

    Args:
        hub, key, password, days: as of `sign_index`.
        name, version: of the model; its files are compared with the index first.

    Raises:
        ValueError: there is no such version, it was withdrawn or signed already, or the key is none.
        DamagedError: a file of it has other bytes than the index says.
        ImportError: model-signing is not installed.
    """
    add_signature = _make_signer(key, password, days)
    with shelf.lock(hub):
        entries = shelf.read_index(hub)["models"]
        entry = next((each for each in entries if (each["name"], each["version"]) == (name, version)), None)
        if entry is None:
            raise ValueError(f"{hub} has no {name}@{version}. `seqzoo hub validate {hub}` tells what it has.")
        if entry["withdrawn"] is not None:
            raise ValueError(f"{name}@{version} was withdrawn: {entry['withdrawn']} It is not signed.")
        if SIGNATURE in entry["files"]:
            raise ValueError(f"{name}@{version} is signed already; a published file is never replaced.")
        home = Path(hub) / name / str(version)
        _check_files(home, entry)
        content = _make_signature(home, key, password)
        write_bytes(home / SIGNATURE, content)
        entry["files"][SIGNATURE], entry["bytes"][SIGNATURE] = hashlib.sha256(content).hexdigest(), len(content)
        shelf.write_index(hub, entries, add_signature)
    return entry


def check_signature(folder, entry, key):
    """Refuse a version that the owner of a key did not sign as it is.

    Args:
        folder: of all its files.
        entry: of the index.
        key: the PEM file of the public key.

    Raises:
        DamagedError: it is not signed, signed by another key or as another model, or a file was changed, added or
            removed since.
        ValueError: the key is none.
        ImportError: model-signing is not installed.
    """
    title = hub_index.title(entry)
    if SIGNATURE not in entry["files"]:
        raise DamagedError(
            f"{title} is not signed: expected {SIGNATURE} among its files. Do not use it, or ask its owner."
        )
    _check_files(folder, entry)
    try:
        hub_index.check_title(Path(folder), entry)  # the manifest is signed; the index may be of somebody else
    except HubError as error:
        raise DamagedError(str(error)) from error
    library = _import_library("verifying")
    _check_key(key)
    config = library.Config().use_elliptic_key_verifier(public_key=Path(key))
    try:
        config.verify(Path(folder), Path(folder) / SIGNATURE)
    except Exception as error:  # the library and those below it raise their own kinds, down to those of its parsers
        raise DamagedError(
            f"The signature of {title} does not hold for the key {key}: {error} Another key signed it, or a file was "
            "changed since. Do not use these files."
        ) from error


def _check_files(folder, entry):
    for name, fault in cache.faults(folder, entry).items():
        raise DamagedError(f"{Path(folder) / name} is not as the index says: {fault}.")
    files = {path.relative_to(folder).as_posix() for path in Path(folder).rglob("*") if not path.is_dir()}
    extra = files - entry["files"].keys() - {SIGNATURE}
    if extra:
        raise DamagedError(
            f"{folder} holds {', '.join(sorted(extra))}, which the index does not list. Remove them first."
        )


def _make_signer(key, password, days):
    """A function that gives an index with its signature by this key.

    Raises:
        ValueError: the key is none that signs, or the days are not from 1 to 3650.
    """
    if not 1 <= days <= 3650:
        raise ValueError(f"An index is signed for 1 to 3,650 days; received {days}.")
    private, algorithm = _private_key(key, password)

    def add_signature(index):
        date = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        index = index | {"signed": {"date": date, "days": days}}
        signature = base64.b64encode(private.sign(trust.content(index), algorithm)).decode()
        return index | {"signed": index["signed"] | {"signature": signature}}

    return add_signature


def _private_key(path, password):
    """(a private key, the algorithm by which it signs an index)."""
    _check_key(path)
    try:
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as error:
        raise _import_error(error) from error
    try:
        private = serialization.load_pem_private_key(Path(path).read_bytes(), password.encode() if password else None)
        if not isinstance(private, ec.EllipticCurvePrivateKey) or private.curve.name not in CURVES:
            raise ValueError("it is of another kind.")
    except (TypeError, ValueError) as error:
        raise _key_error(path, error) from error
    return private, ec.ECDSA(hashes.SHA256())


def _make_signature(folder, key, password):
    """The bytes of the signature of a folder."""
    library = _import_library("signing")
    hashing = _import_library("hashing").Config().set_ignored_paths(paths=[SIGNATURE], ignore_git_paths=False)
    try:  # the password as bytes: model-signing 1.1.1 declares a string, and hands it to a function that refuses one
        config = library.Config().use_elliptic_key_signer(
            private_key=Path(key), password=password.encode() if password else None
        )
    except (TypeError, ValueError) as error:
        raise _key_error(key, error) from error
    with tempfile.TemporaryDirectory() as beside:
        path = Path(beside) / SIGNATURE
        config.set_hashing_config(hashing).sign(folder, path)
        return path.read_bytes()


def _check_key(path):
    is_file = Path(path).is_file()
    if not is_file or b"-----BEGIN " not in Path(path).read_bytes()[:10_000]:
        raise ValueError(
            f"{path} is no {'key' if is_file else 'file'}: expected a key in PEM form, -----BEGIN ...-----. `openssl "
            "ecparam -name prime256v1 -genkey -noout -out key.pem` makes one, and `openssl ec -in key.pem -pubout -out "
            "key.pub` its public part."
        )


def _import_library(module):
    try:
        return importlib.import_module(f"model_signing.{module}")
    except ImportError as error:
        raise _import_error(error) from error


def _key_error(key, error):
    return ValueError(
        f"{key} cannot sign: {error} Expected a private key on the curve P-256, P-384 or P-521; the password of an "
        "encrypted one is read from SEQZOO_KEY_PASSWORD."
    )


def _import_error(error):
    return ImportError(f"Signatures need model-signing: pip install 'seqzoo[sign]' ({error}).", name="model_signing")
