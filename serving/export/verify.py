"""Checks an existing artefact again: the bytes of its files, its signatures and its answers."""

import shutil
import tempfile
from pathlib import Path

from serving.runtime.artefact import MANIFEST, check_files, read_manifest, sha256


def verify(directory, log=lambda stage: None):
    """The parity report of the artefact at `directory`; "extra" lists the files that its manifest does not list.

    First every file is compared with its SHA-256. Then the Keras model in the artefact runs on a grid of inputs, and a
    new process compares the SavedModel and the ONNX graphs with its results.

    A published artefact may lack what can be made again (`left_out` in its manifest). Then all forms are made again
    from its Keras model, its own float32 graphs take the place of those that were made, and these are compared;
    "made_again" says of each of its graphs whether what was made has the same bytes, which is all that speaks for an
    int8 graph.

    Raises:
        ValueError: there is no artefact, or a file has other bytes than the manifest records.
        ParityError: signatures or results differ.
    """
    directory = Path(directory)
    manifest = read_manifest(directory)
    log("comparing hashes")
    extra = check_files(directory, manifest)
    if extra:
        log(f"note: {MANIFEST} does not list {', '.join(extra)}; these files are never read")
    import keras

    import zoo  # noqa: F401  registers the classes
    from serving.export.kinds import kind_of
    from serving.export.parity.compare import compare
    from serving.export.settings import Settings
    from zoo.text import Tokenizer

    kind = kind_of(keras.models.load_model(directory / "model.keras"), Settings.of(manifest))
    tokenizers = [Tokenizer.load(directory / manifest["tokenizer"][side]) for side in kind.sides]
    if manifest.get("left_out"):
        return _verify_light(kind, tokenizers, directory, manifest, log) | {"extra": extra}
    log("checking parity in a fresh process")
    return compare(kind, tokenizers, directory, manifest["texts"]) | {"extra": extra}


def _verify_light(kind, tokenizers, directory, manifest, log):
    """The report of an artefact without the forms that can be made again."""
    from serving.export.parity.compare import compare
    from serving.export.pipeline import make_again

    with tempfile.TemporaryDirectory() as work:
        made = Path(work)
        make_again(kind, tokenizers, made, log)
        graphs = sorted(name for name in manifest["files"] if name.endswith(".onnx"))
        same = {name: (made / name).is_file() and sha256(made / name) == manifest["files"][name] for name in graphs}
        for name in graphs:
            shutil.copyfile(directory / name, made / name)
        log("checking parity in a fresh process")
        return compare(kind, tokenizers, made, manifest["texts"]) | {"made_again": same}
