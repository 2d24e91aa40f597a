"""T5, T5 1.1, mT5 and Flan-T5 (arXiv:1910.10683, arXiv:2010.11934): RMS norms, biases of distances, no other biases.

Its attention is not divided by the root of a head's width, which the queries make up for; one set of biases serves
all layers of a side, and is copied to each. Where the output has the vectors of the tokens, they may be scaled down,
which the last norm does here. The decoder begins with the row of the pad token, of which our BOS is a copy.
"""

from zoo.pretrained import generation, parts
from zoo.pretrained.network import Family, Network, of_type, register
from zoo.pretrained.rules import Rule, barring_bias, copies, rows, scale
from zoo.pretrained.sentencepiece_files import tokenizer_of
from zoo.pretrained.vocabulary import our_ids
from zoo.text.base import BOS

ACTIVATIONS = {"relu": "relu", "gated-gelu": "gelu_tanh", "gated-silu": "silu", "gelu": "gelu", "gated-relu": "relu"}
UNKNOWN = 2
PARTS = {"attention": "SelfAttention", "cross_attention": "EncDecAttention", "feedforward": "DenseReluDense"}
SIDES = {"encoder": ("attention", "feedforward"), "decoder": ("attention", "cross_attention", "feedforward")}


def network(source):
    """A network that reads a text and writes one."""
    config = source.config
    parts.must_write(config)
    sizes = {"units": "d_model", "num_layers": "num_layers", "num_heads": "num_heads", "hidden_units": "d_ff"}
    model, head = parts.model_table(config, sizes, dropout=("dropout_rate", 0.1)), config.whole("d_kv")
    activation = model["activation"] = config.one_of("feed_forward_proj", ACTIVATIONS, "relu")
    model["decoder_layers"] = config.whole("num_decoder_layers", None) or model["num_layers"]
    layers = {"encoder": model["num_layers"], "decoder": model["decoder_layers"]}
    gated = str(config.get("feed_forward_proj", "relu")).startswith("gated")
    functions = tuple(name for name, ours in parts.ACTIVATIONS.items() if ours == activation)
    config.must(is_gated_act=gated, dense_act_fn=functions, num_hidden_layers=model["num_layers"], head_dim=head)
    config.must(is_encoder_decoder=True)
    config.idle("initializer_factor", "n_positions", "classifier_dropout")
    ties, tied = config.flag("tie_word_embeddings", True), not parts.has_own_output(source, "shared.weight")
    # A key of transformers 5; before it, T5 scaled what its configuration ties. mT5 scales nothing.
    scaled = config.flag("scale_decoder_outputs", ties and config.get("model_type") == "t5")
    shrunk = [scale(model["units"] ** -0.5)] if scaled else []
    size, pad, eos = config.whole("vocab_size"), config.get("pad_token_id", 0), config.get("eos_token_id", 1)
    first = config.get("decoder_start_token_id", pad)
    ids = our_ids(size, pad, UNKNOWN, pad if first is None else first, eos)
    rules = [
        Rule("shared.weight", "target_embedding/matrix", rows(ids),
             also=("{side}.embed_tokens.weight", *(["lm_head.weight"] if tied else []))),
        Rule("encoder.final_layer_norm.weight", "encoder/final_norm/scale"),
        Rule("decoder.final_layer_norm.weight", "decoder/final_norm/scale", *shrunk),
    ]  # fmt: skip
    rules += [] if tied else [Rule("lm_head.weight", "target_embedding/output_matrix", rows(ids))]
    for side, sublayers in SIDES.items():
        paths = [f"{side}/blocks/{number}/attention/biases" for number in range(layers[side])]
        biases = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        rules.append(Rule(biases, paths, copies(layers[side])))
        for number, part in enumerate(sublayers):
            here, ours = f"{side}.block.{{n}}.layer.{number}", f"{side}/blocks/{{n}}"
            rules.append(Rule(f"{here}.layer_norm.weight", f"{ours}/norms/{number}/scale"))
            names = {name[0]: f"{name}_projection" for name in parts.PROJECTIONS}
            if part == "feedforward":
                names = {"wi_0": "hidden", "wi_1": "gated"} if gated else {"wi": "hidden"}
                names |= {"wo": "output_projection"}
            for theirs, our in names.items():
                steps = (lambda axis: scale(head**0.5),) if theirs == "q" else ()
                place = f"{here}.{PARTS[part]}.{theirs}"
                rules += parts.dense_rules(place, f"{ours}/{part}/{our}", writes=steps, bias=False)
    return Network(
        recipe={
            "task": "translate",
            "text": {"shared": True},
            "model": model,
            "attention": {
                "layer": "relative",
                "head_units": head,
                "num_buckets": config.whole("relative_attention_num_buckets", 32),
                "max_distance": config.whole("relative_attention_max_distance", 128),
            },
            "feedforward": "gated" if gated else {"layer": "dense", "use_bias": False},
            "block": {"layer": "pre_norm", "norm": "rms", "epsilon": config.number("layer_norm_epsilon", 1e-6)},
            "positions": "none",
            "embedding": {
                "layer": "tokens", "scaled": False, "output": "tied" if tied else "own", "output_bias": True,
            },
        },
        ids=ids,
        rules=tuple(rules),
        unneeded={"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight": "no layer ever read it"},
        constants={"target_embedding/output_bias": barring_bias(len(ids), (BOS,))},
        tokenizers=lambda: (tokenizer_of(source, ids, ("T5", "MT5")),) * 2,
        generation=generation.bar_pad(source, ids),
        barred=(BOS,),
    )  # fmt: skip


register(Family("t5", of_type("t5", "mt5"), network, "AutoModelForSeq2SeqLM"))
