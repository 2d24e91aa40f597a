"""With SEQZOO_HUB_KEYS the attacks of The Update Framework on a signed hub are refused, in every command.

What the owner of the key signs is made here with `cryptography` alone, so that a date can be any.
"""

import base64
import contextlib
import datetime
import json
import shutil

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from serving import Runtime
from serving.hub import sign, sign_index, withdraw
from tests.hub import tiny
from tests.hub.server import serving
from tests.serving.hub import echo
from tests.serving.hub.test_signing import write_keys
from tools import cli
from zoo import hub as hubs
from zoo.hub import places, trust
from zoo.hub.validate import validate

WITHDRAWN = "It was trained on the test set."


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return tiny.write(tmp_path_factory.mktemp("models"))


@pytest.fixture
def keys(tmp_path):
    return write_keys(tmp_path, "key")


@pytest.fixture
def home(models, tmp_path, keys, monkeypatch):
    """A signed hub of `echo`, versions 1 and 2, and `thirds`, whose key is trusted; nothing was read of it yet."""
    home = shutil.copytree(models, tmp_path / "hub")
    sign_index(home, keys[0])
    monkeypatch.setenv("SEQZOO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SEQZOO_HUB_KEYS", str(keys[1]))
    monkeypatch.setattr("zoo.hub.download.WAIT", 0.0)
    monkeypatch.setattr(places.read_entries, "__defaults__", (False, 0))
    return home


@pytest.fixture(params=["a folder", "a server"])
def served(request, home, monkeypatch):
    """The same, as the only hub: in a folder, and on a file server that is asked for its index every time."""
    with contextlib.ExitStack() as held:
        address = str(home) if request.param == "a folder" else held.enter_context(serving(home)).address
        monkeypatch.setenv("SEQZOO_HUB", address)
        yield home


def read(home):
    return json.loads((home / "index.json").read_text("utf-8"))


def write(home, index):
    (home / "index.json").write_text(json.dumps(index), encoding="utf-8")


def signed_on(index, private, date, days=90):
    """The index with a signature of another date."""
    date = date.astimezone(datetime.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    index = index | {"signed": {"date": date, "days": days}}
    text = b"seqzoo hub index\n" + json.dumps(index, sort_keys=True, separators=(",", ":")).encode()
    made = load_pem_private_key(private.read_bytes(), None).sign(text, ec.ECDSA(hashes.SHA256()))
    index["signed"]["signature"] = base64.b64encode(made).decode()
    return index


def ago(**more):
    return datetime.datetime.now(datetime.UTC) - datetime.timedelta(**more)


def refused(said, name="echo", capsys=None):
    """Every way to use a model tells this, and none uses it."""
    with pytest.raises(hubs.HubError, match=said):
        hubs.fetch(name)
    with pytest.raises(hubs.HubError, match=said):
        Runtime(name)
    for command in (["hub", "fetch", name], ["run", name, "abc"], ["serve", name], ["hub", "card", name]):
        assert cli.main(command) == 1
        told = capsys.readouterr()
        assert told.out == "" and told.err.count("\n") == 1
    return True


def test_what_the_owner_signed_is_used(served, capsys):
    assert Runtime("echo").run(["abc"])[0].text == "abc"
    assert cli.main(["run", "echo@1", "abc"]) == 0 and capsys.readouterr() == ("abc\n", "")
    assert cli.main(["hub", "validate"]) == 0
    assert "checked: the index, its signature (2" in capsys.readouterr().out
    sign_index(served, served.parent / "key.pem")  # again, as before its days are over
    assert hubs.find("echo").entry["version"] == 2


def test_what_nobody_or_another_signed_is_refused(served, tmp_path, capsys):
    with echo.changing(served) as index:
        del index["signed"]
    assert refused("the index of .* is not signed; expected the signature of .*key.pub", capsys=capsys)
    sign_index(served, write_keys(tmp_path, "other")[0])
    assert refused("was changed since it was signed, or another key signed it", capsys=capsys)
    assert cli.main(["hub", "validate"]) == 1 and "another key signed it" in capsys.readouterr().out
    assert cli.main(["list"]) == 0  # the recipes, and no model of this hub
    assert "thirds" not in capsys.readouterr().out


def moved(index, place, name, version):
    index["models"][place] |= {"name": name, "version": version}
    return index


@pytest.mark.parametrize(
    "change",
    [
        lambda index: moved(index, 1, "echo", 7),
        lambda index: moved(index, 1, "thirds", 2),
        lambda index: index["models"][1].update(int8=False),
        lambda index: index["models"].pop(),
        lambda index: index.update(more=1),
        lambda index: index["signed"].update(days=91),
    ],
    ids=["another version", "another name", "another value", "a model less", "more", "more days"],
)
def test_mix_and_match_in_a_signed_index_is_refused(served, capsys, change):
    index = read(served)
    change(index)
    for entry in index["models"]:
        (served / entry["name"]).mkdir(exist_ok=True)
        if not (served / entry["name"] / str(entry["version"])).exists():
            shutil.copytree(served / "echo" / "2", served / entry["name"] / str(entry["version"]))
    write(served, index)
    assert refused("was changed since it was signed", capsys=capsys)


@pytest.mark.parametrize(("name", "version"), [("echo", 7), ("thirds", 1)])
def test_files_in_another_place_are_refused_without_a_key(served, monkeypatch, capsys, name, version):
    """Files that were signed, too: the manifest among them says whose they are, and the index says otherwise."""
    monkeypatch.delenv("SEQZOO_HUB_KEYS")
    sign(served, "echo", 1, served.parent / "key.pem")
    (entry,) = [each for each in read(served)["models"] if (each["name"], each["version"]) == ("echo", 1)]
    shutil.rmtree(served / name / str(version), ignore_errors=True)
    shutil.copytree(served / "echo" / "1", served / name / str(version))
    write(served, tiny.index(entry | {"name": name, "version": version}))
    said = f"the files of {name}@{version} are those of echo@1, as their manifest says"
    assert refused(said, name, capsys=capsys)
    fetch = ["hub", "fetch", name, "--all", "--public-key", str(served.parent / "key.pub")]
    assert cli.main(fetch) == 1 and "are those of echo@1" in capsys.readouterr().err
    (found,) = validate(str(served))
    assert any(said in line for line in found["wrong"])
    with pytest.raises(hubs.HubError, match=said):
        hubs.path(name, "model.onnx")


def test_roll_back_a_withdrawn_version_does_not_come_back(served, capsys):
    assert hubs.find("echo").entry["version"] == 2
    old = (served / "index.json").read_bytes()
    withdraw(served, "echo", 2, WITHDRAWN)
    sign_index(served, served.parent / "key.pem")
    assert hubs.find("echo").entry["version"] == 1
    new = (served / "index.json").read_bytes()
    (served / "index.json").write_bytes(old)
    assert refused("signed on .*an older one may bring back what was withdrawn .a roll-back.", capsys=capsys)
    (served / "index.json").write_bytes(new)
    assert hubs.find("echo").entry["version"] == 1


def test_freeze_an_index_counts_for_its_days(served, capsys):
    private, index = served.parent / "key.pem", read(served)
    write(served, signed_on(index, private, ago(days=89, hours=23)))
    assert hubs.find("echo").entry["version"] == 2
    write(served, signed_on(index, private, ago(days=8), days=7))
    assert refused("for 7 days, which are over: versions may have been withdrawn since .a freeze.", capsys=capsys)
    write(served, signed_on(index, private, ago(days=-2)))
    assert refused("is still to come. Compare the clocks", capsys=capsys)


def test_freeze_a_hub_that_is_silent_does_not_keep_an_old_index(home, monkeypatch, capsys):
    """What is kept of it counts for its days, too, whether the hub does not answer or may not be asked."""
    with serving(home) as running:
        monkeypatch.setenv("SEQZOO_HUB", running.address)
        assert Runtime("echo").run(["abc"])[0].text == "abc"
    assert Runtime("echo").run(["abc"])[0].text == Runtime("echo@2").run(["abc"])[0].text == "abc"
    later = trust.datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=91)

    class Later(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return later

    monkeypatch.setattr(trust.datetime, "datetime", Later)
    for name in ("echo", "echo@2"):
        with pytest.raises(hubs.HubError, match="cannot be reached"):
            hubs.fetch(name)
        with pytest.raises(hubs.HubError, match="is offline, and the index of .* for 90 days, which are over"):
            hubs.fetch(name, offline=True)


def test_what_was_fetched_before_the_key_was_trusted_does_not_count(home, monkeypatch, capsys):
    trusted = trust.KEYS, str(home.parent / "key.pub")
    with echo.changing(home) as index:
        del index["signed"]
    with serving(home) as running:
        monkeypatch.setenv("SEQZOO_HUB", running.address)
        monkeypatch.delenv(trust.KEYS)
        assert hubs.fetch("echo@2").is_dir()
        monkeypatch.setenv(*trusted)
        assert refused("is not signed", "echo@2", capsys=capsys)
    assert refused("cannot be reached", "echo@2", capsys=capsys)


def test_a_change_of_a_signed_hub_says_that_it_is_signed_no_more(home, caplog):
    withdraw(home, "echo", 2, WITHDRAWN)
    assert "signed" not in read(home) and "sign it again, with `seqzoo hub sign --hub" in caplog.text
    caplog.clear()
    withdraw(home, "echo", 1, WITHDRAWN)
    assert caplog.text == ""


def test_one_of_several_keys_is_enough_and_a_wrong_one_is_told(home, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SEQZOO_HUB", str(home))
    other = write_keys(tmp_path, "other")[1]
    monkeypatch.setenv(trust.KEYS, f"{other}, {tmp_path / 'key.pub'},")
    assert hubs.find("echo").entry["version"] == 2
    for path, said in ((tmp_path / "none.pub", "No such file"), (home / "index.json", "as a public key")):
        monkeypatch.setenv(trust.KEYS, str(path))
        assert refused(said, capsys=capsys)


def test_the_hubs_of_the_installation_need_no_signature(home, monkeypatch):
    with echo.changing(home) as index:
        del index["signed"]
    monkeypatch.setattr("zoo.hub.resolve.places", lambda: [places.Folder(home, own=True)])
    assert hubs.find("echo").entry["version"] == 2


def test_without_the_library_the_extra_is_named(home, monkeypatch, capsys):
    monkeypatch.setenv("SEQZOO_HUB", str(home))
    monkeypatch.setitem(__import__("sys").modules, "cryptography.exceptions", None)
    with pytest.raises(ImportError, match="pip install 'seqzoo.sign.'"):
        hubs.find("echo")
    assert cli.main(["run", "echo", "abc"]) == 1 and capsys.readouterr().err.count("\n") == 1


def test_hub_sign_signs_the_index(home, monkeypatch, capsys):
    key = ["--key", str(home.parent / "key.pem"), "--hub", str(home)]
    assert cli.main(["hub", "sign", *key, "--days", "7", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == read(home)["signed"] and told["days"] == 7
    assert cli.main(["hub", "sign", *key, "--days", "4000"]) == 2
    assert "for 1 to 3,650 days; received 4000" in capsys.readouterr().err
    assert cli.main(["hub", "sign", *key[:2], "--hub", str(home / "nowhere")]) == 2
    assert "is no hub" in capsys.readouterr().err and not (home / "nowhere").exists()
    assert read(home)["signed"] == told
