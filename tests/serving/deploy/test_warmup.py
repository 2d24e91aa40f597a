"""The warm-up requests are records that TensorFlow Serving reads, and requests that the SavedModel answers."""

import numpy as np
import pytest

from serving.deploy import files, tf_serving
from serving.deploy.tf_serving import WARMUP, inputs, records
from serving.runtime.artefact import read_manifest
from tests.serving.deploy.commands import deploy
from tests.serving.deploy.made import artefacts, saved_model
from tools import cli

SIZES = (1, 2, 5)


def requests(content, folder):
    """The requests of a file, as TensorFlow reads them."""
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2

    path = folder / "requests"
    path.write_bytes(content)
    records = tf.data.TFRecordDataset(str(path)).as_numpy_iterator()
    return [prediction_log_pb2.PredictionLog.FromString(record).predict_log.request for record in records]


def answered(folder, asked):
    """The signature, the rows and the outputs of every request."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  registers the tokenizers' operations

    loaded = tf.saved_model.load(str(folder)).signatures
    for request in asked:
        values = {name: tf.make_ndarray(proto) for name, proto in request.inputs.items()}
        found = loaded[request.model_spec.signature_name](**{name: tf.constant(each) for name, each in values.items()})
        rows = {len(value) for value in values.values()}
        assert rows == {int(value.shape[0]) for value in found.values()}
        yield request.model_spec.signature_name, *rows


def test_every_signature_of_the_saved_model_is_asked_in_every_size(tmp_path):
    saved_model(tmp_path / "saved")
    folder = artefacts(tmp_path, (1,), saved=tmp_path / "saved") / "1"
    content = records(folder, read_manifest(folder), SIZES)
    asked = requests(content, tmp_path)
    assert {request.model_spec.name for request in asked} == {"echo"}
    expected = [(name, size) for name in ("serving_default", "tokens") for size in SIZES]
    assert list(answered(folder, asked)) == expected  # "step" is in the manifest, and not in the SavedModel
    assert asked[2].inputs["text"].string_val[:] == [b"abc", b"a b c", b"fed", b"abc", b"a b c"]
    assert content == records(folder, read_manifest(folder), SIZES)


def test_ids_and_lengths_lie_in_their_bounds():
    table = {
        "name": "score",
        "inputs": [
            {"name": "token_ids", "dtype": "int32", "shape": ["batch", "time"], "minimum": 0, "maximum": 2},
            {"name": "lengths", "dtype": "int32", "shape": ["batch"], "minimum": 1, "maximum": "time"},
            {"name": "uniforms", "dtype": "float32", "shape": ["batch", 1, 7]},
        ],
    }
    found = inputs({"max_input": 3, "texts": []}, table, 2)
    assert found["token_ids"].shape == (2, 3) and (found["token_ids"] == 2).all()
    assert found["lengths"].tolist() == [3, 3] and found["uniforms"].shape == (2, 1, 7)
    pair = {"name": "serving_default", "inputs": [{"name": side, "dtype": "string"} for side in ("first", "second")]}
    assert {
        name: value.tolist() for name, value in inputs({"max_input": 3, "texts": ["a\tb", "c"]}, pair, 2).items()
    } == {
        "first": ["a", "a"],
        "second": ["b", "b"],
    }


def test_what_another_deployment_left_is_kept_for_the_same_sizes_alone(home, tmp_path, monkeypatch):
    made = []

    def written(folder, manifest, sizes):
        made.append(folder.name)
        return repr(sizes).encode()

    def sizes(version):
        return (home / version / WARMUP).read_bytes().decode()

    monkeypatch.setattr(tf_serving, "records", written)
    large, small = (["--out", tmp_path / name] for name in ("large", "small"))
    assert deploy(home / "2", "--target", "tf-serving", "--max-batch", 8, *large) == 0
    assert deploy(home / "1", "--target", "tf-serving", "--max-batch", 4, *small) == 0
    assert deploy(home, "--canary", 2, *small) == 0  # which `small` has never served
    assert (sizes("1"), sizes("2")) == ("[1, 2, 4]", "[1, 2, 4]")
    assert deploy(home, *large) == 0 and sizes("2") == "[1, 2, 4, 8]"
    assert deploy(home, *small) == 0 and sizes("2") == "[1, 2, 4]"
    assert made == ["2", "1", "2", "2", "2"]
    assert deploy(home, "--promote", "--batch-delay-ms", 3, *small) == 0
    assert deploy(home, "--rollback", *small) == 0 and len(made) == 5  # a label that moves makes nothing anew


def test_a_deployment_that_was_killed_makes_its_warm_up_anew(home, tmp_path, monkeypatch):
    monkeypatch.setattr(tf_serving, "records", lambda folder, manifest, sizes: repr(sizes).encode())
    small = [home / "1", "--target", "tf-serving", "--max-batch", 4, "--out", tmp_path / "small"]
    assert deploy(*small) == 0
    write = files.write

    def killed(path, content):
        write(path, content)
        if path.name == "tf_serving_warmup_requests":
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(files, "write", killed)
        assert deploy(home / "1", "--target", "tf-serving", "--max-batch", 8, "--out", tmp_path / "large") == 130
    assert deploy(*small) == 0 and (home / "1" / WARMUP).read_bytes() == b"[1, 2, 4]"


@pytest.mark.release(but="classify")
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["generate", "continue", "classify", "tag"])
def test_exported_models_answer_their_warm_up(artefacts, kind, tmp_path):
    import shutil

    folder = shutil.copytree(artefacts(kind), tmp_path / kind / "1")
    out = str(tmp_path / "out")
    assert cli.main(["deploy", str(folder), "--target", "tf-serving", "--out", out, "--max-batch", "2"]) == 0
    asked = requests((folder / WARMUP).read_bytes(), tmp_path)
    sizes = {}
    for name, rows in answered(folder, asked):
        sizes.setdefault(name, []).append(rows)
    assert "serving_default" in sizes and all(each == [1, 2] for each in sizes.values())
    assert all(np.isfinite(rows) for each in sizes.values() for rows in each)
