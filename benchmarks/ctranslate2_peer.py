"""A Transformer of the zoo in CTranslate2, with the same weights: no file of another framework is converted."""

import keras
import numpy as np
from ctranslate2 import Translator
from ctranslate2.specs import TransformerSpec

from zoo.decoding.loop import BOS, EOS, PAD

SPECIAL = {PAD: "<pad>", 1: "<unk>", BOS: "<s>", EOS: "</s>"}
POSITIONS = 512

array = keras.ops.convert_to_numpy


def save(model, folder):
    """Write a pre-norm `Transformer` whose embeddings are not shared, float32, as CTranslate2 reads it."""
    heads = model.decoder.blocks[0].attention.num_heads
    spec = TransformerSpec.from_config((len(model.encoder.blocks), len(model.decoder.blocks)), heads, pre_norm=True)
    spec.encoder.embeddings[0].weight = array(model.source_embedding.matrix)
    spec.decoder.embeddings.weight = array(model.target_embedding.matrix)
    spec.decoder.projection.weight = array(model.target_embedding.matrix)
    rows = array(model.positions.at(np.arange(POSITIONS), model.encoder.units))
    for side, stack in ((spec.encoder, model.encoder), (spec.decoder, model.decoder)):
        side.position_encodings.encodings = rows
        _norm(side.layer_norm, stack.final_norm)
        for layer, block in zip(side.layer, stack.blocks, strict=True):
            _block(layer, block)
    sizes = model.source_vocab_size, model.target_vocab_size
    for vocabulary, size in zip((spec.register_source_vocabulary, spec.register_target_vocabulary), sizes, strict=True):
        vocabulary([token(index) for index in range(size)])
    settings = {"unk_token": SPECIAL[1], "bos_token": SPECIAL[BOS], "eos_token": SPECIAL[EOS]}
    settings |= {"decoder_start_token": SPECIAL[BOS], "add_source_bos": False, "add_source_eos": False}
    for name, value in settings.items():
        setattr(spec.config, name, value)
    spec.validate()
    spec.optimize()
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))


def _block(layer, block):
    norms = dict(zip(block.present, block.norms, strict=True))
    own, ffn = block.attention, block.feedforward
    _norm(layer.self_attention.layer_norm, norms["attention"])
    _linear(layer.self_attention.linear[0], own.query_projection, own.key_projection, own.value_projection)
    _linear(layer.self_attention.linear[1], own.output_projection)
    if block.cross_attention is not None:
        cross = block.cross_attention
        _norm(layer.attention.layer_norm, norms["cross_attention"])
        _linear(layer.attention.linear[0], cross.query_projection)
        _linear(layer.attention.linear[1], cross.key_projection, cross.value_projection)
        _linear(layer.attention.linear[2], cross.output_projection)
    _norm(layer.ffn.layer_norm, norms["feedforward"])
    _linear(layer.ffn.linear_0, ffn.hidden)
    _linear(layer.ffn.linear_1, ffn.output_projection)


def _linear(spec, *products):
    spec.weight = np.concatenate([array(product.kernel).T for product in products])
    spec.bias = np.concatenate([array(product.bias) for product in products])


def _norm(spec, norm):
    spec.gamma, spec.beta = array(norm.gamma), array(norm.beta)


def token(index):
    return SPECIAL.get(index, f"t{index}")


def runner(folder, precision, beams, steps, threads):
    """A function of `(token_ids, lengths)` that returns the best hypotheses, `(batch, steps)` ids."""
    translator = Translator(str(folder), compute_type=precision, inter_threads=1, intra_threads=threads)
    ids_of = {name: index for index, name in SPECIAL.items()}

    def run(token_ids, lengths):
        texts = [[token(index) for index in row[:length]] for row, length in zip(token_ids, lengths, strict=True)]
        found = translator.translate_batch(
            texts,
            beam_size=beams,
            max_decoding_length=steps,
            min_decoding_length=0,
            length_penalty=0,
            max_batch_size=len(texts),
            batch_type="examples",
        )
        best = (result.hypotheses[0] for result in found)
        return np.array([[ids_of[name] if name in ids_of else int(name[1:]) for name in words] for words in best])

    return run
