"""A signature says whose the files of a version are, and holds for these files alone."""

import hashlib
import os

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from serving.hub import check_signature, sign
from serving.runtime.errors import DamagedError
from tests.serving.hub.echo import entries
from tests.shared import python
from tools import cli
from zoo.hub.validate import validate


def write_keys(folder, name, password=None):
    """The paths of a new private key and of its public one."""
    private = ec.generate_private_key(ec.SECP256R1())
    kept = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    pem, form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    paths = folder / f"{name}.pem", folder / f"{name}.pub"
    paths[0].write_bytes(private.private_bytes(pem, serialization.PrivateFormat.PKCS8, kept))
    paths[1].write_bytes(private.public_key().public_bytes(pem, form))
    return paths


@pytest.fixture
def signed(hub, tmp_path):
    """`(folder, entry, public key)` of a version that was signed on the command line."""
    private, public = write_keys(tmp_path, "key")
    assert cli.main(["hub", "sign", "echo@1", "--key", str(private), "--hub", str(hub)]) == 0
    (entry,) = entries(hub)
    return hub / "echo" / "1", entry, public


def test_the_owner_of_the_key_signed_it(signed, hub, tmp_path):
    folder, entry, public = signed
    check_signature(folder, entry, public)
    (found,) = validate(str(hub))
    assert found["wrong"] == [] and "model.sig" in entry["files"]
    with pytest.raises(DamagedError, match="does not hold for the key .*other.pub"):
        check_signature(folder, entry, write_keys(tmp_path, "other")[1])
    with pytest.raises(ValueError, match="signed already"):
        sign(hub, "echo", 1, tmp_path / "key.pem")


def test_another_tool_verifies_it(signed):
    folder, _, public = signed
    words = ["-m", "model_signing", "verify", "key", "--public_key", public, "--signature", folder / "model.sig"]
    python(*words, folder)


@pytest.mark.parametrize("change", ["a byte", "a file less", "a file more"])
def test_what_was_changed_is_not_signed(signed, change):
    """Also where whoever changed it wrote the index anew, which a hash alone would not tell."""
    folder, entry, public = signed
    path = folder / ("more.txt" if change == "a file more" else "card.md")
    content = path.read_bytes() + b"." if path.exists() else b"more"
    if change == "a file less":
        path.unlink()
        entry["files"].pop(path.name)
    else:
        path.write_bytes(content)
        with pytest.raises(DamagedError, match="not as the index says|does not list"):
            check_signature(folder, entry, public)
        entry["files"][path.name], entry["bytes"][path.name] = hashlib.sha256(content).hexdigest(), len(content)
    with pytest.raises(DamagedError, match="does not hold"):
        check_signature(folder, entry, public)


def test_what_is_not_signed_is_refused_where_a_key_is_given(hub, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SEQZOO_HUB", str(hub))
    monkeypatch.setenv("SEQZOO_CACHE", str(tmp_path / "cache"))
    private, public = write_keys(tmp_path, "key", b"secret")
    fetch = ["hub", "fetch", "echo", "--all", "--public-key", str(public)]
    assert cli.main(fetch) == 1
    assert "echo@1 is not signed" in capsys.readouterr().err
    assert cli.main(["hub", "fetch", "echo", "--public-key", str(public)]) == 2
    assert "--public-key needs --all" in capsys.readouterr().err
    for password in ("", "wrong"):
        monkeypatch.setenv("SEQZOO_KEY_PASSWORD", password)
        assert cli.main(["hub", "sign", "echo@1", "--key", str(private), "--hub", str(hub)]) == 2
        assert "SEQZOO_KEY_PASSWORD" in capsys.readouterr().err
    monkeypatch.setenv("SEQZOO_KEY_PASSWORD", "secret")
    assert cli.main(["hub", "sign", "echo@1", "--key", str(private), "--hub", str(hub)]) == 0
    assert cli.main(fetch) == 0
    assert cli.main(["hub", "card", "echo", "--check", "--only", "files", "--hub", str(hub)]) == 0


@pytest.mark.parametrize(
    ("name", "key", "message"),
    [
        ("echo", "key.pem", "such as echo@1"),
        ("echo@2", "key.pem", "has no echo@2"),
        ("echo@1", "nowhere.pem", "is no file: expected a key in PEM form"),
        ("echo@1", "text", "is no key: expected a key in PEM form"),
    ],
)
def test_what_cannot_be_signed(hub, tmp_path, name, key, message, capsys):
    write_keys(tmp_path, "key")
    (tmp_path / "text").write_text("secret")
    before = (hub / "index.json").read_bytes(), sorted(os.listdir(hub / "echo" / "1"))
    assert cli.main(["hub", "sign", name, "--key", str(tmp_path / key), "--hub", str(hub)]) == 2
    assert message in capsys.readouterr().err
    assert before == ((hub / "index.json").read_bytes(), sorted(os.listdir(hub / "echo" / "1")))


def test_a_damaged_version_is_not_signed(hub, tmp_path):
    (hub / "echo" / "1" / "card.md").write_text("other")
    with pytest.raises(DamagedError, match="not as the index says"):
        sign(hub, "echo", 1, write_keys(tmp_path, "key")[0])
