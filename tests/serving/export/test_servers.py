"""What a version of TensorFlow Serving cannot load is found by its operators and attributes, before anybody tries."""

import pytest

from serving.export import Settings, servers
from serving.runtime.errors import UnsupportedError
from tests.serving.conftest import settings_of, sides
from tests.serving.deploy.made import saved_model
from tools import cli


@pytest.fixture
def changed(tmp_path):
    """A function that writes a SavedModel whose first multiplication or cast was changed."""
    from tensorflow.core.protobuf import saved_model_pb2

    saved_model(tmp_path)
    path = tmp_path / "saved_model.pb"

    def change(alter):
        proto = saved_model_pb2.SavedModel.FromString(path.read_bytes())
        functions = proto.meta_graphs[0].graph_def.library.function
        (node, *_) = (node for function in functions for node in function.node_def if node.op == "Cast")
        alter(node)
        path.write_bytes(proto.SerializeToString())
        return tmp_path

    return change


def test_the_versions_are_known_with_the_operators_of_both_packages():
    assert servers.versions()[0] == "2.19" and servers.versions()[-1] == "2.21"
    for version in servers.versions():
        assert servers.attributes("Cast", version) == {"DstT": True, "SrcT": True, "Truncate": False}
        assert servers.attributes("SentencepieceTokenizeOp", version) is not None
        assert servers.attributes("NoSuchOperator", version) is None


def test_what_every_version_knows_is_said_nothing_of(changed):
    lines = []
    servers.compare_servers(changed(lambda node: None), "2.19", lines.append)
    assert lines == []


@pytest.mark.parametrize(
    ("alter", "said"),
    [
        (lambda node: setattr(node, "op", "CastOfTomorrow"), "the operator CastOfTomorrow"),
        (lambda node: node.attr["rounding"].CopyFrom(node.attr["SrcT"]), "the attribute rounding of Cast"),
        (lambda node: node.attr.pop("SrcT"), "Cast without its attribute SrcT"),
    ],
)
def test_what_is_missing_is_named(changed, alter, said):
    folder, lines = changed(alter), []
    assert all(servers.missing(folder, version) == [said] for version in servers.versions())
    servers.compare_servers(folder, None, lines.append)
    assert (
        len(lines) == len(servers.versions())
        and lines[0].startswith("warning: TensorFlow Serving 2.19 cannot load")
        and said in lines[0]
    )
    with pytest.raises(UnsupportedError, match=f"TensorFlow Serving 2.21 cannot load this model: .*{said}"):
        servers.compare_servers(folder, "2.21", lines.append)


def test_a_remark_of_a_node_is_no_attribute(changed):
    assert servers.missing(changed(lambda node: node.attr["_remark"].CopyFrom(node.attr["SrcT"])), "2.19") == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["generate", "continue", "classify", "tag"])
def test_every_exported_kind_loads_in_every_version(artefacts, kind):
    assert {version: servers.missing(artefacts(kind), version) for version in servers.versions()} == {
        version: [] for version in servers.versions()
    }


@pytest.mark.slow
def test_an_export_for_a_version_that_cannot_load_it_leaves_nothing(models, tokenizers, tmp_path, monkeypatch):
    from serving.export import export

    monkeypatch.setattr(servers, "missing", lambda folder, version: ["the operator X"] if version == "2.19" else [])
    settings = settings_of("tag", serving_version="2.19")
    with pytest.raises(UnsupportedError, match="2.19 cannot load this model: it does not know the operator X"):
        export(models["tag"], sides("tag", tokenizers), tmp_path, settings)
    assert list((tmp_path / "tag").iterdir()) == []


def test_an_unknown_version_is_wrong_use(tmp_path, capsys):
    with pytest.raises(ValueError, match="expected one of 2.19, .*2.21, received '1.15'"):
        Settings("a", "b", serving_version="1.15")
    (tmp_path / "manifest.json").write_text("{}")
    assert cli.main(["export", str(tmp_path), "--serving-version", "2.19"]) == 1
    assert "manifest" in capsys.readouterr().err
