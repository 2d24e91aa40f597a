"""The papers' equations in NumPy float64, as they are written there, and not from our code.

A row vector `x` is a position; `[a, b]` is `np.concatenate`; a step is `(x, states) -> states`, where
`states[0]` is the output.
"""

import numpy as np


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def simple_rnn(W, U, b):
    """`h = tanh(W x + U h' + b)`."""
    return lambda x, states: (np.tanh(x @ W + states[0] @ U + b),)


def gru_reset_before(Wu, bu, Wr, br, Wc, bc):
    """`c~ = tanh(Wc [Gr * c', x] + bc)`, `c = Gu * c~ + (1 - Gu) * c'`."""

    def step(x, states):
        c = states[0]
        update = sigmoid(np.concatenate([c, x]) @ Wu + bu)
        reset = sigmoid(np.concatenate([c, x]) @ Wr + br)
        candidate = np.tanh(np.concatenate([reset * c, x]) @ Wc + bc)
        return (update * candidate + (1.0 - update) * c,)

    return step


def gru_reset_after(W, U, b):
    """`h~ = tanh(W x + b_i + r * (U h' + b_r))`, `h = z * h' + (1 - z) * h~`; dicts by gate."""

    def step(x, states):
        h = states[0]
        z, r = (sigmoid(x @ W[g] + b[g][0] + h @ U[g] + b[g][1]) for g in "zr")
        candidate = np.tanh(x @ W["h"] + b["h"][0] + r * (h @ U["h"] + b["h"][1]))
        return (z * h + (1.0 - z) * candidate,)

    return step


def lstm(W, U, b):
    """`c = f * c' + i * g`, `h = o * tanh(c)`; dicts by gate."""

    def step(x, states):
        h, c = states
        i, f, o = (sigmoid(x @ W[gate] + h @ U[gate] + b[gate]) for gate in "ifo")
        c = f * c + i * np.tanh(x @ W["g"] + h @ U["g"] + b["g"])
        return o * np.tanh(c), c

    return step


def run(step, inputs, states):
    """Outputs at every position of one row, and the final states."""
    outputs = []
    for x in inputs:
        states = step(x, states)
        outputs.append(states[0])
    return outputs, states


def encode(forward, backward, inputs, lengths, units, states=1):
    """Both directions over each row's true length: outputs, 0 on padding, and final states."""
    outputs, finals = [], []
    for row, length in zip(inputs.astype("float64"), lengths, strict=True):
        start = (np.zeros(units),) * states
        ahead, last = run(forward, row[:length], start)
        back, first = run(backward, row[:length][::-1], start)
        both = np.zeros((len(row), 2 * units))
        for position in range(length):
            both[position] = np.concatenate([ahead[position], back[length - 1 - position]])
        outputs.append(both)
        finals.append([np.concatenate(pair) for pair in zip(last, first, strict=True)])
    return np.stack(outputs), [np.stack(leaf) for leaf in zip(*finals, strict=True)]


def additive_score(v, W, b):
    """`e(s, h) = v^T tanh(W [h, s] + b)`."""
    return lambda s, h: v @ np.tanh(np.concatenate([h, s]) @ W + b)


def dot_score(W_Q, W_K):
    """`e(s, h) = k^T q`, `k = W_K h`, `q = W_Q s`."""
    return lambda s, h: (h @ W_K) @ (s @ W_Q)


def attend(score, s, values):
    """`a = softmax_i e(s, h_i)`, `c = sum_i a_i h_i` over one row's true positions."""
    if not len(values):
        return np.zeros(values.shape[-1]), np.zeros(0)
    weights = softmax(np.array([score(s, h) for h in values]))
    return sum(a * h for a, h in zip(weights, values, strict=True)), weights


# Keras keeps the gates side by side: GRU [z, r, h], LSTM [i, f, g, o].


def numpy(*weights):
    return [np.asarray(weight, "float64") for weight in weights]


def split(array, gates):
    return dict(zip(gates, np.split(array, len(gates), axis=-1), strict=True))


def from_keras(name, cell):
    """The oracle of a Keras cell's weights, and how many states it has."""
    W, U, b = numpy(cell.kernel, cell.recurrent_kernel, cell.bias)
    if name == "simple_rnn":
        return simple_rnn(W, U, b), 1
    if name == "lstm":
        return lstm(split(W, "ifgo"), split(U, "ifgo"), split(b, "ifgo")), 2
    if name == "gru":
        return gru_reset_after(split(W, "zrh"), split(U, "zrh"), split(b, "zrh")), 1
    W, U, b = split(W, "zrh"), split(U, "zrh"), split(b, "zrh")
    joined = {gate: np.concatenate([U[gate], W[gate]]) for gate in "zrh"}
    # z = 1 - Gu, and 1 - sigmoid(a) = sigmoid(-a): the update gate's weights change their sign.
    update = (-joined["z"], -b["z"])
    return gru_reset_before(*update, joined["r"], b["r"], joined["h"], b["h"]), 1


def score_of(attention):
    """The oracle of an attention layer's weights."""
    (W_s,) = numpy(attention.query_projection.kernel)
    (W_h,) = numpy(attention.key_projection.kernel)
    if not hasattr(attention, "vector"):
        return dot_score(attention.scale * W_s, W_h)
    v, b = numpy(attention.vector, attention.key_projection.bias)
    return additive_score(v, np.concatenate([W_h, W_s]), b)
