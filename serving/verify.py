"""Check an artefact again: bytes, names and answers."""

from pathlib import Path

from serving.artefact import check_files, read_manifest


def verify(directory, say=lambda stage: None):
    """The parity report of the artefact at `directory`.

    Compares every file with its SHA-256 first; then the Keras model in it answers over the grid, and a fresh process
    holds the SavedModel and the ONNX graphs to that.

    Raises:
        ValueError: no artefact there, or other bytes.
        ParityError: other names or other answers.
    """
    directory = Path(directory)
    manifest = read_manifest(directory)
    say("comparing hashes")
    check_files(directory, manifest)
    import keras

    import zoo  # noqa: F401  registers the classes
    from serving.parity.compare import compare
    from zoo.text import Tokenizer

    model = keras.models.load_model(directory / "model.keras")
    tokenizers = [Tokenizer.load(directory / manifest["tokenizer"][side]) for side in ("source", "target")]
    settings = {
        "beams": manifest["default_beam"],
        "max_length": manifest["max_length"],
        "alpha": manifest["alpha"],
    }
    say("checking parity in a fresh process")
    return compare(model, tokenizers, directory, settings, manifest["texts"])
