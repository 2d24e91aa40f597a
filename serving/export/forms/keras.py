"""The Keras model itself: the form from which all others are made, and with which they are compared."""

from serving.export.forms.base import Form
from serving.lazy import later
from serving.runtime.errors import DamagedError

keras = later("keras")
keras_file = later("zoo.core.storage")  # by `later`, since the process that checks the forms must not import the zoo
safety = later("zoo.hub.keras_file")
storage = later("serving.export.storage")


class KerasModel(Form):
    """`model.keras`, for `keras.models.load_model` after `import zoo`.

    The process that exports asks the model in its memory (`serving.export.kinds`), so this form is not opened there.
    """

    name, title = "keras", "Keras"
    order = 0
    is_source = True
    packages = ("keras",)
    file = "model.keras"

    @classmethod
    def write(cls, kind, tokenizers, directory, log):
        log(f"writing {cls.file}")
        keras_file.save_model(kind.model, directory / cls.file)
        in_full = kind.settings.storage == "float32"
        if kind.large or not in_full:
            storage.rewrite(directory / cls.file, packed=in_full)

    @classmethod
    def load(cls, directory):
        """The model of an artefact, after a check that its file runs no program."""
        cls.check_safe(directory)  # which imports zoo, so that Keras knows its classes
        return keras.models.load_model(directory / cls.file, compile=False)

    @classmethod
    def check_safe(cls, directory):
        try:
            safety.check_keras(directory / cls.file)
        except safety.UnsafeError as error:
            raise DamagedError(str(error)) from error

    @classmethod
    def published_files(cls, manifest, graphs):
        return [cls.file]


FORM = KerasModel
