"""What the Keras model answers: the expectation that the exported forms are held to."""

import numpy as np

from serving.kinds.base import REMARKS


def expectation(kind, tokenizers, texts, bounded=True):
    """Everything `check` compares, as a flat dict of arrays: `number/name/in/input` and `number/name/out/output`.

    `name` is a signature, or "drive": logits along given tokens, which the ONNX encoder and step must come to.

    Args:
        kind: `serving.kinds.Kind`.
        tokenizers: a `zoo.text.Tokenizer` for each of its sides.
        texts: strings for the text signature.
        bounded: whether the artefact knows how long a text may be; those of seqzoo's first days did not, nor did they
            say what became of a text that is blank or too long.
    """
    arrays, number = {}, 0

    def enter(name, inputs, outputs):
        nonlocal number
        for side, values in (("in", inputs), ("out", outputs)):
            arrays.update({f"{number}/{name}/{side}/{key}": np.asarray(value) for key, value in values.items()})
        number += 1

    for name, inputs in kind.cases([tokenizer.vocab_size for tokenizer in tokenizers]):
        enter(name, inputs, kind.expected_logits(**inputs) if name == "drive" else kind.ask(name, **inputs))
    for batch in filter(None, (texts, kind.extremes() if bounded else ())):
        answers = [kind.answer(tokenizers, text) for text in batch]  # one at a time: batch-mates must not matter
        names = answers[0] if bounded else answers[0].keys() - {spec.name for spec in REMARKS}
        outputs = {key: stacked([answer[key] for answer in answers]) for key in names}
        enter("serving_default", kind.asked(batch), outputs)
    return arrays


def stacked(values):
    """Arrays of one rank as rows of one; shorter ones end in zeros, or in empty strings."""
    values = [np.asarray(value) for value in values]
    sizes = np.max([value.shape for value in values], axis=0).astype(int)
    rows = np.zeros((len(values), *sizes), dtype=np.result_type(*values))
    for index, value in enumerate(values):
        rows[(index, *map(slice, value.shape))] = value
    return rows
