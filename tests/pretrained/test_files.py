"""Files of torch, safetensors and npz, against what torch wrote."""

import struct
from pathlib import Path

import numpy as np
import pytest

from zoo.pretrained.files import read_tensors

DATA = Path(__file__).with_name("data") / "torch_files"


@pytest.mark.parametrize("form", ["new", "old"])
def test_both_forms_of_torch_are_read(form):
    right = np.load(DATA / "right.npz")
    found = read_tensors([DATA / f"{form}.bin"])
    assert found.keys() == set(right.files)
    for name in right.files:
        np.testing.assert_array_equal(found[name].read().astype("float32"), right[name])
        assert found[name].shape == right[name].shape


@pytest.mark.parametrize("form", ["new", "old"])
def test_a_file_of_torch_that_is_cut_off_is_refused(form, tmp_path):
    whole = (DATA / f"{form}.bin").read_bytes()
    for share in (0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        (tmp_path / "cut.bin").write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(ValueError, match="cut.bin"):
            read_tensors([tmp_path / "cut.bin"])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a text with a wrong escape
def test_changed_bytes_never_do_anything_else_than_refuse(tmp_path):
    """Whatever a byte of the older form becomes, the file is read or refused in words."""
    whole, generator = (DATA / "old.bin").read_bytes(), np.random.default_rng(4)
    for _ in range(300):
        changed = bytearray(whole)
        changed[generator.integers(len(whole))] = generator.integers(256)
        (tmp_path / "changed.bin").write_bytes(changed)
        try:
            found = read_tensors([tmp_path / "changed.bin"])
        except ValueError:
            continue
        for each in found.values():
            each.read()


def test_npz_has_the_arrays(tmp_path):
    right = {"a": np.arange(6.0).reshape(2, 3), "b": np.ones(3, "float16")}
    np.savez_compressed(tmp_path / "model.npz", **right)
    found = read_tensors([tmp_path / "model.npz"])
    for name, each in right.items():
        np.testing.assert_array_equal(found[name].read(), each)
        assert found[name].read().dtype == "float32"


def test_tensorflow_has_the_names_and_axes_of_torch(tmp_path):
    import h5py

    kernel = np.arange(6, dtype="float32").reshape(2, 3)
    with h5py.File(tmp_path / "tf_model.h5", "w") as file:
        here = "bert/tf_bert_model/bert/encoder/layer_._0/attention/self/query"
        file[f"{here}/kernel:0"] = kernel
        file["bert/tf_bert_model/bert/embeddings/LayerNorm/gamma:0"] = kernel[0]
        file["bert/tf_bert_model/bert/embeddings/word_embeddings/weight:0"] = kernel
    found = read_tensors([tmp_path / "tf_model.h5"])
    assert found.keys() == {
        "bert.encoder.layer.0.attention.self.query.weight",
        "bert.embeddings.LayerNorm.weight",
        "bert.embeddings.word_embeddings.weight",
    }
    np.testing.assert_array_equal(found["bert.encoder.layer.0.attention.self.query.weight"].read(), kernel.T)
    np.testing.assert_array_equal(found["bert.embeddings.word_embeddings.weight"].read(), kernel)


def test_arrays_of_hdf5_in_other_files_are_refused(tmp_path):
    import h5py

    with h5py.File(tmp_path / "tf_model.h5", "w") as file:
        file.create_dataset("x", (2,), "f4", external=[(str(tmp_path / "secret"), 0, 8)])
    with pytest.raises(ValueError, match="lies in another file"):
        read_tensors([tmp_path / "tf_model.h5"])


def test_a_header_that_claims_too_much_is_refused(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", 1 << 60) + b"{}")
    with pytest.raises(ValueError, match="cut off, or damaged"):
        read_tensors([tmp_path / "model.safetensors"])
