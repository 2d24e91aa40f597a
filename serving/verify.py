"""Check an artefact again: bytes, names and answers."""

from pathlib import Path

from serving.artefact import MANIFEST, check_files, read_manifest


def verify(directory, log=lambda stage: None):
    """The parity report of the artefact at `directory`, and under "extra" the files that its manifest does not list.

    Compares every file with its SHA-256 first; then the Keras model in it answers over the grid, and a fresh process
    holds the SavedModel and the ONNX graphs to that.

    Raises:
        ValueError: no artefact there, or other bytes.
        ParityError: other names or other answers.
    """
    directory = Path(directory)
    manifest = read_manifest(directory)
    log("comparing hashes")
    extra = check_files(directory, manifest)
    if extra:
        log(f"note: {MANIFEST} does not list {', '.join(extra)}; nothing reads what it does not list")
    import keras

    import zoo  # noqa: F401  registers the classes
    from serving.kinds import kind_of
    from serving.parity.compare import compare
    from serving.settings import Settings
    from zoo.text import Tokenizer

    kind = kind_of(keras.models.load_model(directory / "model.keras"), Settings.of(manifest))
    tokenizers = [Tokenizer.load(directory / manifest["tokenizer"][side]) for side in kind.sides]
    log("checking parity in a fresh process")
    return compare(kind, tokenizers, directory, manifest["texts"]) | {"extra": extra}
