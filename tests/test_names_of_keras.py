"""No public name of Keras means something else in the zoo: what Keras asks a layer for, works.

`zoo.check.of_keras` has the rule, which layers of others are asked, too.
"""

import keras
import numpy as np
import pytest

from tests.constructor_samples import SAMPLES
from tests.models import cases as models
from tests.test_constructor_arguments import PUBLIC, made
from zoo.check import laws
from zoo.check.of_keras import hidden_names, hiding_attributes


@pytest.mark.parametrize("name", PUBLIC)
def test_no_method_hides_a_name_of_keras(name):
    hidden = hidden_names(PUBLIC[name])
    assert not hidden, f"{name} hides Keras' own: {hidden}"


@pytest.mark.parametrize("name", PUBLIC)
def test_no_attribute_hides_a_name_of_keras(name):
    for sample in SAMPLES[name]:
        layer = PUBLIC[name](**made(sample))
        if isinstance(layer, keras.layers.Layer):
            assert not hiding_attributes(layer)


class Wrong(keras.Model):
    """What the rule is there to find, and in `build` and `call` what it is there to let pass."""

    path = "somewhere"

    def __init__(self):
        super().__init__()
        self.add_loss, self.kept = "mse", 3

    def summary(self, inputs, training=None):
        return inputs

    def count_params(self, kind):
        return kind

    @property
    def get_weights(self):
        return []

    def get_metrics_result(self, kind=None):
        return kind

    def build(self, inputs_shape, memory_shape):
        self.built = True

    def call(self, inputs, memory):
        return inputs


def test_the_rule_finds_what_hides_a_name():
    assert set(hidden_names(Wrong)) == {"path", "summary", "count_params", "get_weights"}
    assert hiding_attributes(Wrong()) == ["add_loss"]


@pytest.mark.parametrize("case", [case for case in models.CASES if case.core], ids=lambda case: case.name)
def test_every_model_is_summed_up_by_keras(case):
    built, lines = laws.build(case), []
    built.layer.summary(print_fn=lines.append)
    total = sum(int(np.prod(weight.shape)) for weight in built.layer.weights)
    assert f"Total params: {total:,}" in "\n".join(lines)
    paths = [layer.path for layer in built.layer._flatten_layers()]
    assert all(isinstance(path, str) or path is None for path in paths), paths
