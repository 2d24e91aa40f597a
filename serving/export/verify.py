"""Checks an existing artefact again: the bytes of its files, its signatures and its answers."""

import dataclasses
import shutil
import tempfile
from pathlib import Path

import numpy as np
import onnx

from serving.export import strings
from serving.export.onnx.weights import is_beside, location, relocate
from serving.runtime.artefact import MANIFEST, check_files, read_manifest
from serving.runtime.errors import DamagedError
from serving.runtime.manifest_format import int8_name
from serving.runtime.sessions import open_graph
from zoo.hub.keras_file import UnsafeError, check_keras

# Difference of two numbers of int8 graphs, relative for those above 1. Their activations are whole numbers: where
# another processor, or a graph whose sums have another order, turns the last bit of a float32 sum, one of them may
# become its neighbour, and a score moves by a step of the quantisation (up to 0.002 in the graph of dates).
NEAR = 1e-2


def verify(directory, log=lambda stage: None):
    """The parity report of the artefact at `directory`; "extra" lists the files that its manifest does not list.

    First every file is compared with its SHA-256. Then the Keras model in the artefact runs on a grid of inputs, and a
    new process compares the SavedModel and the ONNX graphs with its results.

    A published artefact may lack what can be made again (`left_out` in its manifest). Then all forms are made again
    from its Keras model, its own float32 graphs take the place of those that were made, and these are compared;
    "made_again" has of each of its int8 graphs (how many answers to the grid of inputs are the same as those of what
    was made, how many there are).

    Raises:
        ValueError: there is no artefact, a file has other bytes than the manifest records, or `model.keras` asks for
            more than layers of Keras, of the zoo and of packages that are imported.
        ParityError: signatures or results differ.
    """
    directory = Path(directory)
    manifest = read_manifest(directory)
    log("comparing hashes")
    extra = check_files(directory, manifest)
    if extra:
        log(f"note: {MANIFEST} does not list {', '.join(extra)}; these files are never read")
    try:
        check_keras(directory / "model.keras")
    except UnsafeError as error:
        raise DamagedError(str(error)) from error
    from serving.export.parity.compare import checker

    with checker() as parity:  # its process imports TensorFlow beside this one
        return _compared(parity, directory, manifest, log) | {"extra": extra}


def _compared(parity, directory, manifest, log):
    import keras

    import zoo  # noqa: F401  registers the classes
    from serving.export.kinds import kind_of
    from serving.export.settings import Settings
    from serving.export.shortlist import of_artefact
    from zoo.text import load_tokenizer

    settings = dataclasses.replace(Settings.of(manifest), shortlist=of_artefact(directory, manifest))
    kind = kind_of(keras.models.load_model(directory / "model.keras"), settings)
    tokenizers = [load_tokenizer(directory / manifest["tokenizer"][side]) for side in kind.sides]
    if manifest.get("left_out"):
        return _compared_light(parity, kind, tokenizers, directory, manifest, log)
    log("checking parity in a fresh process")
    report = parity.compare(kind, tokenizers, directory, manifest["texts"])
    if settings.strings:
        log("comparing the graphs of texts with the runtime")
        report["strings"] = strings.compare(kind, directory, manifest["texts"])
    return report


def _compared_light(parity, kind, tokenizers, directory, manifest, log):
    """The report of an artefact without the forms that can be made again."""
    from serving.export.pipeline import make_again

    with tempfile.TemporaryDirectory() as work:
        made = Path(work)
        make_again(kind, tokenizers, made, log)
        same = _same_answers(kind, tokenizers, (directory, made), manifest)
        for name in sorted(name for name in manifest["files"] if name.endswith(".onnx")):
            _copy_graph(name, directory, made)
        log("checking parity in a fresh process")
        return parity.compare(kind, tokenizers, made, manifest["texts"]) | {"made_again": same}


def _copy_graph(name, directory, made):
    """Copy a graph over the one that was made again; its weights get another name, since other graphs read the made."""
    graph = onnx.load(directory / name, load_external_data=False)
    beside = list(filter(is_beside, graph.graph.initializer))
    for own in set(map(location, beside)):
        shutil.copyfile(directory / own, made / f"published.{own}")
    for tensor in beside:
        relocate(tensor, f"published.{location(tensor)}")
    (made / name).write_bytes(graph.SerializeToString())


def _same_answers(kind, tokenizers, directories, manifest):
    """{int8 graph: (answers that are the same as those of the one that was made again, all answers)}.

    What was made may have other names of nodes inside, and so other bytes.
    """
    files = {name: int8_name(graph) for name, graph in manifest["graphs"].items()}
    files = {name: file for name, file in files.items() if file in manifest["files"]}
    pairs = {name: [open_graph(each / file) for each in directories] for name, file in files.items()}
    same = {file: [] for file in files.values()}
    for name, inputs in kind.cases([tokenizer.vocab_size for tokenizer in tokenizers]):
        if name in pairs:
            one, other = (_run(session, inputs) for session in pairs[name])
            same[files[name]] += [all(map(_near, *rows)) for rows in zip(_rows(one), _rows(other), strict=True)]
    return {file: (sum(each), len(each)) for file, each in same.items()}


def _rows(outputs):
    """For each row of a batch what all outputs have of it; all of them together where they have no rows in common."""
    counts = {each.shape[:1] for each in outputs}
    return list(zip(*outputs, strict=True)) if len(counts) == 1 and () not in counts else [outputs]


def _run(session, inputs):
    return session.run(None, {node.name: np.asarray(inputs[node.name]) for node in session.get_inputs()})


def _near(one, other):
    if one.ndim != other.ndim or one.dtype != other.dtype:
        return False
    if one.shape != other.shape:  # a batch is as long as its longest answer, which may be another row's
        shape = np.maximum(one.shape, other.shape)
        one, other = (np.pad(each, [(0, n) for n in shape - each.shape]) for each in (one, other))
    if one.dtype.kind != "f":
        return np.array_equal(one, other)
    return bool((np.abs(one - other) <= NEAR * np.maximum(1, np.abs(one))).all())
