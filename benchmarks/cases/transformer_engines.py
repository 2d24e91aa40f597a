"""One training step of the same Transformer in three libraries: ours, KerasHub's layers, PyTorch's.

Pre-LN, ReLU, sinusoidal positions, one embedding for source, target and output, label smoothing 0.1, Adam (0.9, 0.98),
float32. Dropout is on the sums of embeddings and positions and on each branch, as in the paper; what the peers add (on
attention weights, inside the feed-forward) is switched off. Engines take the weights of `draw`; their
functions make an update and return the loss.
"""

import numpy as np

SMOOTHING, RATE, BETAS, EPSILON = 0.1, 1e-4, (0.9, 0.98), 1e-9


def attentions(side):
    return ("attention", "cross_attention") if side == "decoder" else ("attention",)


def parts(side):
    """The names of a layer's matrices."""
    return [f"{part}.{name}" for part in attentions(side) for name in "qkvo"] + ["hidden", "output"]


def draw(size, seed=0):
    """`{name: array}`: the matrices of a model, `(inputs, outputs)`; biases start at 0 and gains at 1 everywhere."""
    rng = np.random.default_rng(seed)
    units, hidden = size["units"], size["hidden_units"]
    shapes = {"embedding": (size["vocabulary"], units)}
    for side in ("encoder", "decoder"):
        for layer in range(size["layers"]):
            own = {"hidden": (units, hidden), "output": (hidden, units)}
            shapes |= {f"{side}.{layer}.{name}": own.get(name, (units, units)) for name in parts(side)}
    return {
        name: rng.normal(0, (units if name == "embedding" else sum(shape) / 2) ** -0.5, shape).astype("float32")
        for name, shape in shapes.items()
    }


def make_batch(size, seed=0):
    """Sources and targets of one length, the last quarter of half the sources being padding."""
    rng = np.random.default_rng(seed)
    shape = size["batch"], size["time"]
    lengths = np.where(np.arange(shape[0]) % 2, shape[1], shape[1] - shape[1] // 4)
    ids = {name: rng.integers(4, size["vocabulary"], shape) for name in ("source_ids", "target_ids", "labels")}
    batch = {**ids, "source_lengths": lengths}
    return {name: value.astype("int32") for name, value in batch.items()} | {"weights": np.ones(shape, "float32")}


def ours(threads, size, dropout, dtype="float32"):
    """Our layers and our compiled step, on the backend of KERAS_BACKEND; `dtype` is a policy of Keras."""
    from harness.gradients import begin_training

    begin_training(threads)
    import keras

    keras.config.set_dtype_policy(dtype)
    weights = draw(size)
    from zoo.depth import make_stack
    from zoo.models import Transformer

    sizes = size["layers"], size["units"], size["heads"], size["hidden_units"]
    stacks = [make_stack(*sizes, dropout=dropout, cross=cross, seed=index) for index, cross in enumerate((False, True))]
    model = Transformer(size["vocabulary"], size["vocabulary"], *stacks, shared=True, dropout=dropout, seed=7)
    model.build()
    model.target_embedding.matrix.assign(weights["embedding"])
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        for index, block in enumerate(stack.blocks):
            for part in attentions(side):
                for name in ("query", "key", "value", "output"):
                    kernel = getattr(getattr(block, part), f"{name}_projection").kernel
                    kernel.assign(weights[f"{side}.{index}.{part}.{name[0]}"])
            block.feedforward.hidden.kernel.assign(weights[f"{side}.{index}.hidden"])
            block.feedforward.output_projection.kernel.assign(weights[f"{side}.{index}.output"])
    return _keras_step(model, size)


def keras_hub(threads, size, dropout, dtype="float32"):
    """KerasHub's layers in a Keras model, trained by our compiled step (its own has no smoothed sparse loss)."""
    from harness.gradients import begin_training

    begin_training(threads)
    import keras

    keras.config.set_dtype_policy(dtype)
    weights = draw(size)
    import keras_hub.layers as hub

    from zoo.core.masks import length_mask

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = hub.ReversibleEmbedding(size["vocabulary"], size["units"])
            self.positions = hub.SinePositionEncoding()
            self.drops = [keras.layers.Dropout(dropout, seed=index) for index in range(2)]
            self.norms = [keras.layers.LayerNormalization(epsilon=1e-5) for _ in range(2)]
            shape = (None, None, size["units"])
            self.sides = {"encoder": [], "decoder": []}
            for side, kind, shapes in (
                ("encoder", hub.TransformerEncoder, (shape,)),
                ("decoder", hub.TransformerDecoder, (shape, shape)),
            ):
                for _ in range(size["layers"]):
                    layer = kind(size["hidden_units"], size["heads"], dropout=dropout, normalize_first=True)
                    layer.build(*shapes)
                    self.sides[side].append(layer)

        def call(self, inputs, training=None):
            mask = length_mask(inputs["source_lengths"], inputs["source_ids"].shape[1])
            x, y = (self._embed(inputs[f"{name}_ids"], training, i) for i, name in enumerate(("source", "target")))
            for layer in self.sides["encoder"]:
                x = layer(x, padding_mask=mask, training=training)
            x = self.norms[0](x)
            for layer in self.sides["decoder"]:
                y = layer(y, x, encoder_padding_mask=mask, training=training)
            return self.embedding(self.norms[1](y), reverse=True)

        def _embed(self, ids, training, index):
            x = self.embedding(ids) * size["units"] ** 0.5
            return self.drops[index](x + self.positions(x), training=training)

    model = Model()
    model({name: value for name, value in make_batch(size).items() if name not in ("labels", "weights")})
    model.embedding.embeddings.assign(weights["embedding"])
    for side, stack in model.sides.items():
        for index, layer in enumerate(stack):
            for part in attentions(side):
                attention = layer._cross_attention_layer if part[0] == "c" else layer._self_attention_layer
                attention._dropout = 0.0
                for name in ("query", "key", "value", "output"):
                    kernel = getattr(attention, f"_{name}_dense").kernel
                    kernel.assign(weights[f"{side}.{index}.{part}.{name[0]}"].reshape(kernel.shape))
            layer._feedforward_intermediate_dense.kernel.assign(weights[f"{side}.{index}.hidden"])
            layer._feedforward_output_dense.kernel.assign(weights[f"{side}.{index}.output"])
    return _keras_step(model, size)


def _keras_step(model, size):
    import keras

    from zoo.training import SmoothedCrossEntropy, make_steps

    optimizer = keras.optimizers.Adam(RATE, *BETAS, EPSILON)
    steps, batch = make_steps(model, optimizer, SmoothedCrossEntropy(SMOOTHING)), make_batch(size)
    return _reading(lambda: steps.train(batch))


def _reading(begin):
    """A step that waits for its loss; `begin`, its attribute, does not wait."""

    def step():
        return float(begin())

    step.begin = begin
    return step


def torch_compiled(threads, size, dropout, dtype="float32"):
    return torch_eager(threads, size, dropout, dtype, compiled=True)


def torch_eager(threads, size, dropout, dtype="float32", compiled=False):
    """`torch.nn.Transformer` with fused Adam, on a GPU if there is one; `mixed_bfloat16` is autocast."""
    import torch
    from torch import nn

    torch.set_num_threads(threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        torch.set_float32_matmul_precision("high")  # tf32, as JAX computes float32 there
    weights = draw(size)

    units, layers = size["units"], size["layers"]
    sizes = size["heads"], layers, layers, size["hidden_units"]
    core = nn.Transformer(units, *sizes, dropout=dropout, batch_first=True, norm_first=True)
    embedding, drop = nn.Embedding(size["vocabulary"], units), nn.Dropout(dropout)

    with torch.no_grad():
        embedding.weight.copy_(torch.tensor(weights["embedding"]))
        for name, value in core.named_parameters():
            if name.endswith("bias"):
                value.zero_()
        for side, stack in (("encoder", core.encoder), ("decoder", core.decoder)):
            for index, layer in enumerate(stack.layers):
                here = {name: torch.tensor(weights[f"{side}.{index}.{name}"].T) for name in parts(side)}
                for part, attention in (("attention", "self_attn"), ("cross_attention", "multihead_attn")):
                    if f"{part}.q" in here:
                        attention = getattr(layer, attention)
                        attention.dropout = 0.0
                        attention.in_proj_weight.copy_(torch.cat([here[f"{part}.{name}"] for name in "qkv"]))
                        attention.out_proj.weight.copy_(here[f"{part}.o"])
                layer.dropout.p = 0.0
                layer.linear1.weight.copy_(here["hidden"])
                layer.linear2.weight.copy_(here["output"])
    core, embedding = core.to(device), embedding.to(device)
    rates = 10_000.0 ** -(torch.arange(units) // 2 * 2 / units)
    angles = torch.arange(size["time"])[:, None] * rates
    positions = torch.where(torch.arange(units) % 2 == 0, angles.sin(), angles.cos()).to(device)
    causal = torch.triu(torch.ones(size["time"], size["time"], dtype=torch.bool), 1).to(device)

    def embed(ids):
        return drop(embedding(ids) * units**0.5 + positions)

    def compute_loss(source_ids, padding, target_ids, labels):
        states = core(
            embed(source_ids), embed(target_ids), tgt_mask=causal, tgt_is_causal=True,
            src_key_padding_mask=padding, memory_key_padding_mask=padding,
        )  # fmt: skip
        logits = states @ embedding.weight.T
        return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=SMOOTHING)

    core.train()
    parameters = [*core.parameters(), *embedding.parameters()]
    optimizer = torch.optim.Adam(parameters, RATE, BETAS, EPSILON, fused=True)
    compute = torch.compile(compute_loss) if compiled else compute_loss

    batch = {name: torch.from_numpy(value).to(device) for name, value in make_batch(size).items()}
    padding = torch.arange(size["time"], device=device) >= batch["source_lengths"][:, None]
    labels = batch["labels"].long()

    def begin():
        with torch.autocast(device, torch.bfloat16, enabled=dtype == "mixed_bfloat16"):
            loss = compute(batch["source_ids"], padding, batch["target_ids"], labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return _reading(begin)
