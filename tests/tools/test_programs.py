"""What XLA compiles is kept, read by an equal training, and changes no weight."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools import startup

VARIABLES = ("TF_XLA_FLAGS", "JAX_COMPILATION_CACHE_DIR", "JAX_COMPILATION_CACHE_MAX_SIZE")
SMALL = (
    "model.units=8",
    "model.num_layers=1",
    "training.steps=2",
    "training.validate_every=1",
    "training.num_buckets=1",
)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A function that keeps programs, and gives what it has set."""
    for name in [*VARIABLES, "XLA_FLAGS"]:
        monkeypatch.setenv(name, "")  # so that what is set here is taken back
        monkeypatch.delenv(name)
    monkeypatch.setenv("SEQZOO_CACHE", str(tmp_path / "cache"))

    def keep(**variables):
        for name in VARIABLES:
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        startup.keep_programs()
        return {name: os.environ.get(name) for name in VARIABLES}

    return keep


def test_both_backends_are_told_one_folder(kept, tmp_path):
    found = kept()
    folder = Path(found["JAX_COMPILATION_CACHE_DIR"])
    assert folder.is_dir() and folder.parent == tmp_path / "cache" / "compiled"
    assert found["TF_XLA_FLAGS"].split()[0] == f"--tf_xla_persistent_cache_directory={folder}"
    assert kept() == found
    other = kept(XLA_FLAGS="--xla_cpu_max_isa=SSE4_2")  # other machine code, which neither key of the backends knows
    assert Path(other["JAX_COMPILATION_CACHE_DIR"]) != folder


def test_what_a_user_has_set_stays(kept):
    found = kept(TF_XLA_FLAGS="--tf_xla_clustering_debug", JAX_COMPILATION_CACHE_DIR="")
    assert found == {
        "TF_XLA_FLAGS": "--tf_xla_clustering_debug",
        "JAX_COMPILATION_CACHE_DIR": "",
        "JAX_COMPILATION_CACHE_MAX_SIZE": None,
    }


def test_without_a_place_nothing_is_kept(kept, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    assert not any(kept(SEQZOO_CACHE=str(tmp_path / "file")).values())
    monkeypatch.setattr(startup, "LEAST", 2**60)
    assert not any(kept(SEQZOO_CACHE=str(tmp_path / "full")).values())
    monkeypatch.setattr(startup, "LEAST", 0)
    found = kept(SEQZOO_CACHE=str(tmp_path / "with a space"))
    assert found["TF_XLA_FLAGS"] is None and found["JAX_COMPILATION_CACHE_DIR"]


def test_beyond_its_bound_the_folder_is_emptied(kept, tmp_path, monkeypatch):
    folder = Path(kept()["JAX_COMPILATION_CACHE_DIR"])
    (folder / "program").write_bytes(b"0" * 100)
    (folder.parent / "older").mkdir()
    monkeypatch.setattr(startup, "MOST", 100)
    kept()
    assert (folder / "program").exists()
    monkeypatch.setattr(startup, "MOST", 99)
    kept()
    assert folder.is_dir() and not list(folder.iterdir()) and not (folder.parent / "older").exists()


@pytest.mark.slow
@pytest.mark.release(but="tensorflow")
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_a_second_training_reads_what_was_compiled_and_ends_in_the_same_weights(backend, tmp_path):
    """TensorFlow orders a program in one way or another, and may not find it again."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "TF_XLA"))}
    environment |= {"KERAS_BACKEND": backend, "SEQZOO_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-c", "from tools import cli; cli.main()", "train", "dates-gru-additive"]
    command += [word for each in SMALL for word in ("--set", each)]
    seen, weights = [], []
    for run in ("one", "two"):
        subprocess.run([*command, "--out", str(tmp_path / run)], env=environment, check=True, capture_output=True)
        files = (path for path in (tmp_path / "cache" / "compiled").rglob("*") if path.is_file())
        seen.append({path.name: path.read_bytes() for path in files if not path.name.endswith(("-atime", ".lock"))})
        with zipfile.ZipFile(tmp_path / run / "model.keras") as file:
            weights.append(file.read("model.weights.h5"))
    assert seen[0] and weights[1] == weights[0]
    assert seen[1].items() >= seen[0].items() and (backend == "tensorflow" or len(seen[1]) == len(seen[0]))
