"""One training step of the same recurrent translator, and the gradient of the same encoder: ours, and PyTorch's.

A bidirectional encoder; additive attention by the decoder's state before the step; `[s; c; y]` to the logits by a
hidden layer and the target embedding; cross-entropy, Adam, float32, no dropout, rows of one length. The peer is the
loop that users of PyTorch write: `nn.GRU` or `nn.LSTM` for the encoder, `nn.GRUCell` or `nn.LSTMCell` step by step for
the decoder, all outputs to the logits at once. Both take the weights of `draw`.
"""

import numpy as np

RATE, BETAS, EPSILON = 1e-3, (0.9, 0.98), 1e-8
GATES = {"gru": 3, "lstm": 4}
START = 2  # the id of BOS


def shapes(cell, units, vocabulary):
    """`{name: shape}` of the weights, in the order in which the model has them, in Keras' layout."""
    wide = GATES[cell] * units

    def recurrence(name, width):
        bias = (2, wide) if cell == "gru" else (wide,)
        return {f"{name}.kernel": (width, wide), f"{name}.recurrent": (units, wide), f"{name}.bias": bias}

    bridges = {"bridge": (2 * units, units), "bridge.bias": (units,)}
    if cell == "lstm":
        bridges |= {"bridge.cell": (2 * units, units), "bridge.cell.bias": (units,)}
    return {
        "bias": (vocabulary,),
        "source": (vocabulary, units),
        "target": (vocabulary, units),
        **recurrence("forward", units),
        **recurrence("backward", units),
        **{"vector": (units,), "query": (units, units), "key": (2 * units, units), "key.bias": (units,)},
        **recurrence("decoder", 3 * units),
        **bridges,
        **{"readout": (4 * units, units), "readout.bias": (units,)},
    }


def draw(cell, units, vocabulary, seed=0):
    rng = np.random.default_rng(seed)
    found = shapes(cell, units, vocabulary)
    return {name: rng.uniform(-1, 1, shape).astype("float32") * units**-0.5 for name, shape in found.items()}


def make_batch(vocabulary, batch, time, seed=0):
    rng = np.random.default_rng(seed)
    ids = {name: rng.integers(4, vocabulary, (batch, time)).astype("int32") for name in ("source_ids", "labels")}
    targets = np.concatenate([np.full((batch, 1), START, "int32"), ids["labels"][:, :-1]], axis=1)
    return {**ids, "target_ids": targets}


def ours(threads, cell, units, batch, time, vocabulary):
    """Our compiled training step, on the backend of KERAS_BACKEND."""
    from harness.gradients import begin_training

    begin_training(threads)
    import keras

    from zoo.models import Seq2Seq
    from zoo.training import SmoothedCrossEntropy, make_steps

    model = Seq2Seq(vocabulary, vocabulary, units=units, cell=cell, attention="additive", seed=1)
    model.build()
    for variable, values in zip(model.weights, draw(cell, units, vocabulary).values(), strict=True):
        variable.assign(values)
    steps = make_steps(model, keras.optimizers.Adam(RATE, *BETAS, EPSILON), SmoothedCrossEntropy(0.0))
    data = make_batch(vocabulary, batch, time)
    data |= {"source_lengths": np.full(batch, time, "int32"), "weights": np.ones((batch, time), "float32")}
    return lambda: float(steps.train(data))


def torch(threads, cell, units, batch, time, vocabulary):
    """The loop that users of PyTorch write, eager."""
    import torch
    from torch import nn
    from torch.nn import functional

    torch.set_num_threads(threads)
    weights = {name: torch.tensor(values) for name, values in draw(cell, units, vocabulary).items()}
    lstm = cell == "lstm"
    encoder = (nn.LSTM if lstm else nn.GRU)(units, units, batch_first=True, bidirectional=True)
    step = (nn.LSTMCell if lstm else nn.GRUCell)(3 * units, units)
    with torch.no_grad():
        for suffix, name in (("_l0", "forward"), ("_l0_reverse", "backward")):
            _load(encoder, suffix, weights, name, lstm)
        _load(step, "", weights, "decoder", lstm)
    names = "bias source target vector query key key.bias bridge bridge.bias readout readout.bias".split()
    names += ["bridge.cell", "bridge.cell.bias"] if lstm else []
    own = {name: nn.Parameter(weights[name]) for name in names}
    optimizer = torch.optim.Adam([*own.values(), *encoder.parameters(), *step.parameters()], RATE, BETAS, EPSILON)
    data = {name: torch.tensor(values).long() for name, values in make_batch(vocabulary, batch, time).items()}

    def train():
        values, states = encoder(own["source"][data["source_ids"]])
        last = [torch.cat(list(state), dim=-1) for state in (states if lstm else (states,))]
        state = torch.tanh(last[0] @ own["bridge"] + own["bridge.bias"])
        if lstm:
            state = (state, torch.tanh(last[1] @ own["bridge.cell"] + own["bridge.cell.bias"]))
        keys = values @ own["key"] + own["key.bias"]
        embedded, outputs = own["target"][data["target_ids"]], []
        for position in range(time):
            query = (state[0] if lstm else state) @ own["query"]
            scores = torch.tanh(query[:, None] + keys) @ own["vector"]
            context = (torch.softmax(scores, -1)[:, None] @ values)[:, 0]
            state = step(torch.cat([embedded[:, position], context], -1), state)
            outputs.append(torch.cat([state[0] if lstm else state, context], -1))
        hidden = torch.cat([torch.stack(outputs, 1), embedded], -1)
        hidden = torch.tanh(hidden @ own["readout"] + own["readout.bias"])
        logits = hidden @ own["target"].T + own["bias"]
        loss = functional.cross_entropy(logits.flatten(0, 1), data["labels"].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return float(loss)

    return train


def _load(module, suffix, weights, name, lstm):
    """Copy one recurrence from Keras' layout: `(inputs, gates)`, and of a GRU the gates z, r, h instead of r, z, n."""
    import torch

    def ordered(values):
        if lstm:
            return values
        z, r, h = values.chunk(3, dim=-1)
        return torch.cat([r, z, h], dim=-1)

    bias = weights[f"{name}.bias"]
    inputs, recurrent = (bias, bias * 0) if lstm else bias
    for kind, values in (
        ("weight_ih", ordered(weights[f"{name}.kernel"]).T),
        ("weight_hh", ordered(weights[f"{name}.recurrent"]).T),
        ("bias_ih", ordered(inputs)),
        ("bias_hh", ordered(recurrent)),
    ):
        getattr(module, kind + suffix).copy_(values)


def our_encoder(threads, cell, units, batch, time):
    """The gradient of our encoder's weights."""
    from harness.gradients import begin_training, gradient_step

    begin_training(threads)
    from zoo.recurrent import RecurrentEncoder

    encoder = RecurrentEncoder(units, cell)
    encoder.build((None, None, units))
    drawn = draw(cell, units, 4)
    parts = [f"{side}.{part}" for side in ("forward", "backward") for part in ("kernel", "recurrent", "bias")]
    for variable, name in zip(encoder.weights, parts, strict=True):
        variable.assign(drawn[name])
    return gradient_step(encoder, _inputs(units, batch, time), training=True)


def torch_encoder(threads, cell, units, batch, time):
    """The same of PyTorch's."""
    import torch
    from torch import nn

    torch.set_num_threads(threads)
    lstm = cell == "lstm"
    encoder = (nn.LSTM if lstm else nn.GRU)(units, units, batch_first=True, bidirectional=True)
    weights = {name: torch.tensor(values) for name, values in draw(cell, units, 4).items()}
    with torch.no_grad():
        for suffix, name in (("_l0", "forward"), ("_l0_reverse", "backward")):
            _load(encoder, suffix, weights, name, lstm)
    x = torch.tensor(_inputs(units, batch, time))

    def step():
        encoder.zero_grad()
        loss = encoder(x)[0].pow(2).mean()
        loss.backward()
        return float(loss)

    return step


def _inputs(units, batch, time):
    return np.random.default_rng(0).normal(size=(batch, time, units)).astype("float32")
