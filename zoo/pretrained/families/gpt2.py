"""GPT-2 and its kin of the same form (Radford et al. 2019): a language model over byte pairs.

It has one special piece, which ends a text and stands before the next: our BOS and EOS are copies of its row, so a text
is read as one that begins. PAD and UNK are never written.
"""

from functools import partial

from zoo.pretrained.network import Family, Network, of_type, register
from zoo.pretrained.parts import has_own_output, model_table, must_write, norm_rules, tokenizers_and_ids
from zoo.pretrained.rules import Rule, barring_bias, first, rows, scale, split
from zoo.text.base import BOS, PAD, UNK
from zoo.text.tokenizer_files import read_byte_pairs


def network(source):
    """A language model."""
    config = source.config
    must_write(config)
    model = model_table(
        config,
        {"units": "n_embd", "num_layers": "n_layer", "num_heads": "n_head", "context": ("n_positions", 1024)},
        ("activation_function", "gelu_new"),
        ("resid_pdrop", 0.1),
    )
    model["hidden_units"], size = config.whole("n_inner", None) or 4 * model["units"], config.whole("vocab_size")
    before = source.prefix("transformer.")
    own = has_own_output(source, f"{before}wte.weight")
    config.must(
        scale_attn_weights=True, scale_attn_by_inverse_layer_idx=(False, True), n_ctx=model["context"],
        reorder_and_upcast_attn=(False, True), tie_word_embeddings=(True, False) if own else True,
    )  # fmt: skip
    config.idle("initializer_range", "attn_pdrop", "embd_pdrop", "summary_activation", "summary_first_dropout")
    config.idle("summary_proj_to_labels", "reorder_and_upcast_attn")
    epsilon, end = config.number("layer_norm_epsilon", 1e-5), config.get("eos_token_id")
    tokenizers, ids = tokenizers_and_ids(
        partial(read_byte_pairs, source.folder, locate=source.note), size, end, end, end, end
    )
    ids = ids.copy()
    ids[:4][ids[:4] < 0] = ids[3]
    barred = tuple(each for each in (PAD, UNK, BOS) if ids[each] == ids[3])
    here, ours = f"{before}h.{{n}}", "decoder/blocks/{n}"
    projections = [f"{ours}/attention/{name}_projection" for name in ("query", "key", "value")]
    inner, outer = (f"{ours}/feedforward/{name}" for name in ("hidden", "output_projection"))
    scaled_layers = range(model["num_layers"]) if config.get("scale_attn_by_inverse_layer_idx") else ()

    def attention(layer, *steps):
        """Rules of the queries, keys and values of a layer, which are one tensor there."""
        for part, name in (("weight", "kernel"), ("bias", "bias")):
            paths = [f"{each}/{name}".format(n=layer) for each in projections]
            yield Rule(f"{before}h.{layer}.attn.c_attn.{part}", paths, split(3), *steps)

    layers = (("attn.c_proj", f"{ours}/attention/output_projection"), ("mlp.c_fc", inner), ("mlp.c_proj", outer))
    rules = [
        Rule(f"{before}wte.weight", "embedding/matrix", rows(ids, size), also=() if own else ("lm_head.weight",)),
        *([Rule("lm_head.weight", "embedding/output_matrix", rows(ids, size))] if own else []),
        Rule(f"{before}wpe.weight", "positions/matrix"),
        *(rule for layer in scaled_layers for rule in attention(layer, first(scale(1 / (layer + 1))))),
        *attention("{n}"),
        *norm_rules(f"{before}ln_f", "decoder/final_norm"),
        *norm_rules(f"{here}.ln_1", f"{ours}/norms/0"),
        *norm_rules(f"{here}.ln_2", f"{ours}/norms/1"),
    ]
    for theirs, mine in layers:  # its linear layers lie as ours do
        rules += [Rule(f"{here}.{theirs}.weight", f"{mine}/kernel"), Rule(f"{here}.{theirs}.bias", f"{mine}/bias")]
    return Network(
        recipe={
            "task": "continue",
            "model": model,
            "block": {"layer": "pre_norm", "epsilon": epsilon},
            "positions": "learned",
            "embedding": {"layer": "tokens", "scaled": False, "output": "own" if own else "tied", "output_bias": True},
        },
        ids=ids,
        rules=tuple(rules),
        unneeded={"*attn.bias": "a triangle of ones", "*attn.masked_bias": "a large number"},
        constants={"embedding/output_bias": barring_bias(len(ids), barred)},
        tokenizers=tokenizers,
        barred=barred,
        notes=("A text begins with <|endoftext|>, which stood before every text of its training.",),
    )


register(Family("gpt2", of_type("gpt2"), network, "GPT2LMHeadModel"))
