"""Attention maps: the weight of each source piece for each output piece."""

from dataclasses import dataclass

import numpy as np

from serving.runtime.loaded import padded
from serving.runtime.reading import is_answered

EOS = 3  # the end of every text that is written


@dataclass(frozen=True)
class Attention:
    """An attention map: `weights[j, i]` is the weight of source piece i for output piece j."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: np.ndarray  # (target, source)


def attention(predictor, text, beam=None):
    """The `Attention` of the best output for `text`: the weights with which each of its pieces was written.

    The output is the one that `run` finds. `encoder.onnx` and `step.onnx` then process this output piece by piece, in
    float32 whatever the precision of the search.

    Args:
        predictor: `serving.runtime.writing.Writer` of an artefact that writes an output for a text.
        text: a string.
        beam: as of `run`.

    Raises:
        TypeError: text is not a string.
        ValueError: text is blank or refused, or the model of the artefact keeps no attention weights.
    """
    loaded = predictor.loaded
    if not isinstance(text, str):
        raise TypeError(f"attention expects one string; received {type(text).__name__}.")
    predictor.check(beam, 1, None)
    (reading,) = loaded.read([text])
    if reading.error:
        raise ValueError(f"attention cannot read the text: {reading.error}.")
    if not is_answered(reading):
        raise ValueError(f"attention expects a text with content; received {text!r}.")
    source = list(reading.ids)
    ((output, _),) = predictor.search([source], beam, 1)[0]
    pieces = [*output, EOS][: predictor.max_length]
    names = [tokenizer.pieces for tokenizer in (loaded.source, loaded.target)]
    return Attention(
        *(tuple(side[token] for token in ids) for side, ids in zip(names, (source, pieces), strict=True)),
        _weights(loaded, source, pieces[:-1]),
    )


def _weights(loaded, source, output_ids):
    """Attention weights (written + 1, source time) of the steps that read the first id and the ids `output_ids`."""
    token_ids, lengths = padded([source])
    inputs = loaded.run(loaded.graph("encode"), {"token_ids": token_ids, "lengths": lengths}, "float32")
    rows = []
    for token in (inputs.pop("first_ids"), *np.array(output_ids, "int32").reshape(-1, 1, 1)):
        outputs = loaded.run(loaded.graph("step"), inputs | {"token_ids": token}, "float32")
        if "next_state.attention" not in outputs:
            raise ValueError(
                f"{loaded.name} keeps no attention weights. Choose a recurrent system with attention, which has one "
                "map: a Transformer has one for each head and layer, and a system without attention has none."
            )
        inputs |= {name.removeprefix("next_"): value for name, value in outputs.items()}
        rows.append(inputs["state.attention"][0, 0])
    return np.stack(rows).astype("float32")
