"""The results of the Keras model, with which those of the exported forms are compared."""

import numpy as np

FEW = 2


def expectation(kind, tokenizers, texts):
    """All inputs and expected outputs as a flat dict of arrays: `number/name/in/input` and `number/name/out/output`.

    `name` is a signature, or "drive" for the logits along given tokens, which the ONNX encoder and step must give.

    Args:
        kind: `serving.export.kinds.base.Kind`.
        tokenizers: a `zoo.text.Tokenizer` for each of its sides.
        texts: strings for the text signature.
    """
    arrays, number = {}, 0

    def enter(name, inputs, outputs):
        nonlocal number
        for side, values in (("in", inputs), ("out", outputs)):
            arrays.update({f"{number}/{name}/{side}/{key}": np.asarray(value) for key, value in values.items()})
        number += 1

    for name, inputs in kind.cases([tokenizer.vocab_size for tokenizer in tokenizers]):
        enter(name, inputs, kind.expected_logits(**inputs) if name == "drive" else kind.ask(name, **inputs))
    # Texts are answered one at a time here, because in a batch the answers must be the same.
    for batch in batches(kind, texts):
        answers = [kind.answer(tokenizers, text) for text in batch]
        outputs = {key: stack([answer[key] for answer in answers]) for key in answers[0]}
        enter("serving_default", kind.make_inputs(batch), outputs)
    return arrays


def batches(kind, texts):
    """The lists of texts that the text signature is asked, in order; of a large network `FEW` texts."""
    texts = texts[:FEW] if kind.large else texts
    return list(filter(None, (list(texts), list(kind.extremes()))))


def stack(values):
    """Arrays of one rank stacked to one array; shorter ones are padded with zeros or with empty strings."""
    values = [np.asarray(value) for value in values]
    sizes = np.max([value.shape for value in values], axis=0).astype(int)
    rows = np.zeros((len(values), *sizes), dtype=np.result_type(*values))
    for index, value in enumerate(values):
        rows[(index, *map(slice, value.shape))] = value
    return rows


def without(expected, rows):
    """`expected` without these rows of its cases, `{(number, name): rows}`."""
    rest = {}
    for path, value in expected.items():
        number, name, *_ = path.split("/")
        left_out = rows.get((number, name))
        rest[path] = np.delete(value, list(left_out), axis=0) if left_out else value
    return rest
