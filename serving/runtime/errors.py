"""Failures that the caller did not cause. The command line exits with 1 for them, with 2 for other `ValueError`s."""


class ServingError(ValueError):
    """An artefact cannot be written, or an existing one cannot be used."""


class ConversionError(ServingError):
    """The function cannot be converted to ONNX without a change of its results. No file was written."""


class ParityError(ServingError):
    """The results of the SavedModel or of the ONNX graphs differ from those of the Keras model."""


class DamagedError(ServingError):
    """A file is missing, has other bytes than the manifest records, or cannot be read."""


class UnsupportedError(ServingError):
    """The artefact is intact, but this installation is too old to run it."""


class StoppedError(ServingError):
    """Somebody has ended the run of a graph (`serving.runtime.sessions`)."""
