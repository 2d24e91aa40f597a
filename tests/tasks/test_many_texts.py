"""An imported sentence encoder over many texts: import, export, a file of texts, a matrix of vectors."""

import random

import numpy as np
import pytest

import zoo
from serving.export import export_run
from tests.house_rules import ROOT
from tools import cli

MINILM = ROOT / "tests" / "pretrained" / "data" / "minilm"
COUNT, BLANK, LONG = 500, 100, 200


@pytest.mark.slow
def test_the_file_of_vectors_is_what_the_model_gives(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    zoo.pretrained.import_network(MINILM, "minilm")
    draw, words = random.Random(1), "the cat dog house old sea shell and a big where".split()
    texts = [" ".join(draw.choices(words, k=draw.randint(1, 12))) for _ in range(COUNT)]
    texts[BLANK], texts[LONG] = "", " ".join(words * 30)
    (tmp_path / "texts.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    run = zoo.open("minilm")
    artefact = export_run(run, int8=False)
    assert cli.main(["run", str(artefact), "--file", "texts.txt", "--out", "vectors.npy"]) == 0
    found = np.load("vectors.npy")
    expected, cut = run.recipe.job.predict(run, texts)
    assert cut == 1 and not found[BLANK].any()
    expected[BLANK] = 0
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert len(np.unique(found.round(4), axis=0)) > COUNT / 2
