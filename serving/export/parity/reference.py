"""The results of the Keras model, with which those of the exported forms are compared."""

import numpy as np

from serving.export.parity.check import Case

FEW = 2


def expectation(kind, tokenizers, texts):
    """What the exported forms are asked, and what they must answer: a list of `serving.export.parity.check.Case`.

    Args:
        kind: `serving.export.kinds.base.Kind`.
        tokenizers: a `zoo.text.Tokenizer` for each of its sides.
        texts: strings for the text signature.
    """
    cases = []
    for name, inputs in kind.cases([tokenizer.vocab_size for tokenizer in tokenizers]):
        outputs = kind.expected_logits(**inputs) if name == "drive" else kind.ask(name, **inputs)
        cases.append(Case(name, inputs, outputs))
    # Texts are answered one at a time here, because in a batch the answers must be the same.
    for batch in batches(kind, texts):
        answers = [kind.answer(tokenizers, text) for text in batch]
        outputs = {key: stack([answer[key] for answer in answers]) for key in answers[0]}
        cases.append(Case("serving_default", kind.make_inputs(batch), outputs))
    return cases


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
