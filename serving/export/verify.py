"""Checks an existing artefact again: the bytes of its files, its signatures and its answers."""

from pathlib import Path

from serving.runtime.artefact import MANIFEST, check_files, read_manifest


def verify(directory, log=lambda stage: None):
    """The parity report of the artefact at `directory`; "extra" lists the files that its manifest does not list.

    First every file is compared with its SHA-256. Then the Keras model in the artefact runs on a grid of inputs, and a
    new process compares the SavedModel and the ONNX graphs with its results.

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
    log("checking parity in a fresh process")
    return compare(kind, tokenizers, directory, manifest["texts"]) | {"extra": extra}
