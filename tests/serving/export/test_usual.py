"""An export measures what is usual for a model by the texts that validate it, and says so in manifest and card."""

import json

import numpy as np
import pytest

from serving.export.measuring import measure_usual, spread
from serving.export.settings import Settings
from serving.runtime import Runtime
from serving.runtime.manifest_format import checked
from tests.serving import fake_artefact
from tests.serving.conftest import settings_of, sides

pytestmark = pytest.mark.slow


def texts_of(tokenizer, count=120):
    """Texts of pieces that the tokenizer knows."""
    draw = np.random.default_rng(3)
    return tokenizer.decode(
        [draw.integers(4, tokenizer.vocab_size, draw.integers(2, 7)).tolist() for _ in range(count)]
    )


def lowest(values, share=0.015):
    return np.sort(values)[int(share * len(values))]


@pytest.mark.release(but=1)
@pytest.mark.parametrize("kind", ["classify", "tag", "generate"])
def test_the_bounds_are_those_of_the_validation(kind, models, tokenizers, tmp_path):
    from serving.export import export

    own = sides(kind, tokenizers)
    texts = texts_of(own[0])
    folder = export(models[kind], own, tmp_path, settings_of(kind, calibration=texts))
    manifest = json.loads((folder / "manifest.json").read_text())
    usual, common = manifest["usual"], own[0].log_probabilities
    encode = (
        (lambda text: sum(own[0].encode_words(text.split()), [])) if kind == "tag" else lambda t: own[0].encode([t])[0]
    )
    read = [(encode(text), len(text)) for text in texts if text.strip()]
    rare = np.array([sum(common[token] for token in ids) / length for ids, length in read])
    assert usual["texts"] == len(rare) and usual["familiarity"] == pytest.approx(rare.mean())
    scaled = (rare - rare.mean()) * np.sqrt([len(ids) for ids, _ in read])
    assert usual["spread"] == pytest.approx(-lowest(scaled))
    assert usual["pieces"] == max(len(encode(text)) for text in texts)
    answers = Runtime(folder, precision="float32").run(texts)
    assert usual["confidence"] == pytest.approx(lowest([each.confidence for each in answers if each.confidence]))
    unsure = sum("the model is unsure" in (each.warning or "") for each in answers)
    assert unsure <= 0.02 * len(texts)
    assert "has a warning; so has an answer of which" in (folder / "card.md").read_text()
    assert Settings.of(checked(manifest)).usual == usual


def test_the_bounds_of_ratings_are_those_of_the_answers(tmp_path):
    """The artefact rates a text by half its number of tokens: its letters and two around them."""
    found = measure_usual(fake_artefact.write(tmp_path / "a", "rate"), ["abc", "a", " ", "abcdef", "ab"])
    assert found["ratings"] == [1.5, 4.0] and "confidence" not in found


def test_prompts_begin_as_lines_do(artefacts, tokenizers):
    """A heading is rare within a text, and where a line begins it is usual: 8, 16, 32 or 64 characters of it."""
    artefact, (tokenizer, _) = artefacts("continue"), tokenizers
    most, lines = Runtime(artefact).max_input, texts_of(tokenizer, 400)
    both = ["\n".join(lines[row : row + 2]) for row in range(0, 400, 2)]
    texts = [text for text, ids in zip(both, tokenizer.encode(both), strict=True) if len(ids) <= most]
    behind = [text[place + 1 :] for text in texts for place in range(len(text)) if text[place] == "\n"]
    parts = texts + [each[:size] for each in behind for size in (8, 16, 32, 64) if len(each) >= size]
    common, ids = tokenizer.log_probabilities, tokenizer.encode(parts)
    rare = np.array([sum(common[token] for token in row) / len(part) for row, part in zip(ids, parts, strict=True)])
    scaled = (rare - rare.mean()) * np.sqrt([len(row) for row in ids])
    expected = {"familiarity": pytest.approx(rare.mean()), "spread": pytest.approx(-lowest(scaled))}
    assert len(parts) > len(texts) > 20 and measure_usual(artefact, texts) == expected | {"texts": len(texts)}


def test_without_texts_that_validate_nothing_is_usual(models, tokenizers, tmp_path):
    from serving.export import export

    own = sides("classify", tokenizers)
    settings, said = settings_of("classify", calibration=texts_of(own[0], 99)), []
    artefact = export(models["classify"], own, tmp_path, settings, log=said.append)
    assert "usual" not in json.loads((artefact / "manifest.json").read_text())
    assert "no text will be told to be unusual: 99 texts validate, and 100 are needed" in said
    assert "Too few texts validated the model" in (artefact / "card.md").read_text()


def test_texts_are_taken_from_the_whole_file():
    texts = list(range(4501))
    found = spread(texts, 2000)
    assert len(found) <= 2000 and found[0] == 0 and found[-1] >= 4498 and spread([], 5) == []
