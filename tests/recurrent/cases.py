"""The recurrent family as cases of the contract battery."""

import keras

from tests.attention.cases import ATTENTIONS
from zoo.check.laws import Case, length_mask, sequences
from zoo.recurrent import (
    AttentionCell,
    RecurrentDecoder,
    RecurrentEncoder,
    RecurrentReader,
    SelfAttentiveEncoder,
    make_cell,
)

CELLS = ("simple_rnn", "gru", "gru_reset_before", "lstm")


def padded(rows, time, noise):
    return {"inputs": sequences(rows, time, 3, noise), "mask": length_mask(rows, time)}


def encoder(name, core=False, **settings):
    return Case(name, lambda: RecurrentEncoder(5, **settings), padded, core=core)


def self_attentive(cell, attention):
    return Case(
        f"encoder-{cell}-self-{attention}",
        lambda: SelfAttentiveEncoder(RecurrentEncoder(5, cell), ATTENTIONS[attention](7)),
        padded,
    )


def beside_memory(rows, time, noise):
    return {
        "inputs": sequences(rows, time + 2, 3, noise, stream=0),
        "values": sequences(rows, time, 7, noise, stream=1),
        "mask": length_mask(rows, time),
    }


def attending(rnn, arguments):
    with rnn.cell.attending(arguments["values"], arguments["mask"]):
        return rnn(arguments["inputs"])


def cell(name, attention, num_layers=1, core=False):
    def make():
        inner = make_cell(name, 5, num_layers)
        return keras.layers.RNN(AttentionCell(inner, ATTENTIONS[attention](5)), return_sequences=True)

    # What the cell attends to is bound by a `with` block, so it is no input of a functional model.
    without = ("symbolic", "elsewhere", "implicit_masks")
    return Case(f"cell-{name}-{num_layers}-{attention}", make, beside_memory, attending, without, core)


def remembering(leaves, attention):
    def arguments(rows, time, noise):
        states = [sequences([(seed, 1) for seed, _ in rows], 1, 5, 0, 7 + i)[:, 0] for i in range(leaves)]
        memory = {"initial": tuple(states)}
        if attention:
            memory["keys"] = sequences(rows, time, 5, noise, stream=2)
            memory["values"] = sequences(rows, time, 7, noise, stream=1)
            memory["mask"] = length_mask(rows, time)
        else:
            memory["summary"] = sequences([(seed, 1) for seed, _ in rows], 1, 7, 0, 3)[:, 0]
        return {"inputs": sequences(rows, time + 2, 3, noise, stream=0), "memory": memory}

    return arguments


def decoder(name, attention, num_layers=1, core=False):
    leaves = num_layers * (2 if name == "lstm" else 1)

    def make():
        attend = ATTENTIONS[attention](5) if attention else None
        return RecurrentDecoder(5, name, attend, num_layers)

    # `remember` makes the memory before the call; its weights get their gradients in a model's case.
    return Case(
        f"decoder-{name}-{num_layers}-{attention}",
        make,
        remembering(leaves, attention),
        without=("gradients",),
        core=core,
    )


CASES = [
    *(encoder(f"encoder-{name}", cell=name, bidirectional=False, core=name == "simple_rnn") for name in CELLS),
    encoder("encoder-gru-3-layers", cell="gru", num_layers=3, bidirectional=False),
    encoder("encoder-lstm-2-layers-both-ways", cell="lstm", num_layers=2, core=True),
    self_attentive("gru", "dot"),
    self_attentive("lstm", "additive"),
    Case("reader", lambda: RecurrentReader(RecurrentEncoder(5, "lstm")), padded, core=True),
    cell("gru", "additive", core=True),
    cell("lstm", "dot"),
    cell("simple_rnn", "additive", num_layers=2),
    decoder("simple_rnn", "dot"),
    decoder("lstm", "additive", num_layers=2, core=True),
    decoder("gru_reset_before", None),
]
