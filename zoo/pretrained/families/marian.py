"""Marian as Hugging Face stores it: OPUS-MT's translators (https://aclanthology.org/P18-4020, model_type marian).

Its sinusoids have all sines first and ours alternate, so the channels of the residual stream change their places. Its
decoder begins with the row of the pad token, of which our BOS is a copy.
"""

from functools import partial

import numpy as np

from zoo.pretrained.languages import marian_reader, marian_targets
from zoo.pretrained.network import Family, Network, of_type, register
from zoo.pretrained.parts import bart_blocks, bart_model, bart_vectors
from zoo.pretrained.rules import channels
from zoo.pretrained.vocabulary import names_by_id, our_ids, rewritten
from zoo.text import Tokenizer
from zoo.text.special import BOS, PAD

UNKNOWN = 1  # the id that the unknown piece has in all of its vocabularies


def alternating(units):
    """The places of channels whose sines and cosines stand in two halves, for sinusoids that alternate."""
    return np.arange(units).reshape(2, -1).T.reshape(-1)


def network(source):
    """A translator."""
    config = source.config
    config.must(
        normalize_before=False, normalize_embedding=False, scale_embedding=True, static_position_embeddings=True,
        share_encoder_decoder_embeddings=True, tie_word_embeddings=True, add_final_layer_norm=False,
        add_bias_logits=False, decoder_vocab_size=config.get("vocab_size"),
    )  # fmt: skip
    config.idle("max_position_embeddings", "forced_eos_token_id")  # sinusoids have no bound
    model, size = bart_model(config), config.whole("vocab_size")
    if model["units"] % 2:
        config.refuse(f"d_model is {model['units']}; sinusoids need an even number")
    pad, eos, first = (config.get(f"{name}_token_id") for name in ("pad", "eos", "decoder_start"))
    ids = our_ids(size, pad, UNKNOWN, first, eos)
    stream = (partial(channels, alternating(model["units"])),)
    return Network(
        recipe={
            "task": "translate",
            "text": {"shared": True},
            "model": model,
            "block": "post_norm",
            "embedding": {"layer": "tokens", "output_bias": True},
        },
        ids=ids,
        rules=(*bart_vectors(ids, (PAD, BOS), stream), *bart_blocks(stream)),
        unneeded={"model.*.embed_positions.weight": "sinusoids are computed"},
        tokenizers=lambda: tokenizers(source, ids, size),
        barred=(PAD, BOS),
        languages=source.languages if marian_targets(source.json("vocab.json")) else (),
    )


def tokenizers(source, ids, size):
    """(source, target): two SentencePiece models over the ids of the joint vocabulary."""
    names = names_by_id(source.json("vocab.json"), size, source.path("vocab.json"))
    reads, writes = (source.path(f"{side}.spm") for side in ("source", "target"))
    reader = marian_reader(source, reads.read_bytes(), names, ids, reads)
    return reader, Tokenizer(rewritten(writes.read_bytes(), names, ids, where=writes))


register(Family("marian", of_type("marian"), network, "MarianMTModel"))
