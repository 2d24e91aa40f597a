"""What several families share: the rules of parts that many networks have, and tables read off the same keys."""

import math
from functools import partial

import numpy as np

from zoo.pretrained.reading import ODD, Reading
from zoo.pretrained.rules import Rule, add_row, drop, flat, put, rows, transpose
from zoo.pretrained.vocabulary import our_ids

NORM = {"weight": "gamma", "bias": "beta"}
ACTIVATIONS = {  # of `transformers`, and ours
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
HEADS = {"ForSequenceClassification": "classify", "ForTokenClassification": "tag"}
OTHER_HEADS = "Classification", "QuestionAnswering", "MultipleChoice", "DoubleHeads", "EncoderModel", "CausalLM"
PROJECTIONS = "query", "key", "value", "output"


def dense_rules(theirs, ours, reads=(), writes=(), bias=True):
    """The rules of a linear layer of PyTorch, whose kernel lies the other way round.

    Args:
        theirs, ours: patterns of its place.
        reads, writes: steps for the axis that it reads, and for the one that it writes (a function of the axis).
        bias: whether it has one.
    """
    kernel = Rule(f"{theirs}.weight", f"{ours}/kernel", transpose, *_steps_along(reads, 0), *_steps_along(writes, -1))
    return [kernel, *([Rule(f"{theirs}.bias", f"{ours}/bias", *_steps_along(writes, -1))] if bias else [])]


def norm_rules(theirs, ours, writes=()):
    """The rules of a layer norm."""
    steps = _steps_along(writes, -1)
    return [  # TensorFlow has our names
        Rule(f"{theirs}.{name}", f"{ours}/{our}", *steps, also=(f"{theirs}.{our}",)) for name, our in NORM.items()
    ]


def _steps_along(makers, axis):
    """Steps for an axis; `makers` are functions of one."""
    return [make(axis) for make in makers]


def block_rules(theirs, ours, layers, norms, stream=()):
    """The rules of a block.

    Args:
        theirs, ours: patterns of its place.
        layers: their names of the projections of one attention or of two, in the order of `PROJECTIONS`, and of both
            layers of the feed-forward; what comes last of each writes the residual stream, and the others read it.
        norms: their names of the norms.
        stream: steps of the residual stream (functions of the axis).
    """
    parts = ("attention", "cross_attention")[: len(layers) // len(PROJECTIONS)]
    projections = [f"{part}/{name}_projection" for part in parts for name in PROJECTIONS]
    rules = []
    for their, our in zip(layers, [*projections, "feedforward/hidden", "feedforward/output_projection"], strict=True):
        steps = ((), stream) if our.endswith("output_projection") else (stream, ())
        rules += dense_rules(f"{theirs}.{their}", f"{ours}/{our}", *steps)
    return rules + [
        rule for n, each in enumerate(norms) for rule in norm_rules(f"{theirs}.{each}", f"{ours}/norms/{n}", stream)
    ]


def embedding_rules(here, ids, skipped=0, typed=True, size=None):
    """The rules of the embeddings of BERT and its kin, where every token has the first type.

    Args:
        here: their place.
        ids: for each id of ours the id there.
        skipped: positions that no token has.
        typed: whether there are token types.
        size: how many rows there are, where some have no ids.
    """
    places = [f"{here}.{name}_embeddings.weight" for name in ("position", *(["token_type"] if typed else []))]
    steps = [*([add_row(0)] if typed else []), *([drop(skipped)] if skipped else [])]
    return [
        Rule(f"{here}.word_embeddings.weight", "embedding/matrix", rows(ids, size)),
        Rule(places, "positions/positions/matrix", *steps),
        *norm_rules(f"{here}.LayerNorm", "positions/norm"),
    ]


def bart_rules(ids, barred=None, stream=(), source_ids=None, before="model."):
    """The rules of BART and its kin: the vectors of tokens, which the output shares, its bias, and the blocks.

    Args:
        ids: for each id of ours the id there.
        barred: ids of ours that are never written; None where there is no bias.
        stream: steps of the residual stream.
        source_ids: `ids` of the encoder's own vectors, where it has such.
        before: what stands before their names.
    """
    whose = ("shared", "{side}.embed_tokens") if source_ids is None else ("decoder.embed_tokens",)
    theirs, *also = [f"{before}{each}.weight" for each in whose] + ["lm_head.weight"]
    rules = [Rule(theirs, "target_embedding/matrix", rows(ids), *_steps_along(stream, -1), also=also)]
    if source_ids is not None:
        theirs = f"{before}encoder.embed_tokens.weight"
        rules.append(Rule(theirs, "source_embedding/matrix", rows(source_ids), *_steps_along(stream, -1)))
    if barred is not None:
        rules.append(Rule("final_logits_bias", "target_embedding/output_bias", flat, rows(ids), put(barred)))
    for side, parts in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "encoder_attn"])):
        layers = [*(f"{part}.{name}_proj" for part in parts for name in ("q", "k", "v", "out")), "fc1", "fc2"]
        norms = [f"{name}_layer_norm" for name in (*parts, "final")]
        rules += block_rules(f"{before}{side}.layers.{{n}}", f"{side}/blocks/{{n}}", layers, norms, stream)
    return rules


def model_table(config, sizes, activation=None, dropout=None):
    """The table `model` of a recipe.

    Args:
        config: the `Reading`.
        sizes: `{our name: the key that has it, or (the key, what it usually is)}` of settings that are whole numbers.
        activation, dropout: (the key, what it usually is).
    """
    sizes = {ours: (theirs,) if isinstance(theirs, str) else theirs for ours, theirs in sizes.items()}
    table = {"kind": "transformer"} | {ours: config.whole(*theirs) for ours, theirs in sizes.items()}
    table |= {"activation": config.one_of(activation[0], ACTIVATIONS, activation[1])} if activation else {}
    return table | ({"dropout": config.number(*dropout)} if dropout else {})


def bart_model_table(config, usual="gelu"):
    """The table `model` of a recipe, of the keys that BART and its kin have; `usual` is their activation."""
    must_write(config)
    for name in ("attention_heads", "ffn_dim"):
        config.whole(f"decoder_{name}")  # where it is missing, it is none of the encoder's
        config.must(**{f"decoder_{name}": config.get(f"encoder_{name}")})
    config.must(num_hidden_layers=config.get("encoder_layers"))
    config.idle("attention_dropout", "activation_dropout", "classifier_dropout", "classif_dropout", "init_std")
    config.idle("encoder_layerdrop", "decoder_layerdrop")  # layers that training leaves out
    sizes = {"units": "d_model", "num_layers": "encoder_layers", "decoder_layers": "decoder_layers"}
    sizes |= {"num_heads": "encoder_attention_heads", "hidden_units": "encoder_ffn_dim"}
    return model_table(config, sizes, ("activation_function", usual), ("dropout", 0.1))


def must_write(config):
    """Refuse a network that writes no texts, of a family whose networks do."""
    names = config.words("architectures")
    if any(word in names[0] for word in OTHER_HEADS):
        config.refuse(f"architectures is {names}; of this family only networks that write texts are known here")


def tokenizers_and_ids(read, size, *fallback):
    """(a function that makes the only tokenizer, the ids), by the files beside a network or by its settings alone.

    Args:
        read: a function of `zoo.text.tokenizer_files`, already given the folder, or one like it.
        size: how many ids the network knows.
        *fallback: pad, unk, bos and eos, where there are no files.
    """
    try:
        tokenizer, ids = read()
    except (ValueError, OSError, *ODD) as error:
        return partial(refuse_tokenizers, error), our_ids(size, *fallback)
    if max(ids) >= size:
        raise ValueError(f"the tokenizer knows {max(ids) + 1:,} ids, and the network {size:,}")
    return (lambda: (tokenizer,)), np.array(ids)


def refuse_tokenizers(error):
    """Stands in the place of a function that makes tokenizers, and raises the error of reading their files."""
    reason = f"one of its files has another form than it has elsewhere ({error!r})" if isinstance(error, ODD) else error
    raise ValueError(f"the network has no tokenizer that is known here: {reason or repr(error)}") from error


def sinusoids(longest, units, first=0):
    """`sin(t / 10000^(i / (units / 2 - 1)))` from position `first` on, and behind them all cosines: `(longest, units)`.

    Fairseq and Marian compute them so: the last wave is exactly 10,000 times as long as the first.
    """
    rates = np.exp(np.arange(units // 2) * -(math.log(10_000) / (units // 2 - 1)))
    angles = np.arange(first, first + longest)[:, None] * rates
    return np.concatenate([np.sin(angles), np.cos(angles)], 1)


def has_own_output(source, embedding):
    """Whether a network reads its logits off a matrix of its own, and not off its `embedding`.

    Its files decide, as in `transformers` 5: configurations say `tie_word_embeddings` of both kinds.
    """
    matrices = [source.tensors[name].read() for name in ("lm_head.weight", embedding) if name in source.tensors]
    return len(matrices) == 2 and not np.array_equal(*matrices)


def task_and_labels(config):
    """(the task of a network that reads, the names of its classes by their ids).

    The task is "classify" or "tag" by its head, or "embed" without a head.
    """
    names = config.words("architectures")
    config.must(problem_type=(None, "single_label_classification"))
    if any(word in names[0] for word in ("QuestionAnswering", "MultipleChoice", "NextSentence")):
        config.refuse(
            f"architectures is {names}; heads that are known here end in {', '.join(HEADS)}, or there is none"
        )
    task = next((task for ending, task in HEADS.items() if names[0].endswith(ending)), "embed")
    if task == "embed":
        return task, ()
    count = config.whole("num_labels", 2)
    names_by_id = config.get("id2label") or {str(number): f"LABEL_{number}" for number in range(count)}
    if not isinstance(names_by_id, dict):
        config.refuse(f"id2label is {names_by_id}; expected the name of each class by its id")
        names_by_id = {}
    labels = tuple(str(names_by_id.get(str(number), f"LABEL_{number}")) for number in range(len(names_by_id)))
    if len(set(labels)) < max(2, len(labels)):
        config.refuse(f"id2label is {names_by_id}; expected two different names or more")
    return task, labels


def summary_tables(source, recipe, dense="tanh"):
    """The tables of a recipe that say how states become one vector.

    A classifier takes the first state, behind a layer; a sentence encoder does what its folder says, or else takes the
    plain mean.

    Args:
        source: the `Source`.
        recipe: as it is without them.
        dense: the activation of a classifier's layer.
    """
    if recipe["task"] != "embed":
        return {"pooling": {"layer": "first", "dense": dense}} if recipe["task"] == "classify" else {}
    modules = source.json("modules.json", list)
    kinds = [each["type"].rpartition(".")[2] for each in modules]
    if [each for each in kinds if each not in ("Transformer", "Pooling", "Normalize")]:
        source.config.refuse(f"modules.json has {', '.join(kinds)}; known here are Transformer, Pooling and Normalize")
    places = [each["path"] for each, kind in zip(modules, kinds, strict=True) if kind == "Pooling"]
    place = places[0] if places else "1_Pooling"
    pooling = source.json(f"{place}/config.json", needed=bool(places))
    modes = {name for name, value in pooling.items() if name.startswith("pooling_mode_") and value is True}
    modes = modes or {f"pooling_mode_{pooling.get('pooling_mode', 'mean')}"}
    poolings = {"pooling_mode_mean_tokens": "mean", "pooling_mode_mean": "mean"}
    poolings |= {"pooling_mode_cls_token": "first", "pooling_mode_cls": "first"}
    if len(modes) > 1 or not modes <= poolings.keys():
        source.config.refuse(
            f"{place}/config.json asks for {', '.join(sorted(modes))}; known here are {', '.join(poolings)}"
        )
    tokenizer, encoder = source.json("tokenizer_config.json"), source.json("config_sentence_transformers.json")
    if prompt := (encoder.get("prompts") or {}).get(encoder.get("default_prompt_name")):
        source.config.refuse(
            f"config_sentence_transformers.json puts {prompt!r} before every text, which is not done here. Set "
            "default_prompt_name to null there, and write it yourself before the texts that need it"
        )
    settings = Reading(source.json("sentence_bert_config.json"), "sentence_bert_config.json")
    settings.must(do_lower_case=tuple({False, tokenizer.get("do_lower_case", False)}))
    tokenizer, most = Reading(tokenizer, "tokenizer_config.json"), recipe["text"]["max_input_length"]
    longest = settings.whole("max_seq_length", None) or tokenizer.whole("model_max_length", None, most=10**40) or most
    settings.raise_problems()
    tokenizer.raise_problems()
    return {
        "model": recipe["model"] | {"normalize": "Normalize" in kinds},
        "text": recipe["text"] | {"max_input_length": min(longest, most)},
        "pooling": poolings.get(min(modes), "mean"),
    }
