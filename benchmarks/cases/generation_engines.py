"""Our generation: one ONNX graph in ONNX Runtime; and the weights of its model, for a peer that reads them."""

from pathlib import Path

from harness.apart import export_apart

ALPHA = 0.6
POSITIONS = 512


def make_inputs(size, batch):
    import numpy as np

    ids = np.random.default_rng(0).integers(4, size["vocabulary"], (batch, size["source"])).astype("int32")
    return ids, np.full(batch, size["source"], "int32")


def ours(threads, folder, layers, beams, batch, size, precision):
    """Export the model, unless it is there, and answer with the best output of every row."""
    folder = Path(folder)
    if not (folder / "int8.onnx").exists():  # the last one
        export_apart(_export, folder, layers, beams, size)
    import onnxruntime

    from serving.runtime.sessions import session_options

    session = onnxruntime.InferenceSession(str(folder / f"{precision}.onnx"), session_options(threads))
    ids, lengths = make_inputs(size, batch)
    inputs = {"token_ids": ids, "lengths": lengths}
    return lambda: session.run(["output_ids"], inputs)[0][:, 0].tolist()


def _export(folder, layers, beams, size):
    from serving.export.onnx.convert import convert, write
    from serving.export.onnx.quantize import quantize
    from serving.export.onnx.ranges import observe
    from serving.export.signatures import find, generation

    folder.mkdir(parents=True, exist_ok=True)
    model = make_model(layers, size)
    write_weights(model, folder / "weights.npz")
    signature = find(model.signatures(), "tokens").fix(beams=beams, output_time=size["steps"])
    graph = convert(generation(model, beams, size["steps"], ALPHA), signature)
    write(graph, folder / "float32.onnx")
    seen = observe(graph, [dict(zip(("token_ids", "lengths"), make_inputs(size, 8), strict=True))])
    write(quantize(graph, seen), folder / "int8.onnx")


def make_model(layers, size):
    """Random weights: EOS never wins, and a token depends on more than the one before it."""
    import keras
    import numpy as np

    from zoo.decoding.loop import EOS
    from zoo.depth import make_stack
    from zoo.models import Transformer

    keras.utils.set_random_seed(0)
    sizes = layers, size["units"], size["heads"], size["hidden"]
    stacks = [make_stack(*sizes, cross=cross, dropout=0.0) for cross in (False, True)]
    model = Transformer(size["vocabulary"], size["vocabulary"], *stacks, dropout=0.0)
    model.build()
    for block in model.decoder.blocks:  # branches that outweigh the embedding of the last token
        for layer in (block.attention, block.cross_attention, block.feedforward):
            kernel = layer.output_projection.kernel
            kernel.assign(16.0 * kernel)
    shift, matrix = np.zeros(size["units"], "float32"), keras.ops.convert_to_numpy(model.target_embedding.matrix).copy()
    shift[0], matrix[:, 0], matrix[EOS] = 5.0, 0.0, 0.0
    matrix[EOS, 0] = -200.0  # component 0 of what is multiplied by the matrix is about 5, and only EOS looks at it
    model.decoder.final_norm.beta.assign(shift)
    model.target_embedding.matrix.assign(matrix)
    return model


def write_weights(model, path):
    """The weights of a pre-norm `Transformer` by names that say where they belong: `side.layer.part.name`."""
    import keras
    import numpy as np

    array, found = keras.ops.convert_to_numpy, {}

    def norm(name, layer):
        found[f"{name}.gamma"], found[f"{name}.beta"] = array(layer.gamma), array(layer.beta)

    def linear(name, *products):
        found[f"{name}.weight"] = np.concatenate([array(product.kernel).T for product in products])
        found[f"{name}.bias"] = np.concatenate([array(product.bias) for product in products])

    embeddings = {"encoder": model.source_embedding, "decoder": model.target_embedding}
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        found[f"{side}.embedding"] = array(embeddings[side].matrix)
        found[f"{side}.positions"] = array(model.positions.at(np.arange(POSITIONS), stack.units))
        norm(f"{side}.norm", stack.final_norm)
        for index, block in enumerate(stack.blocks):
            here, own, ffn = f"{side}.{index}", block.attention, block.feedforward
            for name, layer in zip(block.present, block.norms, strict=True):
                norm(f"{here}.{name}.norm", layer)
            linear(f"{here}.attention.qkv", own.query_projection, own.key_projection, own.value_projection)
            linear(f"{here}.attention.output", own.output_projection)
            if block.cross_attention is not None:
                cross = block.cross_attention
                linear(f"{here}.cross_attention.query", cross.query_projection)
                linear(f"{here}.cross_attention.kv", cross.key_projection, cross.value_projection)
                linear(f"{here}.cross_attention.output", cross.output_projection)
            linear(f"{here}.feedforward.hidden", ffn.hidden)
            linear(f"{here}.feedforward.output", ffn.output_projection)
    np.savez(path, **found)
