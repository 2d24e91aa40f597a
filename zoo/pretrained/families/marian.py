"""Marian as Hugging Face stores it: OPUS-MT's translators (https://aclanthology.org/P18-4020, model_type marian).

Its sinusoids have all sines first and ours alternate, so the channels of the residual stream change their places. Its
decoder begins with the row of the pad token, of which our BOS is a copy.
"""

from functools import partial

import numpy as np

from zoo.pretrained import generation
from zoo.pretrained.languages import marian_reader, marian_targets
from zoo.pretrained.network import Family, Network, of_type, register
from zoo.pretrained.parts import bart_blocks, bart_model, bart_vectors
from zoo.pretrained.rules import channels
from zoo.pretrained.sentencepiece_files import demand_settings
from zoo.pretrained.vocabulary import names_by_id, our_ids, rewritten
from zoo.recipes.languages import of_codes
from zoo.text import Tokenizer
from zoo.text.special import BOS, PAD

UNKNOWN = 1  # the id of the unknown piece where there is no vocabulary
FILES = {"source": "vocab.json", "target": "target_vocab.json"}


def alternating(units):
    """The places of channels whose sines and cosines stand in two halves, for sinusoids that alternate."""
    return np.arange(units).reshape(2, -1).T.reshape(-1)


def network(source):
    """A translator."""
    config = source.config
    config.must(
        normalize_before=False, normalize_embedding=False, static_position_embeddings=True, tie_word_embeddings=True,
        add_final_layer_norm=False, add_bias_logits=False,
    )  # fmt: skip
    config.idle("max_position_embeddings", "forced_eos_token_id")  # sinusoids have no bound
    shared, scaled = config.flag("share_encoder_decoder_embeddings", True), config.flag("scale_embedding", False)
    model, size = bart_model(config), config.whole("vocab_size")
    written = size if shared else config.whole("decoder_vocab_size", size)
    config.must(decoder_vocab_size=(written, None))
    if model["units"] % 2:
        config.refuse(f"d_model is {model['units']}; sinusoids need an even number")
    pad, eos, first = (config.get(f"{name}_token_id") for name in ("pad", "eos", "decoder_start"))
    words = {side: source.json(FILES["source" if shared else side]) for side in FILES}
    ids = our_ids(written, pad, words["target"].get("<unk>", UNKNOWN), first, eos)
    source_ids = ids if shared else our_ids(size, pad, words["source"].get("<unk>", UNKNOWN), pad, eos)
    told, many = source.json("tokenizer_config.json"), marian_targets(words["source"])
    pair = told.get("source_lang", ""), source.languages[1] or told.get("target_lang", "")
    stream, given = (partial(channels, alternating(model["units"])),), generation.given_by(source)
    # Normalised again without its pad token, it may as well have none; else that keeps its share of the probabilities.
    alike = given.get("renormalize_logits") is True and [pad] in (given.get("bad_words_ids") or [])
    barred = (PAD, BOS) if alike else (BOS,)
    return Network(
        recipe={
            "task": "translate",
            "text": {"shared": shared} | ({} if shared else {"target": {"vocab_size": written}}),
            "model": model,
            "block": "post_norm",
            "embedding": {"layer": "tokens", "scaled": scaled, "output_bias": True},
            "data": of_codes(*pair),
        },
        ids=ids,
        source_ids=source_ids,
        rules=(*bart_vectors(ids, barred, stream, None if shared else source_ids), *bart_blocks(stream)),
        unneeded={"model.*.embed_positions.weight": "sinusoids are computed"},
        tokenizers=lambda: tokenizers(source, source_ids, ids, shared),
        generation={} if alike else generation.without_pad(source, ids),
        barred=barred,
        languages=pair if many else (),
    )


def tokenizers(source, source_ids, ids, shared):
    """(source, target): two SentencePiece models over the ids of the joint vocabulary, or of one each."""
    demand_settings(source)
    files = [source.path(FILES["source" if shared else side]) for side in FILES]
    names = [
        names_by_id(source.json(file.name), max(known) + 1, file)
        for file, known in zip(files, (source_ids, ids), strict=True)
    ]
    reads, writes = (source.path(f"{side}.spm") for side in FILES)
    reader = marian_reader(source, reads.read_bytes(), names[0], source_ids, reads)
    return reader, Tokenizer(rewritten(writes.read_bytes(), names[1], ids, where=writes))


register(Family("marian", of_type("marian"), network, "MarianMTModel"))
