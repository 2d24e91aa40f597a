"""What the Keras model answers over the grid: the expectation that the exported forms are held to."""

import numpy as np
import tensorflow as tf

from serving.signatures import driver, generation, scoring
from zoo.decoding.loop import BOS, EOS

BATCHES = (1, 2, 5)
TIMES = (1, 2, 7, 33)
PADDINGS = ("full", "ragged", "foreign")
TARGET_TIME = 5
FIRST_WORD = EOS + 1


def grid(source_vocab_size, target_vocab_size, seed=0):
    """Cases of random ids: every batch x time, with all rows full, with short rows, and with those again but foreign
    ids in the padding (which must not change a thing)."""
    rng = np.random.default_rng(seed)
    for batch in BATCHES:
        for time in TIMES:
            words = rng.integers(FIRST_WORD, source_vocab_size, (batch, time)).astype("int32")
            target = rng.integers(FIRST_WORD, target_vocab_size, (batch, TARGET_TIME)).astype("int32")
            ragged = rng.integers(1, time + 1, batch).astype("int32")
            target_lengths = rng.integers(0, TARGET_TIME + 1, batch).astype("int32")
            for padding in PADDINGS:
                lengths = np.full(batch, time, "int32") if padding == "full" else ragged
                inside = np.arange(time) < lengths[:, None]
                token_ids = np.where(inside, words, 0)
                if padding == "foreign":
                    token_ids = np.where(inside, words, (words + 1) % source_vocab_size)
                yield {
                    "token_ids": token_ids.astype("int32"),
                    "lengths": lengths,
                    "target_ids": target,
                    "target_lengths": target_lengths,
                }


def expectation(model, tokenizers, settings, texts):
    """Everything `check` compares, as one flat dict of arrays.

    Args:
        model: the Keras model.
        tokenizers: (source, target) `zoo.text.Tokenizer`.
        settings: dict with beams, max_length and alpha.
        texts: strings for the text signature.
    """
    limit, alpha = settings["max_length"], settings["alpha"]
    generate = {
        "tokens": _compiled(generation(model, settings["beams"], limit, alpha)),
        "greedy": _compiled(generation(model, 1, limit, alpha)),
    }
    (_, encode), score = driver(model, limit)["encode"], scoring(model)
    arrays = {}
    for number, case in enumerate(grid(*(tokenizer.vocab_size for tokenizer in tokenizers))):
        source = {name: case[name] for name in ("token_ids", "lengths")}
        fed = np.concatenate([np.full_like(case["target_ids"][:, :1], BOS), case["target_ids"]], axis=1)
        inputs = {"source_ids": source["token_ids"], "source_lengths": source["lengths"], "target_ids": fed}
        found = {"logits": model(inputs, training=False)}
        found |= {f"encode/{name}": leaf for name, leaf in encode(**source).items()}
        for name, function in generate.items():
            found |= {f"{name}/{key}": value for key, value in function(**source).items()}
        found |= score(source["token_ids"], source["lengths"], case["target_ids"], case["target_lengths"])
        everything = case | {f"expected/{name}": value for name, value in found.items()}
        arrays |= {f"{number}/{name}": np.asarray(value) for name, value in everything.items()}
    arrays["text"] = np.array(texts, dtype=str)
    arrays["expected/text"] = np.array(_answers(generate["tokens"], tokenizers, texts), dtype=str)
    return arrays


def _compiled(function):
    """The Keras model's search as one graph, traced once for all shapes."""
    signature = [tf.TensorSpec((None, None), "int32"), tf.TensorSpec((None,), "int32")]
    traced = tf.function(function, input_signature=signature, autograph=False)
    return lambda token_ids, lengths: traced(tf.constant(token_ids), tf.constant(lengths))


def _answers(function, tokenizers, texts):
    """Strings through the Python tokenizers and the Keras model, one at a time: batch-mates must not matter."""
    answers = []
    for ids in tokenizers[0].encode(texts):
        ids = [*ids, EOS]
        found = function(np.array([ids], "int32"), np.array([len(ids)], "int32"))
        length = int(found["output_lengths"][0, 0])
        answers += tokenizers[1].decode([np.asarray(found["output_ids"])[0, 0, :length].tolist()])
    return answers
