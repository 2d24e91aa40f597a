"""BERT and its kin: DistilBERT, RoBERTa, XLM-R, CamemBERT, MiniLM, MPNet's cousins of the same form (arXiv:1810.04805).

Plain, it gives a text its vector, by the pooling that a sentence encoder's folder names; with a head it classifies
texts or tags tokens. Two texts at once, which it tells apart by token types, it does not read here.
"""

from functools import partial

from zoo.pretrained import parts
from zoo.pretrained.network import Family, Network, of_type, register
from zoo.pretrained.sentencepiece_files import FAIRSEQ, read_camembert, read_fairseq
from zoo.text.base import PAD
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
    distil = kind == "distilbert"
    model = parts.model_table(
        config,
        {ours: theirs[not distil] for ours, theirs in KEYS.items()},
        ("activation" if distil else "hidden_act", "gelu"),
        ("dropout" if distil else "hidden_dropout_prob", 0.1),
    )
    epsilon = 1e-12 if distil else config.number("layer_norm_eps", 1e-12)
    config.must(position_embedding_type="absolute", tie_weights_=True)
    config.idle("sinusoidal_pos_embds", "attention_dropout", "qa_dropout", "seq_classif_dropout", "initializer_range")
    config.idle("attention_probs_dropout_prob", "classifier_dropout", "type_vocab_size", "tie_word_embeddings")
    pieces = kind in ("bert", "distilbert")
    # Multilingual MiniLM, and E5 after it, are BERT's network with the tokenizer of XLM-R.
    fairseq = source.has(FAIRSEQ) or source.json("tokenizer.json").get("model", {}).get("type") == "Unigram"
    read = partial(read_wordpiece, source.folder, locate=source.note, network_class=config.get("tokenizer_class"))
    if kind == "roberta":
        read = partial(read_byte_pairs, source.folder, locate=source.note)
    if kind in ("xlm-roberta", "camembert") or fairseq and kind != "roberta":
        read = partial(read_camembert if kind == "camembert" else read_fairseq, source)
    pad = config.whole("pad_token_id", 0 if pieces else 1, least=0)
    around = (None, None) if pieces else (config.get("bos_token_id", 0), config.get("eos_token_id", 2))
    size = config.whole("vocab_size")
    tokenizers, ids = parts.tokenizers_and_ids(read, size, pad, None, *around)
    skipped = 0 if pieces else pad + 1  # RoBERTa counts its positions from behind the pad's id, and no pad
    config.must(pad_token_id=pad if pieces else int(ids[PAD]))
    longest = config.whole("max_position_embeddings") - skipped
    task, labels = parts.task_and_labels(config)
    recipe = {
        "task": task,
        "text": {"max_input_length": longest},
        "model": model,
        "block": {"layer": "post_norm", "epsilon": epsilon},
        "positions": {"layer": "learned", "max_positions": longest, "norm_epsilon": epsilon},
        "embedding": {"layer": "tokens", "scaled": False},
    }
    recipe |= parts.summary_tables(source, recipe, "relu" if distil else "tanh")
    before = source.prefix("bert.", "roberta.", "distilbert.")
    return Network(
        recipe=recipe,
        ids=ids,
        rules=(
            *parts.embedding_rules(f"{before}embeddings", ids, skipped, not distil, size),
            *_block_rules(before, distil),
            *_head_rules(before, kind, task),
        ),
        unneeded=UNNEEDED,
        tokenizers=tokenizers,
        labels=labels,
    )


def _block_rules(before, distil):
    if distil:
        here, norms = "transformer.layer.{n}", ["sa_layer_norm", "output_layer_norm"]
        layers = [*(f"attention.{name}_lin" for name in ("q", "k", "v", "out")), "ffn.lin1", "ffn.lin2"]
    else:
        here, norms = "encoder.layer.{n}", ["attention.output.LayerNorm", "output.LayerNorm"]
        layers = [f"attention.{name}" for name in ("self.query", "self.key", "self.value", "output.dense")]
        layers += ["intermediate.dense", "output.dense"]
    return parts.block_rules(f"{before}{here}", "encoder/blocks/{n}", layers, norms)


def _head_rules(before, kind, task):
    heads = {"distilbert": ("pre_classifier", "classifier"), "bert": (f"{before}pooler.dense", "classifier")}
    pooler, output = heads.get(kind, ("classifier.dense", "classifier.out_proj"))
    if task == "classify":
        return parts.dense_rules(pooler, "pooling/projection") + parts.dense_rules(output, "readout")
    return parts.dense_rules("classifier", "readout") if task == "tag" else []


register(Family("bert", of_type("bert", "distilbert", "roberta", "xlm-roberta", "camembert"), network, "AutoModel"))
