"""The gradient law can fail: on weights that do nothing, on noise, and on one that its formula says is zero."""

import keras
import pytest

from zoo.attention import MultiHeadAttention
from zoo.check import laws


class Shifted(keras.layers.Layer):
    """`softmax(x w + b)`, where one `b` is added to all: what softmax does not see."""

    def build(self, shape):
        self.w = self.add_weight(name="w", shape=(shape[-1],))
        self.b = self.add_weight(name="b", shape=(1,))

    def call(self, x):
        return keras.ops.softmax(x * self.w + self.b)


class Unused(Shifted):
    def call(self, x):
        return x * self.w + 0 * self.b


def built(layer, name="x"):
    return laws.build(laws.Case("one", layer, lambda rows, time, _: {name: laws.sequences(rows, time, 6)}))


def attention():
    return built(lambda: MultiHeadAttention(6, 2), "query")


@pytest.mark.parametrize(("layer", "said"), [(Shifted, "noise|is zero"), (Unused, "b is zero")])
def test_a_weight_that_is_not_trained_is_noticed(layer, said):
    with pytest.raises(AssertionError, match=said):
        laws.check_gradients(built(layer))


def test_a_key_bias_has_no_gradient():
    laws.check_gradients(attention())


def test_a_key_bias_that_is_seen_is_noticed(monkeypatch):
    """As it would be, were the scores anything else than `q . (k + b)` under a softmax."""
    mix_all = MultiHeadAttention.mix_all
    monkeypatch.setattr(
        MultiHeadAttention, "mix_all", lambda self, q, k, v, *masks: mix_all(self, q, keras.ops.relu(k), v, *masks)
    )
    with pytest.raises(AssertionError, match="key/bias is not zero"):
        laws.check_gradients(attention())
