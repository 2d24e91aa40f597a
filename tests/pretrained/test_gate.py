"""The comparison with the source's framework, by one that is as small as the gate needs; real ones are in no test."""

import contextlib
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tests.pretrained.tiny import DATA
from zoo.pretrained import gate
from zoo.pretrained.opening import open_source
from zoo.pretrained.source import open_address


class Answer(dict):
    """What a model of transformers gives: keys are attributes, whose values become arrays."""

    def __getattr__(self, name):
        return SimpleNamespace(numpy=lambda: self[name])


class Framework:
    """Answers as the opened network does, one text at a time, as long as nothing is added to its logits."""

    __version__ = "0"

    def __init__(self, made, added):
        self.made, self.added, self.lengths = made, added, []
        self.config = SimpleNamespace(is_encoder_decoder=True)

    def __getattr__(self, name):
        return self  # AutoModel..., of which each is this one

    def from_pretrained(self, folder, local_files_only):
        assert local_files_only
        return self

    def eval(self):
        return self

    float = eval

    def __call__(self, input_ids, decoder_input_ids):
        self.lengths.append(input_ids.shape[1])
        ids = self.made.network.ids
        batch = {"source_ids": gate.to_our_ids(input_ids, ids), "source_lengths": np.array([input_ids.shape[1]])}
        batch["target_ids"] = gate.to_our_ids(decoder_input_ids, ids)
        logits = np.asarray(self.made.model({name: each.astype("int32") for name, each in batch.items()}))
        theirs = np.zeros((*logits.shape[:-1], ids.max() + 1), "float32")
        theirs[..., ids[::-1]] = logits[..., ::-1]  # of a row that two ids have, the first is the one that counts
        if self.added is None:
            raise IndexError("too long")
        theirs[0, -1, ids[9]] += self.added
        return Answer(logits=theirs)


@pytest.fixture
def asked(monkeypatch):
    """A function that opens the tiny Marian and compares it with a framework whose logits differ by a number."""
    monkeypatch.setattr(gate, "read_answers", lambda source: None)
    monkeypatch.setattr(gate.importlib.util, "find_spec", lambda name: name)

    def asked(added):
        with open_address(DATA / "marian") as source:
            made = open_source(source, tokenizers=False)
            framework = Framework(made, added)
            monkeypatch.setitem(sys.modules, "transformers", framework)
            monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(tensor=np.array, no_grad=contextlib.nullcontext))
            return gate.compare(made, source), framework.lengths

    return asked


def test_each_text_is_asked_alone(asked):
    found, lengths = asked(0.0)
    assert found["with"] == "transformers 0" and found["what"] == "logits" and found["largest"] < 1e-6
    assert len(lengths) == found["texts"] == gate.TEXTS and max(lengths) == gate.LONGEST > min(lengths)


def test_another_network_is_refused(asked):
    with pytest.raises(ValueError, match="differ from those of transformers 0 by .* of their largest; allowed is"):
        asked(0.5)


def test_a_framework_that_cannot_answer_is_not_compared_with(asked):
    assert asked(None)[0] is None


@pytest.mark.parametrize(
    ("name", "network"),
    [("bert", "BertForSequenceClassification"), ("minilm", "AutoModel"), ("gpt2", "GPT2LMHeadModel")],
)
def test_a_network_with_a_head_is_compared_with_its_head(name, network, monkeypatch):
    """Without it, nobody would notice that its last layers are others."""
    asked = SimpleNamespace()
    monkeypatch.setattr(gate, "read_answers", lambda source: None)
    monkeypatch.setattr(gate.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setitem(sys.modules, "transformers", asked)
    for each in ("AutoModel", network):  # which answer nothing
        setattr(asked, each, SimpleNamespace(from_pretrained=lambda *_, each=each, **__: setattr(asked, "last", each)))
    with open_address(DATA / name) as source:
        assert gate.compare(open_source(source, tokenizers=False), source) is None
    assert asked.last == network


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        ({"text": {"max_input_length": 7}, "model": {"context": 0}, "positions": "none"}, 7),
        ({"text": {}, "model": {"context": 9}, "positions": {"layer": "learned", "max_positions": 5}}, 5),
        ({"text": {"max_input_length": 512}, "model": {}}, gate.LONGEST),
    ],
)
def test_no_text_is_longer_than_the_network_has_positions(recipe, expected):
    assert gate._longest_text(recipe) == expected
