"""Layers and models that are given other layers, and go into a file together with them."""

from keras import saving


class Composed:
    """A mixin, before the Keras class: constructor arguments that are layers, or lists of layers, in `get_config`.

    A subclass names them in `parts`; each is an attribute of the same name. A file that was written before a class had
    one of them says nothing of it, and the default is taken.
    """

    parts: tuple[str, ...] = ()

    def get_config(self):
        parts = {name: saving.serialize_keras_object(getattr(self, name)) for name in self.parts}
        return {**super().get_config(), **parts}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        given = [name for name in cls.parts if name in config]
        parts = {name: saving.deserialize_keras_object(config[name], custom_objects) for name in given}
        return cls(**{**config, **parts})
