"""The Transformer papers' equations in NumPy float64, as they are written there, and not from our code.

One row at a time, without its padding: `x` is `(time, units)`. Each function takes the layer whose weights it copies.
"""

import math

import numpy as np

from tests.oracles import numpy, softmax


def affine(dense):
    """`x W + b`."""
    weights = numpy(*dense.weights)
    bias = weights[1] if len(weights) > 1 else 0.0
    return lambda x: x @ weights[0] + bias


def layer_norm(layer):
    """`(x - mean) / sqrt(variance + epsilon) * gain + bias`; without a bias `x / sqrt(mean(x^2) + epsilon) * gain`."""
    gain, *bias = numpy(*layer.weights)

    def normalise(x):
        centred = x - x.mean(axis=-1, keepdims=True) if bias else x
        return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + layer.epsilon) * gain + sum(bias)

    return normalise


def multi_head(layer):
    """`Concat(head_1, ..., head_h) W_O`, `head_i = softmax(Q_i K_i^T / sqrt(d_k)) V_i`; `causal`: keys up to t."""
    queries, keys, values, output = (
        affine(getattr(layer, f"{name}_projection")) for name in ("query", "key", "value", "output")
    )
    d_k = layer.head_units or layer.units // layer.num_heads
    bias = t5_bias(layer) if type(layer).__name__ == "RelativeAttention" else lambda *place: 0.0

    def attend(x, z, causal=False):
        Q, K, V = queries(x), keys(z), values(z)
        mixed = np.zeros((len(x), layer.num_heads * d_k))
        for t in range(len(x)):
            seen = min(t + 1, len(z)) if causal else len(z)
            for head in range(layer.num_heads if seen else 0):
                i = slice(head * d_k, (head + 1) * d_k)
                scores = [Q[t, i] @ K[s, i] / math.sqrt(d_k) + bias(head, s - t, causal) for s in range(seen)]
                weights = softmax(np.array(scores))
                mixed[t, i] = sum(a * V[s, i] for s, a in enumerate(weights))
        return output(mixed)

    return attend


def ssru(layer):
    """`h_t = max(0, c_t)`, `c_t = f_t c_(t-1) + (1 - f_t) W x_t`, `f_t = 1 / (1 + exp(-(W_f x_t + b_f)))`."""
    new, gate = affine(layer.input_projection), affine(layer.gate)

    def recur(x, z, causal=False):
        assert causal and z is x
        states, state = [], np.zeros(layer.units)
        for t in range(len(x)):
            f = 1.0 / (1.0 + np.exp(-gate(x[t])))
            state = f * state + (1.0 - f) * new(x[t])
            states.append(np.maximum(state, 0.0))
        return np.array(states).reshape(len(x), layer.units)

    return recur


def attention(layer):
    """What stands in the slot of self-attention."""
    return ssru(layer) if type(layer).__name__ == "SSRU" else multi_head(layer)


def t5_bias(layer):
    """`b_head[bucket(s - t)]`: half of the buckets for one distance each, the others by the distance's logarithm.

    The bucket of a distance in both directions is that of half as many buckets, behind which those of what follows are.
    """
    (biases,) = numpy(layer.biases)

    def bucket(distance, count):
        exact = count // 2
        if distance < exact:
            return distance
        log = math.log(distance / exact) / math.log(layer.max_distance / exact)
        return min(count - 1, exact + int(log * (count - exact) + 1e-7))

    def bias(head, relative, causal):
        half = layer.num_buckets // 2
        if causal:
            return biases[bucket(-relative, layer.num_buckets), head]
        return biases[bucket(abs(relative), half) + (half if relative > 0 else 0), head]

    return bias


def feed_forward(layer):
    """`max(0, x W_1 + b_1) W_2 + b_2`, or with another function than `max(0, a)`, or with gates."""
    first, second = affine(layer.hidden), affine(layer.output_projection)
    gate = affine(layer.gated) if type(layer).__name__ == "GatedFeedForward" else lambda x: 1.0
    activation = np.vectorize(FUNCTIONS[layer.activation], otypes=["float64"])
    return lambda x: second(activation(first(x)) * gate(x))


FUNCTIONS = {
    "relu": lambda a: max(a, 0.0),
    "gelu": lambda a: 0.5 * a * (1.0 + math.erf(a / math.sqrt(2.0))),
    "gelu_tanh": lambda a: 0.5 * a * (1.0 + math.tanh(math.sqrt(2.0 / math.pi) * (a + 0.044715 * a**3))),
    "silu": lambda a: a / (1.0 + math.exp(-a)),
}


def sinusoids(time, units):
    """`P[t, 2i] = sin(t / 10000^(2i/d))`, `P[t, 2i+1] = cos(t / 10000^(2i/d))`."""
    table = np.zeros((time, units))
    for t in range(time):
        for channel in range(units):
            angle = t / 10000 ** (2 * (channel // 2) / units)
            table[t, channel] = math.cos(angle) if channel % 2 else math.sin(angle)
    return table


def post_norm(block):
    """`x <- LN(x + Sub(x))`."""
    norms = [layer_norm(norm) for norm in block.norms]

    def run(x, memory=None, causal=False):
        attend, forward = attention(block.attention), feed_forward(block.feedforward)
        x = norms[0](x + attend(x, x, causal))
        if memory is not None:
            x = norms[1](x + multi_head(block.cross_attention)(x, memory))
        return norms[-1](x + forward(x))

    return run


def pre_norm(block):
    """`x <- x + Sub(LN(x))`."""
    norms = [layer_norm(norm) for norm in block.norms]

    def run(x, memory=None, causal=False):
        attend, forward = attention(block.attention), feed_forward(block.feedforward)
        h = norms[0](x)
        x = x + attend(h, h, causal)
        if memory is not None:
            x = x + multi_head(block.cross_attention)(norms[1](x), memory)
        return x + forward(norms[-1](x))

    return run


def macaron(block):
    """`x~ = x + 1/2 FFN_1(x)`, `x^ = x~ + MHA(x~)`, (`+ MHA(x^, m)`,) `x' = x^ + 1/2 FFN_2(x^)`, each behind an LN."""
    norms = [layer_norm(norm) for norm in block.norms]

    def run(x, memory=None, causal=False):
        x = x + 0.5 * feed_forward(block.first)(norms[0](x))
        h = norms[1](x)
        x = x + attention(block.attention)(h, h, causal)
        if memory is not None:
            x = x + multi_head(block.cross_attention)(norms[2](x), memory)
        return x + 0.5 * feed_forward(block.feedforward)(norms[-1](x))

    return run


BLOCKS = {"PostNorm": post_norm, "PreNorm": pre_norm, "Macaron": macaron}


def stack(layer):
    """Block after block, and one more LN where the residual stream has none on its way.

    Of a universal stack without halting and without positions, one block several times.
    """

    def run(x, memory=None, causal=False):
        for block in layer.blocks * (1 if type(layer).__name__ == "Stack" else layer.steps):
            x = BLOCKS[type(block).__name__](block)(x, memory, causal)
        return x if type(layer.blocks[-1]).__name__ == "PostNorm" else layer_norm(layer.final_norm)(x)

    return run


def embed(ids, embedding, positions):
    """`x = sqrt(d) E[id]`, or without the factor, with its positions."""
    (table,) = numpy(embedding.matrix)
    return place((math.sqrt(table.shape[1]) if embedding.scaled else 1.0) * table[ids], positions)


def place(x, positions):
    """`x_t + P_t`, or `x_t + max(0, b + sum_k W_k x_(t + k - width // 2))`; around it a norm and a projection."""
    kind = type(positions).__name__
    if kind == "NormalizedPositions":
        x = place(x, positions.positions)
        x = layer_norm(positions.norm)(x) if positions.epsilon else x
        return affine(positions.projection)(x) if positions.units else x
    if kind == "NoPositions":
        return x
    if kind == "SinusoidalPositions":
        return x + sinusoids(*x.shape)
    return x + numpy(positions.matrix)[0][: len(x)] if kind == "LearnedPositions" else convolve(positions, x)


def convolve(layer, x):
    kernel, bias = numpy(*layer.mix.weights)
    units, side = x.shape[1], layer.width // 2
    mixed = np.tile(bias, (len(x), 1))
    for t in range(len(x)):
        for k in range(layer.width):
            if 0 <= t + k - side < len(x):
                mixed[t] += x[t + k - side] @ kernel[k * units : (k + 1) * units]
    return x + np.maximum(mixed, 0.0)


def logits(embedding, x):
    """`x E^T`, or `x O^T + b` where the output has a matrix and a bias of its own."""
    matrix, *rest = numpy(*embedding.weights)
    matrix = matrix if embedding.tied else rest.pop(0)
    return x @ matrix.T + sum(rest)


def transformer(model, source, target):
    """Logits behind each token of one target, given one source."""
    memory = stack(model.encoder)(embed(source, model.source_embedding, model.source_positions))
    outputs = stack(model.decoder)(embed(target, model.target_embedding, model.positions), memory, causal=True)
    return logits(model.target_embedding, outputs)


def language_model(model, text):
    outputs = stack(model.decoder)(embed(text, model.embedding, model.positions), causal=True)
    return logits(model.embedding, outputs)


def classifier(model, text):
    states = stack(model.encoder)(embed(text, model.embedding, model.positions))
    h = states.mean(axis=0) if len(text) else np.zeros(model.encoder.units)
    if model.pooling is not None:
        h = pool(model.pooling, states) if len(text) else pool(model.pooling, h[None])
    return affine(model.readout)(h)


def pool(layer, states):
    """The mean or the first state; behind it `f(W h + b)`."""
    h = states[0] if layer.rule == "first" else states.mean(axis=0)
    functions = {None: lambda a: a, "tanh": np.tanh, "relu": lambda a: np.maximum(a, 0.0)}
    return functions[layer.dense](h if layer.dense is None else affine(layer.projection)(h))


def tagger(model, text):
    return affine(model.readout)(stack(model.encoder)(embed(text, model.embedding, model.positions)))
