"""Failures that are nobody's wrong use: the command line ends with status 1 for them, with 2 for a `ValueError`."""


class ServingError(ValueError):
    """An artefact cannot be made, or is not what it was."""


class ConversionError(ServingError):
    """The function has no faithful ONNX form; nothing was written."""


class ParityError(ServingError):
    """The exported forms do not answer as the Keras model does."""


class DamagedError(ServingError):
    """A file is missing, has other bytes than its manifest says, or cannot be read."""


class UnsupportedError(ServingError):
    """The artefact is sound, and this installation is too old to answer by it."""
