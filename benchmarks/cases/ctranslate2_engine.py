"""CTranslate2 with the weights that `cases.generation_engines` wrote: no file of another framework is converted."""

from pathlib import Path

import numpy as np
from ctranslate2 import Translator
from ctranslate2.specs import TransformerSpec

PAD, UNKNOWN, BOS, EOS = range(4)
SPECIAL = {PAD: "<pad>", UNKNOWN: "<unk>", BOS: "<s>", EOS: "</s>"}


def peer(threads, folder, layers, beams, batch, size, precision):
    folder = Path(folder)
    if not (folder / "ctranslate2").exists():
        convert(folder, layers, size["heads"], [size["vocabulary"]] * 2)
    kind = {"float32": "float32", "int8": "int8"}[precision]
    translator = Translator(str(folder / "ctranslate2"), compute_type=kind, inter_threads=1, intra_threads=threads)
    ids = np.random.default_rng(0).integers(4, size["vocabulary"], (batch, size["source"]))
    texts = [[token(index) for index in row] for row in ids]
    ids_of = {name: index for index, name in SPECIAL.items()}

    def step():
        found = translator.translate_batch(
            texts,
            beam_size=beams,
            max_decoding_length=size["steps"],
            min_decoding_length=0,
            length_penalty=0,
            max_batch_size=len(texts),
            batch_type="examples",
        )
        best = (result.hypotheses[0] for result in found)
        return [[ids_of[name] if name in ids_of else int(name[1:]) for name in words] for words in best]

    return step


def token(index):
    return SPECIAL.get(int(index), f"t{index}")


def convert(folder, layers, heads, vocabularies):
    """Write `folder/ctranslate2` from `folder/weights.npz`; the vocabularies are (source, target) sizes."""
    with np.load(folder / "weights.npz") as held:
        weights = dict(held)
    spec = TransformerSpec.from_config((layers, layers), heads, pre_norm=True)
    spec.encoder.embeddings[0].weight = weights["encoder.embedding"]
    spec.decoder.embeddings.weight = spec.decoder.projection.weight = weights["decoder.embedding"]
    for name, side in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        side.position_encodings.encodings = weights[f"{name}.positions"]
        _norm(side.layer_norm, weights, name)
        for index, layer in enumerate(side.layer):
            _block(layer, weights, f"{name}.{index}", name == "decoder")
    registers = spec.register_source_vocabulary, spec.register_target_vocabulary
    for register, vocabulary in zip(registers, vocabularies, strict=True):
        register([token(index) for index in range(vocabulary)])
    settings = {"unk_token": SPECIAL[UNKNOWN], "bos_token": SPECIAL[BOS], "eos_token": SPECIAL[EOS]}
    settings |= {"decoder_start_token": SPECIAL[BOS], "add_source_bos": False, "add_source_eos": False}
    for name, value in settings.items():
        setattr(spec.config, name, value)
    spec.validate()
    spec.optimize()
    out = folder / "ctranslate2"
    out.mkdir()
    spec.save(str(out))


def _block(layer, weights, here, crossed):
    _norm(layer.self_attention.layer_norm, weights, f"{here}.attention")
    _linear(layer.self_attention.linear[0], weights, f"{here}.attention.qkv")
    _linear(layer.self_attention.linear[1], weights, f"{here}.attention.output")
    if crossed:
        _norm(layer.attention.layer_norm, weights, f"{here}.cross_attention")
        for index, name in enumerate(("query", "kv", "output")):
            _linear(layer.attention.linear[index], weights, f"{here}.cross_attention.{name}")
    _norm(layer.ffn.layer_norm, weights, f"{here}.feedforward")
    _linear(layer.ffn.linear_0, weights, f"{here}.feedforward.hidden")
    _linear(layer.ffn.linear_1, weights, f"{here}.feedforward.output")


def _linear(spec, weights, name):
    spec.weight, spec.bias = weights[f"{name}.weight"], weights[f"{name}.bias"]


def _norm(spec, weights, name):
    spec.gamma, spec.beta = weights[f"{name}.norm.gamma"], weights[f"{name}.norm.beta"]
