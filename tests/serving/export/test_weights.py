"""Large networks: the graphs of an artefact share one file of weights for each precision."""

import json
import shutil
import zipfile

import h5py
import numpy as np
import onnx
import onnxruntime
import pytest

from serving.export import Settings, export, export_again, sizes
from serving.export.again import verify
from serving.export.kinds import kind_of
from serving.export.onnx import weights
from serving.export.onnx.weights import ALIGNED, Beside, WeightsFile
from serving.hub.published import choose_files, rewrite_manifest
from serving.runtime import Runtime, Sampling
from serving.runtime.artefact import read_manifest
from serving.runtime.errors import DamagedError, UnsupportedError
from serving.runtime.manifest_format import FORMAT, digest_of
from tests.serving.conftest import TEXTS, exported_once, settings_of

LEAST = 64  # bytes: the arrays of a small network are small
FILES = {"float32": "weights.onnx_data", "int8": "weights.int8.onnx_data"}


def count_as_large(patch):
    """Let every network count as large, and most of its arrays."""
    patch.setattr(sizes, "LARGE", 1)
    patch.setattr(weights, "LEAST", LEAST)


@pytest.fixture(scope="module", params=[pytest.param("generate", marks=pytest.mark.slow)])
def shared(request, models, tokenizers, tmp_path_factory):
    """The artefact of a network that counts as large."""

    def make(folder):
        with pytest.MonkeyPatch.context() as patch:
            count_as_large(patch)
            export(models[request.param], tokenizers, folder, settings_of(request.param, graphs=("search", "greedy")))

    return exported_once(tmp_path_factory, "artefact-shared", make)


@pytest.fixture
def copied(shared, tmp_path):
    return shutil.copytree(shared, tmp_path / "copied")


def change(artefact, **keys):
    """Write other keys into a manifest, and seal it again."""
    manifest = json.loads((artefact / "manifest.json").read_text()) | keys
    manifest["manifest_sha256"] = digest_of(manifest)
    (artefact / "manifest.json").write_text(json.dumps(manifest))


def outside(path):
    """`{name: array}` of the arrays of a graph that are in another file."""
    graph = onnx.load(path, load_external_data=False).graph
    beside = {tensor.name for tensor in graph.initializer if tensor.external_data}
    return {
        tensor.name: onnx.numpy_helper.to_array(tensor)
        for tensor in onnx.load(path).graph.initializer
        if tensor.name in beside
    }


def test_the_manifest_says_which_graph_reads_which_file(shared, artefacts, tmp_path):
    manifest = read_manifest(shared)
    copy = shutil.copytree(shared, tmp_path / "copy")  # the checker refuses a file of weights with a hard link
    assert manifest["format"] == FORMAT and set(FILES.values()) <= manifest["files"].keys()
    for name, graph in manifest["onnx"].items():
        assert graph["weights"] == FILES["int8" if "int8" in name else "float32"]
        onnx.checker.check_model(copy / name)
    alone = read_manifest(artefacts("generate"))
    assert alone["format"] == FORMAT - 1 and not any("weights" in graph for graph in alone["onnx"].values())


def test_every_array_stands_once(shared):
    arrays, smallest = {}, {}
    for name in read_manifest(shared)["onnx"]:
        for array in outside(shared / name).values():
            arrays.setdefault("int8" in name, set()).add(array.tobytes())
            smallest[name] = min(smallest.get(name, LEAST), array.nbytes)
    assert set(smallest.values()) == {LEAST}
    for light, precision in ((False, "float32"), (True, "int8")):
        size = sum(-(-len(content) // ALIGNED) * ALIGNED for content in arrays[light])
        assert size - ALIGNED < (shared / FILES[precision]).stat().st_size <= size


def test_it_answers_as_one_whose_graphs_hold_their_weights(shared, artefacts):
    one, other = (Runtime(path) for path in (shared, artefacts("generate")))
    for options in ({}, {"beam": 1}, {"n_best": 3}):
        assert one.run(list(TEXTS), **options) == other.run(list(TEXTS), **options)


def test_onnx_runtime_alone_reads_it(shared):
    """It finds the file beside the graph, as any other program does."""
    session = onnxruntime.InferenceSession(shared / "greedy.onnx", providers=["CPUExecutionProvider"])
    ids = Runtime(shared).encode([TEXTS[0]])[0] + [3]
    feeds = {"token_ids": np.array([ids], "int32"), "lengths": np.array([len(ids)], "int32")}
    found = dict(zip([node.name for node in session.get_outputs()], session.run(None, feeds), strict=True))
    (result,) = Runtime(shared).run([TEXTS[0]], beam=1)
    assert found["scores"].item() == pytest.approx(result.score, abs=1e-6)


def test_a_changed_weight_is_found_before_it_is_used(copied):
    path = copied / FILES["float32"]
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedError, match=r"weights.onnx_data is damaged: .*SHA-256"):
        Runtime(copied).run(list(TEXTS))
    path.unlink()
    (copied.parent / "elsewhere").write_bytes(content)
    path.symlink_to(copied.parent / "elsewhere")
    with pytest.raises(DamagedError, match="lies outside of the artefact"):
        Runtime(copied).run(list(TEXTS))
    path.unlink()
    with pytest.raises(DamagedError, match="the file is missing"):
        Runtime(copied).run(list(TEXTS))


@pytest.mark.parametrize("location", ["card.md", "../elsewhere", "/etc/hostname"])
def test_a_graph_that_names_another_file_than_its_manifest_is_refused(location, copied):
    model = onnx.load(copied / "model.onnx", load_external_data=False)
    tensor = next(tensor for tensor in model.graph.initializer if tensor.external_data)
    tensor.external_data[0].value = location
    (copied / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(DamagedError, match=r"model.onnx is damaged.*keeps tensors in other files"):
        Runtime(copied, verify=False).run(list(TEXTS))


def test_a_manifest_that_names_a_file_of_weights_has_it(copied):
    manifest = read_manifest(copied)
    files = {name: digest for name, digest in manifest["files"].items() if name != FILES["float32"]}
    sizes = {name: size for name, size in manifest["sizes"].items() if name in files}
    change(copied, files=files, sizes=sizes)
    with pytest.raises(DamagedError, match=r"onnx\..*weights.*a file that `files` lists"):
        read_manifest(copied)


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_a_light_artefact_keeps_the_weights_of_its_graphs(precision, shared, tmp_path):
    manifest = read_manifest(shared)
    names = choose_files(manifest, precision)
    assert [name for name in names if name in FILES.values()] == [FILES[precision]]
    for name in names:
        shutil.copyfile(shared / name, tmp_path / name)
    files = {name: (shared / name).read_bytes() for name in names}
    (tmp_path / "manifest.json").write_bytes(rewrite_manifest(manifest, files, precision=precision))
    assert Runtime(tmp_path).run(list(TEXTS)) == Runtime(shared, precision=precision).run(list(TEXTS))


@pytest.mark.release
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_a_light_artefact_is_verified(precision, shared, tmp_path, monkeypatch):
    count_as_large(monkeypatch)
    test_a_light_artefact_keeps_the_weights_of_its_graphs(precision, shared, tmp_path)
    assert verify(tmp_path)["passed"]


@pytest.fixture(scope="module")
def few(models, tokenizers, tmp_path_factory):
    """The same with the graphs that it has by default."""

    def make(folder):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sizes, "LARGE", 1)
            export(models["generate"], tokenizers, folder, settings_of("generate"))

    return exported_once(tmp_path_factory, "artefact-few", make)


@pytest.mark.slow
def test_a_large_network_has_few_graphs_and_says_what_it_lacks(few, shared):
    manifest = read_manifest(few)
    assert manifest["graphs"] == {"tokens": "model.onnx", "tokens_rules": "model.onnx"}
    assert manifest["without"] == ["greedy", "sample", "steps"]
    assert read_manifest(shared)["without"] == ["sample", "score", "steps"]
    assert [table["name"] for table in manifest["signatures"]] == ["serving_default", "tokens", "tokens_rules", "score"]
    assert manifest["int8"]["tokens"] == sizes.TOKENS and "at most 32 tokens" in (few / "card.md").read_text()
    assert Runtime(few).run(list(TEXTS)) == Runtime(shared).run(list(TEXTS))
    with pytest.raises(UnsupportedError, match=r"no graph for 'sample'.*exported without it.*--graphs all"):
        Runtime(few).run(list(TEXTS), sampling=Sampling())
    with pytest.raises(UnsupportedError, match=r"no graph for 'encode'.*exported without it.*--graphs all"):
        Runtime(few).attention(TEXTS[0])
    with pytest.raises(ValueError, match=r"no graph for beam 1; it has \[3\].*--beam 3 --beam 1"):
        Runtime(few).run(list(TEXTS), beam=1)


@pytest.mark.parametrize(
    ("graphs", "beams", "large", "gone"),
    [
        ((), (3,), False, set()),
        ((), (3, 1), True, {"sample", "encode", "step"}),
        (("search",), (3,), False, {"greedy", "greedy_shortlist", "sample", "score", "encode", "step"}),
        (("steps", "greedy"), (3,), True, {"sample", "score"}),
        (("all",), (3,), True, set()),
    ],
)
def test_which_graphs_are_chosen(graphs, beams, large, gone, models, monkeypatch):
    if large:
        monkeypatch.setattr(sizes, "LARGE", 1)
    kind = kind_of(models["generate"], settings_of("generate", beams=beams, graphs=graphs))
    found = {"greedy", "tokens", "tokens_rules", "sample", "score", "encode", "step"} - gone
    assert kind.functions.keys() == found
    assert kind.facts()["generation"].keys() == {"1", "3"} if "greedy" in found else {"3"}
    again = Settings.of(
        {"name": "a", "task": "", "scores": {}, "texts": [], "files": {}, "signatures": [], "storage": "float32"}
        | {"default_beam": 3, "ranges": {}}
        | kind.facts()
    )
    assert kind_of(models["generate"], again).without == kind.without


def test_an_unknown_choice_of_graphs_is_refused():
    with pytest.raises(ValueError, match=r"Unknown graphs: expected some of search, greedy.*received smaple"):
        settings_of("generate", graphs=("smaple",))


def test_the_keras_file_of_a_large_network_is_packed(shared, artefacts):
    import keras

    one, other = (keras.models.load_model(path / "model.keras") for path in (shared, artefacts("generate")))
    for each, twin in zip(one.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(each, twin)
    with zipfile.ZipFile(shared / "model.keras") as archive, h5py.File(archive.open("model.weights.h5")) as file:
        filters = []
        file.visititems(lambda name, item: filters.append(getattr(item, "shuffle", True)))
    assert all(filters)


@pytest.mark.release
@pytest.mark.parametrize("storage", ["float16", "int8"])
def test_narrow_weights_are_shared_too(storage, shared, tmp_path, monkeypatch):
    count_as_large(monkeypatch)
    (path,) = [export_again(shared, tmp_path, storage=storage, int8=False)]
    size = (path / FILES["float32"]).stat().st_size
    assert size < 0.6 * (shared / FILES["float32"]).stat().st_size
    Runtime(path).run(list(TEXTS))


def test_arrays_beside_a_graph_come_back_and_equal_ones_are_written_once(tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "LEAST", LEAST)
    rng, beside = np.random.default_rng(0), Beside()
    arrays = {
        "wide": rng.normal(size=(17, 19)).astype("float32"),
        "small": np.arange(3.0, dtype="float32"),
        "whole": rng.integers(-9, 9, (1031,)).astype("int8"),
        "turned": rng.normal(size=(23, 29)).astype("float32").T,
    }
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1])
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Identity", ["x"], ["y"])],
        "g",
        [x],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1])],
        [beside.tensor(array, name) for name, array in arrays.items()],
    )
    model = onnx.helper.make_model(graph, ir_version=9, opset_imports=[onnx.helper.make_opsetid("", 18)])
    beside.check(model)
    file = WeightsFile(tmp_path / "weights.onnx_data")
    for name in ("one.onnx", "two.onnx"):
        (tmp_path / name).write_bytes(file.refer(model, beside).SerializeToString())
        held = onnx.load(tmp_path / name).graph.initializer
        for tensor in held:
            np.testing.assert_array_equal(onnx.numpy_helper.to_array(tensor), arrays[tensor.name])
    total = sum(-(-array.nbytes // ALIGNED) * ALIGNED for array in arrays.values() if array.nbytes >= LEAST)
    assert total - ALIGNED < file.path.stat().st_size <= total
