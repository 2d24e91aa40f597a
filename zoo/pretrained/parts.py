"""What several families share: tables of rules for parts that many networks have, and readings of the same keys."""

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


def dense(theirs, ours, reads=(), writes=(), bias=True):
    """The rules of a linear layer of PyTorch, whose kernel lies the other way round.

    Args:
        theirs, ours: patterns of its place.
        reads, writes: steps for the axis that it reads, and for the one that it writes (a function of the axis).
        bias: whether it has one.
    """
    found = [Rule(f"{theirs}.weight", f"{ours}/kernel", transpose, *_along(reads, 0), *_along(writes, -1))]
    return found + ([Rule(f"{theirs}.bias", f"{ours}/bias", *_along(writes, -1))] if bias else [])


def norm(theirs, ours, writes=()):
    """The rules of a layer norm."""
    return [
        Rule(
            f"{theirs}.{name}", f"{ours}/{our}", *_along(writes, -1), also=(f"{theirs}.{our}",)
        )  # as TensorFlow has it
        for name, our in NORM.items()
    ]


def _along(makers, axis):
    """Steps for an axis; `makers` are functions of one."""
    return [make(axis) for make in makers]


def block(theirs, ours, layers, norms, stream=()):
    """The rules of a block.

    Args:
        theirs, ours: patterns of its place.
        layers: their names of the projections of one attention or of two, in the order of `PROJECTIONS`, and of both
            layers of the feed-forward; what comes last of each writes the residual stream, and the others read it.
        norms: their names of the norms.
        stream: steps of the residual stream (functions of the axis).
    """
    parts = ("attention", "cross_attention")[: len(layers) // len(PROJECTIONS)]
    mine = [f"{part}/{name}_projection" for part in parts for name in PROJECTIONS]
    found = []
    for their, our in zip(layers, [*mine, "feedforward/hidden", "feedforward/output_projection"], strict=True):
        both = ((), stream) if our.endswith("output_projection") else (stream, ())
        found += dense(f"{theirs}.{their}", f"{ours}/{our}", *both)
    return found + [
        rule for n, each in enumerate(norms) for rule in norm(f"{theirs}.{each}", f"{ours}/norms/{n}", stream)
    ]


def bart_blocks(stream=(), before="model."):
    """The rules of the blocks of BART and its kin, behind `before`: an encoder and a decoder, which looks at it."""
    found = []
    for side, parts in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "encoder_attn"])):
        layers = [f"{part}.{name}_proj" for part in parts for name in ("q", "k", "v", "out")]
        norms = [f"{name}_layer_norm" for name in (*parts, "final")]
        found += block(f"{before}{side}.layers.{{n}}", f"{side}/blocks/{{n}}", [*layers, "fc1", "fc2"], norms, stream)
    return found


def entrance(here, ids, skipped=0, typed=True, size=None):
    """The rules of the embeddings of BERT and its kin, of which token types are all the first one.

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
        *norm(f"{here}.LayerNorm", "positions/norm"),
    ]


def bart_vectors(ids, barred=None, stream=(), source_ids=None, before="model."):
    """The rules of the vectors of tokens, which are those of the output, too, and of its bias.

    Args:
        ids: for each id of ours the id there.
        barred: ids of ours that are never written; None where there is no bias.
        stream: steps of the residual stream.
        source_ids: `ids` of the encoder's own vectors, where it has such.
        before: what stands before their names.
    """
    whose = ("shared", "{side}.embed_tokens") if source_ids is None else ("decoder.embed_tokens",)
    theirs, *also = [f"{before}{each}.weight" for each in whose] + ["lm_head.weight"]
    vectors = [Rule(theirs, "target_embedding/matrix", rows(ids), *_along(stream, -1), also=also)]
    if source_ids is not None:
        theirs = f"{before}encoder.embed_tokens.weight"
        vectors.append(Rule(theirs, "source_embedding/matrix", rows(source_ids), *_along(stream, -1)))
    if barred is None:
        return vectors
    return [*vectors, Rule("final_logits_bias", "target_embedding/output_bias", flat, rows(ids), put(barred))]


def model_table(config, sizes, **more):
    """The table `model` of a recipe.

    Args:
        config: the `Reading`.
        sizes: `{our name: the key that has it, or (the key, what it usually is)}` of settings that are whole numbers.
        **more: settings that are read already.
    """
    sizes = {ours: (theirs,) if isinstance(theirs, str) else theirs for ours, theirs in sizes.items()}
    return {"kind": "transformer"} | {ours: config.whole(*theirs) for ours, theirs in sizes.items()} | more


def bart_model(config, usual="gelu"):
    """The table `model` of a recipe, of the keys that BART and its kin have; `usual` is their activation."""
    must_write(config)
    for name in ("attention_heads", "ffn_dim"):
        config.whole(f"decoder_{name}")  # where it is missing, it is none of the encoder's
        config.must(**{f"decoder_{name}": config.get(f"encoder_{name}")})
    config.must(num_hidden_layers=config.get("encoder_layers"))
    config.idle("attention_dropout", "activation_dropout", "classifier_dropout", "classif_dropout", "init_std")
    config.idle("encoder_layerdrop", "decoder_layerdrop")  # layers that training leaves out
    activation, dropout = config.one_of("activation_function", ACTIVATIONS, usual), config.number("dropout", 0.1)
    sizes = {"units": "d_model", "num_layers": "encoder_layers", "decoder_layers": "decoder_layers"}
    sizes |= {"num_heads": "encoder_attention_heads", "hidden_units": "encoder_ffn_dim"}
    return model_table(config, sizes, activation=activation, dropout=dropout)


def must_write(config):
    """Refuse a network that writes no texts, of a family whose networks do."""
    names = config.words("architectures")
    if any(word in names[0] for word in OTHER_HEADS):
        config.refuse(f"architectures is {names}; of this family only networks that write texts are known here")


def special_ids(read, size, *fallback):
    """(a function that makes the only tokenizer, the ids): of the files beside a network, or of its settings alone.

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
    """Raise in the place of a function that makes tokenizers, for their files were no such ones."""
    told = f"one of its files has another form than it has elsewhere ({error!r})" if isinstance(error, ODD) else error
    raise ValueError(f"the network has no tokenizer that is known here: {told or repr(error)}") from error


def sinusoids(longest, units, first=0):
    """`sin(t / 10000^(i / (units / 2 - 1)))` from position `first` on, and behind them all cosines: `(longest, units)`.

    Fairseq and Marian compute them so: the last wave is exactly 10,000 times as long as the first.
    """
    rates = np.exp(np.arange(units // 2) * -(math.log(10_000) / (units // 2 - 1)))
    angles = np.arange(first, first + longest)[:, None] * rates
    return np.concatenate([np.sin(angles), np.cos(angles)], 1)


def has_own_output(source, shared, output="lm_head.weight"):
    """Whether a network reads its logits off a matrix of its own, and not off its embeddings.

    Its files decide, as in `transformers` 5: configurations say `tie_word_embeddings` of both kinds.
    """
    if output not in source.tensors or shared not in source.tensors:
        return False
    return not np.array_equal(source.tensors[output].read(), source.tensors[shared].read())


def reads_for(config):
    """(the task of a network that reads, by its head: "classify", "tag", or "embed" where it has none; the names of
    its classes, by their ids)."""
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
    named = config.get("id2label") or {str(number): f"LABEL_{number}" for number in range(count)}
    if not isinstance(named, dict):
        config.refuse(f"id2label is {named}; expected the name of each class by its id")
        named = {}
    labels = tuple(str(named.get(str(number), f"LABEL_{number}")) for number in range(len(named)))
    if len(set(labels)) < max(2, len(labels)):
        config.refuse(f"id2label is {named}; expected two different names or more")
    return task, labels


def summary(source, recipe, dense="tanh"):
    """The tables of a recipe for what becomes of states: of a classifier the first one, behind a layer; of a sentence
    encoder what its folder says of its vectors, and the plain mean where it says nothing.

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
    said = source.json(f"{place}/config.json", needed=bool(places))
    modes = {name for name, value in said.items() if name.startswith("pooling_mode_") and value is True}
    modes = modes or {f"pooling_mode_{said.get('pooling_mode', 'mean')}"}
    known = {"pooling_mode_mean_tokens": "mean", "pooling_mode_mean": "mean"}
    known |= {"pooling_mode_cls_token": "first", "pooling_mode_cls": "first"}
    if len(modes) > 1 or not modes <= known.keys():
        source.config.refuse(
            f"{place}/config.json asks for {', '.join(sorted(modes))}; known here are {', '.join(known)}"
        )
    texts, about = source.json("tokenizer_config.json"), source.json("config_sentence_transformers.json")
    if prompt := (about.get("prompts") or {}).get(about.get("default_prompt_name")):
        source.config.refuse(
            f"config_sentence_transformers.json puts {prompt!r} before every text, which is not done here. Set "
            "default_prompt_name to null there, and write it yourself before the texts that need it"
        )
    about = Reading(source.json("sentence_bert_config.json"), "sentence_bert_config.json")
    about.must(do_lower_case=tuple({False, texts.get("do_lower_case", False)}))
    longest = about.whole("max_seq_length", None) or texts.get("model_max_length") or recipe["text"]["max_input_length"]
    about.tell()
    return {
        "model": recipe["model"] | {"normalize": "Normalize" in kinds},
        "text": recipe["text"] | {"max_input_length": min(longest, recipe["text"]["max_input_length"])},
        "pooling": known.get(min(modes), "mean"),
    }
