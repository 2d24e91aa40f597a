"""Marian as Hugging Face stores it: OPUS-MT's translators (https://aclanthology.org/P18-4020, model_type marian).

Its sinusoids have all sines first and ours alternate, so the channels of the residual stream change their places. Its
decoder begins with the row of the pad token, of which our BOS is a copy.
"""

from functools import partial

import numpy as np

from zoo.pretrained import generation
from zoo.pretrained.languages import make_marian_reader, marian_targets
from zoo.pretrained.network import Family, Network, of_type, register
from zoo.pretrained.parts import bart_model_table, bart_rules
from zoo.pretrained.rules import channels
from zoo.pretrained.sentencepiece_files import demand_settings
from zoo.pretrained.vocabulary import names_by_id, our_ids, renumber
from zoo.recipes.languages import of_codes
from zoo.text import Tokenizer
from zoo.text.base import BOS, PAD

UNKNOWN = 1  # the id of the unknown piece where there is no vocabulary
FILES = {"source": "vocab.json", "target": "target_vocab.json"}


def alternate_channels(units):
    """The order that lets sines and cosines alternate whose channels stand in two halves."""
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
    model, size = bart_model_table(config), config.whole("vocab_size")
    written = size if shared else config.whole("decoder_vocab_size", size)
    config.must(decoder_vocab_size=(written, None))
    if model["units"] % 2:
        config.refuse(f"d_model is {model['units']}; sinusoids need an even number")
    pad, eos, first = (config.get(f"{name}_token_id") for name in ("pad", "eos", "decoder_start"))
    words = {side: source.json(FILES["source" if shared else side]) for side in FILES}
    ids = our_ids(written, pad, words["target"].get("<unk>", UNKNOWN), first, eos)
    source_ids = ids if shared else our_ids(size, pad, words["source"].get("<unk>", UNKNOWN), pad, eos)
    settings, targets = source.json("tokenizer_config.json"), marian_targets(words["source"])
    pair = settings.get("source_lang", ""), source.languages[1] or settings.get("target_lang", "")
    stream, search = (partial(channels, alternate_channels(model["units"])),), generation.settings_of(source)
    # Where all is normalised again without the pad token, it needs no logit; else it keeps its share of probability.
    renormalized = search.get("renormalize_logits") is True and [pad] in (search.get("bad_words_ids") or [])
    barred = (PAD, BOS) if renormalized else (BOS,)
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
        rules=tuple(bart_rules(ids, barred, stream, None if shared else source_ids)),
        unneeded={"model.*.embed_positions.weight": "sinusoids are computed"},
        tokenizers=lambda: make_tokenizers(source, source_ids, ids, shared),
        generation={} if renormalized else generation.bar_pad(source, ids),
        barred=barred,
        languages=pair if targets else (),
    )


def make_tokenizers(source, source_ids, ids, shared):
    """The tokenizers of (source, target), over the ids of their joint vocabulary or of one each."""
    demand_settings(source)
    files = [source.path(FILES["source" if shared else side]) for side in FILES]
    names = [
        names_by_id(source.json(file.name), max(ids_there) + 1, file)
        for file, ids_there in zip(files, (source_ids, ids), strict=True)
    ]
    reads, writes = (source.path(f"{side}.spm") for side in FILES)
    reader = make_marian_reader(source, reads.read_bytes(), names[0], source_ids, reads)
    return reader, Tokenizer(renumber(writes.read_bytes(), names[1], ids, where=writes))


register(Family("marian", of_type("marian"), network, "MarianMTModel"))
