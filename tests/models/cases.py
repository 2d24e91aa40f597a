"""The models as cases of the contract battery."""

from tests.attention.cases import ATTENTIONS
from tests.contracts import Case, lengths, token_ids
from tests.recurrent.cases import CELLS
from zoo.models import Seq2Seq
from zoo.recurrent import RecurrentEncoder, SelfAttentiveEncoder

SOURCES, TARGETS = 11, 13  # vocabularies


def batch(rows, time, noise):
    return {
        "source_ids": token_ids(rows, time, SOURCES, noise, stream=0),
        "source_lengths": lengths(rows),
        "target_ids": token_ids(rows, time + 2, TARGETS, noise, stream=1),
    }


def seq2seq(cell, attention, num_layers=1, core=False):
    return Case(
        f"seq2seq-{cell}-{num_layers}-{attention}",
        lambda: Seq2Seq(SOURCES, TARGETS, 5, cell, attention, num_layers),
        batch,
        lambda model, inputs: model(inputs),
        core=core,
    )


def self_attentive():
    encoder = SelfAttentiveEncoder(RecurrentEncoder(3, "lstm"), ATTENTIONS["dot"](7))
    return Seq2Seq(SOURCES, TARGETS, units=5, cell="gru", encoder=encoder)


CORE = {("gru", "additive"), ("lstm", "dot"), ("gru_reset_before", None)}
CASES = [
    *(seq2seq(cell, attention, core=(cell, attention) in CORE) for cell in CELLS for attention in (None, *ATTENTIONS)),
    seq2seq("lstm", "additive", num_layers=2),
    seq2seq("gru", None, num_layers=2),
    Case(
        "seq2seq-self-attentive",
        self_attentive,
        batch,
        lambda model, inputs: model(inputs),
        core=True,
    ),
]
