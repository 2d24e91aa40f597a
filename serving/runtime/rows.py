"""Signatures of token ids, row by row: what a graph answers to the rows of several callers at once."""

import numpy as np

from serving.runtime.loaded import padded

STEPS = ("encode", "step")  # the two halves of a search for a driver of its own; their states are no rows


def row_signatures(manifest):
    """The tables of the manifest, by name, of the signatures whose inputs and outputs are rows of ids and numbers.

    As in a SavedModel, the rules that a graph takes besides, each with a default, are inputs of `tokens_rules` alone.
    """
    tables = {
        table["name"]: table | {"inputs": [spec for spec in table["inputs"] if "default" not in spec]}
        for table in manifest["signatures"]
    }
    return {name: table for name, table in tables.items() if name in manifest["graphs"] and name not in STEPS}


def length_name(ids):
    """The name of the input with the lengths of the ids in input `ids`.

    >>> from serving.runtime.rows import length_name
    >>> length_name("token_ids"), length_name("source_ids")
    ('lengths', 'source_lengths')
    """
    return "lengths" if ids == "token_ids" else ids.replace("_ids", "_lengths")


def run_rows(loaded, table, rows):
    """The outputs of a signature for each row, in order: dicts of arrays without the batch axis.

    Rows are put into batches of similar length, as `Loaded.batches` has them. The axes of an output that grow with the
    inputs are those of the batch: the caller cuts what is beyond a row's own.

    Args:
        loaded: `serving.runtime.loaded.Loaded`.
        table: the signature, as the manifest has it.
        rows: dicts by input name. Ids are lists without padding, and their lengths are not given; the other inputs are
            arrays without the batch axis, of one shape.

    Raises: as of `Loaded.run`.
    """
    names = [spec["name"] for spec in table["inputs"]]
    sides = [name for name in names if name.endswith("_ids")]
    others = [name for name in names if name not in sides and name not in map(length_name, sides)]
    beams = max((axis for spec in table["outputs"] for axis in spec["shape"][1:2] if type(axis) is int), default=1)
    graph, answers = loaded.graph(table["name"]), [None] * len(rows)
    longest = [max(len(row[name]) for name in sides) for row in rows]
    for group in loaded.batches(longest, beams):
        inputs = {name: np.stack([rows[row][name] for row in group]) for name in others}
        for name in sides:
            inputs[name], inputs[length_name(name)] = padded([rows[row][name] for row in group])
        outputs = loaded.run(graph, inputs)
        for place, row in enumerate(group):
            answers[row] = {name: values[place] for name, values in outputs.items()}
    return answers
