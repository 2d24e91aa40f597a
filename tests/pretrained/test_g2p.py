"""The family of docs/pretrained.md, as a module of somebody's own, on random weights that are named as g2p-en's."""

import sys

import numpy as np
import pytest

import zoo
from tests.house_rules import ROOT
from tests.pages.blocks import blocks
from tools import cli
from zoo.data import pad
from zoo.pretrained import load, network
from zoo.tasks.parts.answering import Searcher

UNITS, LETTERS, PHONEMES = 80, 29, 74  # no fewer units than phonemes: its output matrix stands for two
WORDS = ["zoo", "sequence", "x", "naïve"]


def weights(seed=4):
    generator, found = np.random.default_rng(seed), {}
    for side, size in (("enc", LETTERS), ("dec", PHONEMES)):
        found[f"{side}_emb"] = generator.normal(0, 1, (size, UNITS))
        for part in ("ih", "hh"):
            found[f"{side}_w_{part}"] = generator.normal(0, 2 * UNITS**-0.5, (3 * UNITS, UNITS))
            found[f"{side}_b_{part}"] = generator.normal(0, 0.5, 3 * UNITS)
    found |= {"fc_w": generator.normal(0, 1, (PHONEMES, UNITS)), "fc_b": generator.normal(0, 1, PHONEMES)}
    return {name: each.astype("float32") for name, each in found.items()}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gru(x, h, held, side):
    """PyTorch's, whose gates are r, z, n."""
    i = np.split(held[f"{side}_w_ih"] @ x + held[f"{side}_b_ih"], 3)
    j = np.split(held[f"{side}_w_hh"] @ h + held[f"{side}_b_hh"], 3)
    r, z = sigmoid(i[0] + j[0]), sigmoid(i[1] + j[1])
    return (1 - z) * np.tanh(i[2] + r * j[2]) + z * h


def pronounced(word, held):
    """What g2p-en's `predict` does: ids of letters (1 is unknown, 2 the end), then at most 20 phonemes up to id 3."""
    h, found, last = np.zeros(UNITS), [], 2
    for letter in [*(ord(each) - ord("a") + 3 if each.isascii() else 1 for each in word), 2]:
        h = gru(held["enc_emb"][letter], h, held, "enc")
    while len(found) < 20:
        h = gru(held["dec_emb"][last], h, held, "dec")
        last = int(np.argmax(held["fc_w"] @ h + held["fc_b"]))
        if last == 3:
            break
        found.append(last)
    return found


@pytest.fixture
def held(tmp_path, monkeypatch):
    """The weights of `g2p_en`, beside `g2p_family.py`, where we work; the family is known neither before nor behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "g2p_family", raising=False)
    network._families.pop("g2p-en", None)  # the page itself may have been run
    block, _ = blocks(ROOT / "docs" / "pretrained.md", "python")
    (tmp_path / "g2p_family.py").write_text(block.text, encoding="utf-8")
    (tmp_path / "g2p_en").mkdir()
    found = weights()
    np.savez(tmp_path / "g2p_en" / "checkpoint20.npz", **found)
    yield found
    network._families.pop("g2p-en", None)


def test_it_comes_by_an_entry_point(tmp_path, monkeypatch, held):
    about = tmp_path / "of_somebody-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: of-somebody\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[seqzoo.families]\ng2p = g2p_family\n")
    with pytest.raises(ValueError, match="holds no config.json, which no family knows"):
        load("g2p_en")
    monkeypatch.syspath_prepend(tmp_path)
    model, ids = load("g2p_en")
    assert ids.tolist() == list(range(PHONEMES)) and model.source_vocab_size == LETTERS + 1  # BOS


def test_its_words_are_pronounced_as_there(held):
    assert cli.main(["import", "g2p_en", "--out", "run", "--import", "g2p_family"]) == 0
    run = zoo.open("run")
    reads, writes = run.tokenizers
    searcher = Searcher(run.model, 1, 0.0, run.recipe.search.max_output_length, run.recipe.search)
    searcher.compile(jit_compile=False)
    batch = pad([reads.around.put(ids) for ids in reads.encode(WORDS)])
    token_ids, lengths, _ = searcher.predict_on_batch(batch)
    for word, ids, length in zip(WORDS, token_ids, lengths, strict=True):
        found = ids[:length].tolist()
        assert found == pronounced(word, held)
        assert len(writes.decode([found])[0].split()) == len(found) > 1
