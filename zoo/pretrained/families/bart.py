"""BART, mBART, M2M100 and NLLB (arXiv:1910.13461, arXiv:2001.08210, arXiv:2010.11125, arXiv:2207.04672).

BART has norms behind its branches, the others before. M2M100's sinusoids are others than ours, and become a table. The
decoder begins with the row of the end of sentence, of which our BOS is a copy.
"""

from zoo.pretrained import generation, languages
from zoo.pretrained.network import Family, Network, of_type, register
from zoo.pretrained.parts import bart_model_table, bart_rules, norm_rules, sinusoids
from zoo.pretrained.rules import Rule, barring_bias, drop
from zoo.pretrained.vocabulary import with_start
from zoo.recipes.languages import of_codes
from zoo.text.base import BOS
from zoo.text.tokenizer_files import read_byte_pairs

UNKNOWN, OFFSET, EPSILON = 3, 2, 1e-5
SIDES = {"encoder": "source_positions", "decoder": "positions"}


def network(source):
    """A network that reads a text and writes one."""
    config, kind = source.config, source.config.get("model_type")
    plain, computed = kind == "bart", kind == "m2m_100"
    config.must(
        normalize_before=not plain, normalize_embedding=not computed, add_final_layer_norm=not plain,
        add_bias_logits=False, static_position_embeddings=computed,
        share_encoder_decoder_embeddings=True, tie_word_embeddings=True,
        pad_token_id=OFFSET - 1 if computed else config.get("pad_token_id"),  # from behind it, positions are counted
    )  # fmt: skip
    config.idle("max_length")
    model, size = bart_model_table(config, "relu" if computed else "gelu"), config.whole("vocab_size")
    longest, scaled = config.whole("max_position_embeddings", most=2**17), config.flag("scale_embedding", computed)
    starts = config.get("decoder_start_token_id", None if kind == "mbart" else 2), config.get("bos_token_id")
    first = next((each for each in starts if each is not None), 0)
    words = byte_pair_vocabulary(source, size, first) if plain else languages.read_vocabulary(source, size, first)
    ids, barred = words["ids"], words["barred"]
    words["generation"] |= generation.bar_pad(source, ids)
    inside = "/positions" if not computed else ""
    before = source.prefix("model.")  # a network without its output has none
    biased = "final_logits_bias" in source.tensors
    rules = bart_rules(ids, barred if biased else None, before=before)
    constants = {} if biased else {"target_embedding/output_bias": barring_bias(len(ids), barred)}
    for side, ours in SIDES.items():
        if computed:
            constants[f"{ours}/matrix"] = sinusoids(longest, model["units"], OFFSET)
        else:
            rules.append(Rule(f"{before}{side}.embed_positions.weight", f"{ours}{inside}/matrix", drop(OFFSET)))
            rules += norm_rules(f"{before}{side}.layernorm_embedding", f"{ours}/norm")
        rules += [] if plain else norm_rules(f"{before}{side}.layer_norm", f"{side}/final_norm")
    return Network(
        recipe={
            "task": "translate",
            "text": {"shared": True},
            "model": model,
            "block": {"layer": "post_norm" if plain else "pre_norm", "epsilon": EPSILON},
            "positions": {
                "layer": "learned", "max_positions": longest, "norm_epsilon": 0.0 if computed else EPSILON,
            },
            "embedding": {"layer": "tokens", "scaled": scaled, "output_bias": True},
            "data": of_codes(*words.get("languages", ("", ""))),
        },
        rules=tuple(rules),
        unneeded={"*.embed_positions.weight*": "sinusoids are computed", "*coder.version": "a number of fairseq's"},
        constants=constants,
        **words,
    )  # fmt: skip


def byte_pair_vocabulary(source, size, first):
    """As `read_vocabulary`, of BART, where `<s>` stands before a text but is not what the decoder starts with."""
    pad, eos = (source.config.get(f"{name}_token_id", usual) for name, usual in (("pad", 1), ("eos", 2)))
    ids, order = with_start(size, pad, UNKNOWN, first, eos)
    read = lambda: (read_byte_pairs(source.folder, order, source.note)[0],) * 2  # noqa: E731
    return {"ids": ids, "barred": (BOS,), "tokenizers": read, "generation": {}}


register(Family("bart", of_type("bart", "mbart", "m2m_100"), network, "AutoModelForSeq2SeqLM"))
