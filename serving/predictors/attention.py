"""Which source pieces each output piece looked at."""

import numpy as np

from serving.loaded import padded
from serving.predictors.results import Attention
from serving.reading import speaks


def attention(answers, text, beam=None):
    """`Attention` of the best output of `text`: what is weighed before each piece is written.

    The output is the one that `run` finds; `encoder.onnx` and `step.onnx` are then driven along it, in float32 whatever
    the precision of the search.

    Args:
        answers: of an artefact that generates.
        text: a string.
        beam: as of `run`.

    Raises:
        TypeError: text is not a string.
        ValueError: text is blank or refused, or the artefact's model keeps no attention weights.
    """
    loaded = answers.loaded
    if not isinstance(text, str):
        raise TypeError(f"attention expects one string; received {type(text).__name__}.")
    answers.check(beam, 1, None)
    (reading,) = loaded.read([text])
    if reading.error:
        raise ValueError(f"attention cannot read the text: {reading.error}.")
    if not speaks(reading):
        raise ValueError(f"attention expects a text with content; received {text!r}.")
    source = list(reading.ids)
    ((output, _),) = answers.search([source], beam, 1)[0]
    pieces = [*output, loaded.target.eos_id()][: answers.max_length]
    return Attention(
        tuple(loaded.source.id_to_piece(source)),
        tuple(loaded.target.id_to_piece(pieces)),
        _weights(loaded, source, pieces[:-1]),
    )


def _weights(loaded, source, written):
    """Attention weights (written + 1, source time) while the ids `written` are fed one by one after the first."""
    token_ids, lengths = padded([source])
    known = loaded.run(loaded.graph("encode"), {"token_ids": token_ids, "lengths": lengths}, "float32")
    rows = []
    for token in (known.pop("first_ids"), *np.array(written, "int32").reshape(-1, 1, 1)):
        found = loaded.run(loaded.graph("step"), known | {"token_ids": token}, "float32")
        if "next_state.attention" not in found:
            raise ValueError(
                f"{loaded.name} keeps no attention weights. Choose a recurrent system with attention: it has one map; "
                "a Transformer has one for every head and layer, and a system without attention none."
            )
        known |= {name.removeprefix("next_"): value for name, value in found.items()}
        rows.append(known["state.attention"][0, 0])
    return np.stack(rows).astype("float32")
