"""What the page draws of a model beside its answer, in a headless Chromium: it is what the model did."""

import io
import json
import math
import zipfile

import h5py
import numpy as np
import pytest

from benchmarks.harness import browser as driver
from serving.gallery import write
from tests.gallery.conftest import STORY
from tests.house_rules import ROOT
from tests.serving.conftest import LABELS, randomised, settings_of
from tests.shared import mostly_at_releases

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(driver.installed() is None, reason="no Chromium here: apt-get install chromium"),
]


def looked_inside(page, name, text):
    asked = f"seqzoo.run({name!r}, {json.dumps(text)})"
    return page.run(f"{asked}.then(async (result) => [result, await seqzoo.inside({name!r}, result)])")


@pytest.mark.parametrize(("name", "given"), [("dates", "3. März 2021"), ("pronounce-hu", "állatkert")])
def test_the_tree_leads_to_the_hypotheses(page, name, given):
    """The probabilities along a path make the score that the graph gave it; of the second rows leave their search."""
    result, inside = looked_inside(page, name, given)
    ends = {}

    def walk(node, path, total):
        total += node["logProb"]
        if "rank" in node:
            ends[node["rank"]] = (
                "".join(path[1:] if node["ended"] else [*path[1:], node["piece"]]),
                total,
                node["depth"],
            )
        for child in node["children"]:
            walk(child, [*path, node["piece"]], total)

    walk(inside["tree"], [], 0.0)
    assert len(ends) == len(result["hypotheses"]) == 4
    for rank, hypothesis in enumerate(result["hypotheses"]):
        text, total, depth = ends[rank]
        assert text.replace("▁", "") == hypothesis["text"].replace(" ", "")
        assert total / ((5 + depth) / 6) ** 0.6 == pytest.approx(hypothesis["score"], abs=1e-4)
    rows = inside["attention"]["rows"]
    assert len(rows) == len(result["ids"]) + 1 and {len(row) for row in rows} == {len(result["source"])}
    assert [sum(row) for row in rows] == pytest.approx([1.0] * len(rows), abs=1e-4)


def test_the_year_is_read_where_it_stands(page):
    """The heaviest source pieces of 2, 0, 2, 1 stand behind each other."""
    _, inside = looked_inside(page, "dates", "3. März 2021")
    places = [row.index(max(row)) for row in inside["attention"]["rows"]]
    assert places[1:5] == sorted(places[1:5])


def test_tokens_and_steps(page):
    result, inside = looked_inside(page, "shakespeare-product-key", "ROMEO:")
    assert "".join(token["text"] for token in inside["tokens"]) == result["text"]
    assert sum(math.log(token["probability"]) for token in inside["tokens"]) == pytest.approx(result["score"], abs=1e-3)
    assert all(token["others"][0]["probability"] == token["probability"] for token in inside["tokens"])


def test_how_often_each_sentence_was_thought_about(page):
    _, inside = looked_inside(page, "babi-1", STORY)
    units = inside["ponder"]["units"]
    assert [unit["text"] for unit in units] == STORY.replace("? ", "?|").replace(". ", ".|").split("|")
    assert [unit["steps"] for unit in units] == [2, 4, 2]  # as `model.encoder.ponder` in Keras
    assert inside["ponder"]["steps"] == 4


@pytest.mark.parametrize("by_sentences", mostly_at_releases([True, False], often=1))
def test_ponder_steps_of_a_new_export(by_sentences, opened, tmp_path, monkeypatch):
    """They are those that Keras takes; a model that reads by pieces has none of sentences."""
    from serving.export import export
    from zoo.depth import Halting, make_universal_stack
    from zoo.embeddings import SentenceEmbedding
    from zoo.models import Classifier
    from zoo.text import Tokenizer, sentence_ends

    text = "the cat sat. a mat! is a cat on the mat?"
    tokenizer = Tokenizer.train([text, "a mat sat on a cat."], 40, model_type="bpe")
    embedding = SentenceEmbedding(tokenizer.vocab_size, 16)
    embedding.mark(sentence_ends(tokenizer.pieces))
    encoder = make_universal_stack(6, 16, 2, 32, Halting("interpolated"))
    more = {"embedding": embedding} if by_sentences else {}
    model = randomised(Classifier(tokenizer.vocab_size, len(LABELS), encoder, **more))
    encoder.halting.dense.bias.assign([-1.0])  # some sentences take more steps than others
    artefact = export(model, [tokenizer], tmp_path / "made", settings_of("classify", texts=[text], int8=False))
    with driver.served(write([str(artefact)], tmp_path / "out")) as (address, _):
        page = opened()
        page.open(f"{address}/")
        result, inside = looked_inside(page, "classify", text)
    thoughts, ponder = [], encoder.ponder
    monkeypatch.setattr(encoder, "ponder", lambda *given: thoughts.append(ponder(*given)) or thoughts[-1])
    model({"token_ids": np.array([result["source"]]), "lengths": np.array([len(result["source"])])})
    updates = np.asarray(thoughts[0][1]["updates"])[0].tolist()
    if by_sentences:
        steps = [unit["steps"] for unit in inside["ponder"]["units"]]
        assert steps == updates[2::-1] == [2, 3, 3] and not any(updates[3:])
    else:
        assert inside == {} and all(updates)


def test_exits_and_the_attention_of_blocks(page):
    """A Transformer's maps, one for each head of each block that a piece went through."""
    _, inside = looked_inside(page, "dates-depth-adaptive", "31.12.")
    exits, attention = inside["exits"], inside["attention"]
    depths = [piece["exit"] for piece in exits["pieces"]]
    assert exits["blocks"] == 3 and depths[:4] == [1, 1, 3, 2]  # as `model.think` in Keras
    maps = {each["name"]: each["rows"] for each in attention["maps"]}
    assert len(maps) == 1 + 3 * 4 and len(attention["target"]) == len(depths)
    for block in (1, 2, 3):
        rows = maps[f"block {block}, head 1"]
        assert [row is not None for row in rows] == [depth >= block for depth in depths]
        assert [sum(row) for row in rows if row] == pytest.approx([1.0] * sum(depth >= block for depth in depths))
    _, inside = looked_inside(page, "dates-depth-adaptive", "3. März 2021")
    places = [row.index(max(row)) for row in maps_of(inside, "block 1, head 1")]
    assert len(inside["attention"]["maps"]) == 1 + 4 and set(places) <= set(range(len(inside["attention"]["source"])))
    # On average, the digits of the year are read where they stand.
    means = [row.index(max(row)) for row in inside["attention"]["rows"]]
    assert [inside["attention"]["source"][place] for place in (means[1], means[3], means[4])] == ["2", "2", "1"]


def maps_of(inside, name):
    (rows,) = (each["rows"] for each in inside["attention"]["maps"] if each["name"] == name)
    return rows


def test_learned_spans_are_those_of_the_model(page):
    _, inside = looked_inside(page, "shakespeare-adaptive-span", "ROMEO:")
    spans = inside["spans"]
    (file,) = (ROOT / "hub/shakespeare-adaptive-span").glob("*/model.keras")
    with zipfile.ZipFile(file) as archive:
        weights = h5py.File(io.BytesIO(archive.read("model.weights.h5")))
    learned = []
    weights.visititems(lambda name, each: learned.append(each[:]) if getattr(each, "shape", 0) == (4,) else None)
    assert spans["ramp"] == 32 and len(spans["blocks"]) == len(learned) == 3
    assert sorted(sum(spans["blocks"], [])) == pytest.approx(sorted(256 * np.concatenate(learned)), abs=1e-3)
    assert "".join(spans["before"]).replace("▁", " ").endswith(inside["tokens"][-1]["text"])
