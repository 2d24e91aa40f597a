"""How many parameters the parts of a model have, by the formulas of the papers."""


def dense(inputs, units, bias=True):
    """`W x + b`."""
    return inputs * units + bias * units


def norm(units):
    """LayerNormalization's gain and offset."""
    return 2 * units


def multi_head(units, query=None, value=None, bias=True):
    """`W_Q, W_K, W_V, W_O` of https://arxiv.org/abs/1706.03762, section 3.2, and their biases."""
    query, value = query or units, value or units
    return dense(query, units, bias) + 2 * dense(value, units, bias) + dense(units, units, bias)


def additive(units, query, value):
    """`v^T tanh(W_s s + W_h h + b)` of https://arxiv.org/abs/1409.0473, appendix A.1.2."""
    return query * units + value * units + units + units


def dot_product(units, query, value):
    """`(W_K h)^T (W_Q s)` of https://arxiv.org/abs/1508.04025, section 3.1."""
    return query * units + value * units


def feedforward(units, hidden_units):
    """`W_2 f(W_1 x + b_1) + b_2` of https://arxiv.org/abs/1706.03762, section 3.3."""
    return dense(units, hidden_units) + dense(hidden_units, units)


def block(units, hidden_units, cross=False, feedforwards=1):
    """The sub-layers of a Transformer's block, and a norm for each."""
    attentions = 2 if cross else 1
    sublayers = attentions * multi_head(units) + feedforwards * feedforward(units, hidden_units)
    return sublayers + (attentions + feedforwards) * norm(units)


def recurrent(cell, inputs, units):
    """A kernel, a recurrent kernel and a bias for each gate; a GRU that resets after the product has two biases."""
    gates, biases = {"simple_rnn": (1, 1), "gru": (3, 2), "gru_reset_before": (3, 1), "lstm": (4, 1)}[cell]
    return gates * (inputs * units + units * units + biases * units)
