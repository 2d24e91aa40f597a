"""Signatures of published versions, by the OpenSSF's model-signing: who has the public key knows whose the files are.

A signature is one more file of a version, `model.sig`: a Sigstore bundle over the SHA-256 of each of its other files,
which the command `model_signing verify key` understands, too. Signing changes no byte of the model, so a version may be
signed after it was published, by somebody else and on another machine.
"""

import hashlib
import importlib
import tempfile
from pathlib import Path

from serving.hub import shelf
from serving.runtime.errors import DamagedError
from zoo.hub import cache, index as hub_index

SIGNATURE = hub_index.SIGNATURE


def sign(hub, name, version, key, password=None):
    """Sign a version in the folder of a hub, and return its entry, which lists the signature.

    Args:
        hub: the folder.
        name, version: of the model; its files are compared with the index first.
        key: the PEM file of a private key on an elliptic curve (NIST P-256, P-384 or P-521).
        password: of the key, if it is encrypted.

    Raises:
        ValueError: there is no such version, it was withdrawn or signed already, or the key is none.
        DamagedError: a file of it has other bytes than the index says.
        ImportError: model-signing is not installed.
    """
    with shelf.locked(hub):
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
        content = _signature(home, key, password)
        (home / SIGNATURE).unlink(missing_ok=True)  # of a signer that was killed before it wrote the entry
        shelf.write(home / SIGNATURE, content)
        shelf.sync(home)
        entry["files"][SIGNATURE], entry["bytes"][SIGNATURE] = hashlib.sha256(content).hexdigest(), len(content)
        shelf.write_index(hub, entries)
    return entry


def check_signature(folder, entry, key):
    """Refuse a version that the owner of a key did not sign as it is.

    Args:
        folder: of all its files.
        entry: of the index.
        key: the PEM file of the public key.

    Raises:
        DamagedError: it is not signed, signed by another key, or a file was changed, added or removed since.
        ValueError: the key is none.
        ImportError: model-signing is not installed.
    """
    title = hub_index.title(entry)
    if SIGNATURE not in entry["files"]:
        raise DamagedError(
            f"{title} is not signed: expected {SIGNATURE} among its files. Do not use it, or ask its owner."
        )
    _check_files(folder, entry)
    library = _library("verifying")
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
    for name, digest in sorted(entry["files"].items()):
        fault = cache.fault(Path(folder) / name, entry["bytes"][name], digest)
        if fault:
            raise DamagedError(f"{Path(folder) / name} is not as the index says: {fault}.")
    there = {path.relative_to(folder).as_posix() for path in Path(folder).rglob("*") if not path.is_dir()}
    extra = there - entry["files"].keys() - {SIGNATURE}
    if extra:
        raise DamagedError(
            f"{folder} holds {', '.join(sorted(extra))}, which the index does not list. Remove them first."
        )


def _signature(folder, key, password):
    """The bytes of the signature of a folder."""
    library = _library("signing")
    _check_key(key)
    hashing = _library("hashing").Config().set_ignored_paths(paths=[SIGNATURE], ignore_git_paths=False)
    try:  # the password as bytes: model-signing 1.1.1 declares a string, and hands it to a function that refuses one
        config = library.Config().use_elliptic_key_signer(
            private_key=Path(key), password=password.encode() if password else None
        )
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{key} cannot sign: {error} Expected a private key on the curve P-256, P-384 or P-521; the password of an "
            "encrypted one is read from SEQZOO_KEY_PASSWORD."
        ) from error
    with tempfile.TemporaryDirectory() as beside:
        path = Path(beside) / SIGNATURE
        config.set_hashing_config(hashing).sign(folder, path)
        return path.read_bytes()


def _check_key(path):
    if b"-----BEGIN " not in Path(path).read_bytes()[:10_000]:
        raise ValueError(
            f"{path} is no key in PEM form: expected -----BEGIN ...-----. `openssl ecparam -name prime256v1 -genkey "
            "-noout -out key.pem` makes one, and `openssl ec -in key.pem -pubout -out key.pub` its public part."
        )


def _library(module):
    try:
        return importlib.import_module(f"model_signing.{module}")
    except ImportError as error:
        needed = f"Signatures need model-signing: pip install 'seqzoo[sign]' ({error})."
        raise ImportError(needed, name="model_signing") from error
