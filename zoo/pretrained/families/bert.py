"""BERT and its kin: DistilBERT, RoBERTa, XLM-R, CamemBERT, MiniLM, MPNet's cousins of the same form (arXiv:1810.04805).

Plain, it gives a text its vector, by the pooling that a sentence encoder's folder names; with a head it classifies
texts or tags tokens. Two texts at once, which it tells apart by token types, it does not read here.
"""

from functools import partial

from zoo.pretrained.network import Family, Network, of_type, register
from zoo.pretrained.parts import ACTIVATIONS, block, dense, entrance, model_table, reads_for, special_ids, summary
from zoo.pretrained.sentencepiece_files import FAIRSEQ, read_camembert, read_fairseq
from zoo.text.special import PAD
from zoo.text.tokenizer_files import read_byte_pairs, read_wordpiece

KEYS = {  # ours -> theirs, of DistilBERT and of all others
    "units": ("dim", "hidden_size"),
    "num_layers": ("n_layers", "num_hidden_layers"),
    "num_heads": ("n_heads", "num_attention_heads"),
    "hidden_units": ("hidden_dim", "intermediate_size"),
}
UNNEEDED = {
    "*position_ids": "numbers from 0 on",
    "*pooler.*": "trained to tell whether two sentences are neighbours; a vector is made of the states",
    "cls.*": "guesses masked words",
    "lm_head.*": "guesses masked words",
    "vocab_*": "guesses masked words",
}


def network(source):
    """A classifier, a tagger, or an encoder of texts."""
    config, kind = source.config, source.config.get("model_type")
    small = kind == "distilbert"
    model = model_table(
        config,
        {ours: theirs[not small] for ours, theirs in KEYS.items()},
        activation=config.one_of("activation" if small else "hidden_act", ACTIVATIONS, "gelu"),
        dropout=config.number("dropout" if small else "hidden_dropout_prob", 0.1),
    )
    epsilon = 1e-12 if small else config.number("layer_norm_eps", 1e-12)
    config.must(position_embedding_type="absolute", tie_weights_=True)
    config.idle("sinusoidal_pos_embds", "attention_dropout", "qa_dropout", "seq_classif_dropout", "initializer_range")
    config.idle("attention_probs_dropout_prob", "classifier_dropout", "type_vocab_size", "tie_word_embeddings")
    pieces = kind in ("bert", "distilbert")
    # Multilingual MiniLM, and E5 after it, are BERT's network with the tokenizer of XLM-R.
    fairseq = source.has(FAIRSEQ) or source.json("tokenizer.json").get("model", {}).get("type") == "Unigram"
    read = partial(read_wordpiece, source.folder, locate=source.noted, network_class=config.get("tokenizer_class"))
    if kind == "roberta":
        read = partial(read_byte_pairs, source.folder, locate=source.noted)
    if kind in ("xlm-roberta", "camembert") or fairseq and kind != "roberta":
        read = partial(read_camembert if kind == "camembert" else read_fairseq, source)
    pad = config.whole("pad_token_id", 0 if pieces else 1, least=0)
    around = (None, None) if pieces else (config.get("bos_token_id", 0), config.get("eos_token_id", 2))
    fallback = pad, None, *around
    size = config.whole("vocab_size")
    tokenizers, ids = special_ids(read, size, *fallback)
    skipped = 0 if pieces else pad + 1  # RoBERTa counts its positions from behind the pad's id, and no pad
    config.must(pad_token_id=pad if pieces else int(ids[PAD]))
    longest = config.whole("max_position_embeddings") - skipped
    task, labels = reads_for(config)
    recipe = {
        "task": task,
        "text": {"max_input_length": longest},
        "model": model,
        "block": {"layer": "post_norm", "epsilon": epsilon},
        "positions": {"layer": "learned", "max_positions": longest, "norm_epsilon": epsilon},
        "embedding": {"layer": "tokens", "scaled": False},
    }
    recipe |= summary(source, recipe, "relu" if small else "tanh")
    before = source.prefix("bert.", "roberta.", "distilbert.")
    return Network(
        recipe=recipe,
        ids=ids,
        rules=(
            *entrance(f"{before}embeddings", ids, skipped, not small, size),
            *_blocks(before, small),
            *_head(before, kind, task),
        ),
        unneeded=UNNEEDED,
        tokenizers=tokenizers,
        labels=labels,
    )


def _blocks(before, small):
    if small:
        here, norms = "transformer.layer.{n}", ["sa_layer_norm", "output_layer_norm"]
        layers = [*(f"attention.{name}_lin" for name in ("q", "k", "v", "out")), "ffn.lin1", "ffn.lin2"]
    else:
        here, norms = "encoder.layer.{n}", ["attention.output.LayerNorm", "output.LayerNorm"]
        layers = [f"attention.{name}" for name in ("self.query", "self.key", "self.value", "output.dense")]
        layers += ["intermediate.dense", "output.dense"]
    return block(f"{before}{here}", "encoder/blocks/{n}", layers, norms)


def _head(before, kind, task):
    if task == "embed":
        return []
    if task == "tag":
        return dense("classifier", "readout")
    pooler = {"distilbert": "pre_classifier", "bert": f"{before}pooler.dense"}.get(kind, "classifier.dense")
    return dense(pooler, "pooling/projection") + dense(
        "classifier.out_proj" if pooler == "classifier.dense" else "classifier", "readout"
    )


register(Family("bert", of_type("bert", "distilbert", "roberta", "xlm-roberta", "camembert"), network, "AutoModel"))
