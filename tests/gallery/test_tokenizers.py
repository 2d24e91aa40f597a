"""Tokenizers of every kind in the page's scripts, run by node, beside the same in Python."""

import base64
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from serving.gallery import vendored
from serving.gallery.writing import _convert_to_javascript
from serving.kinds.rate import Rating
from serving.runtime import doubt, usual
from serving.runtime.reading import Bound
from tests.serving.export.test_graph_tokenizers import made
from tests.shared import NODE
from tests.text.odd import CHOSEN, drawn
from tests.text.samples import NASTY
from tests.text.test_tokenizer_files import MAKERS
from zoo.text import Tokenizer, words

ENGINE = Path(vendored.__file__).parent / "page" / "engine"
TEXTS = [*CHOSEN, *NASTY, *drawn(150, seed=2), "a b " * 40, "\ud83d", "zoo " * 300]
WORDS = ["the", "zoo's", "\u200b", "\u0378", "a.b", "caf\u00e9"]
BOUNDS = [[9, "truncate", "first"], [9, "truncate", "last"], [9, "refuse", "first"], [1024, "refuse", "first"]]
KINDS = ["sentencepiece", "wordpiece", "plain wordpiece", "byte pairs", "byte pairs behind a space"]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The scripts of the page, and what they need of others."""
    folder = tmp_path_factory.mktemp("page")
    shutil.copytree(ENGINE, folder / "engine")
    shutil.copy(Path(__file__).with_name("pieces.mjs"), folder)
    (folder / "vendor").mkdir()
    for file in vendored.FILES:
        (folder / "vendor" / file.name).write_bytes(vendored.unpack(file))
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


def answered(page, asked):
    """What the page's scripts answer."""
    lists = ("rows", "words", "bounds", "rules", "confidences", "ratings")
    given = json.dumps(dict.fromkeys(lists, []) | {"usual": None} | asked)
    done = subprocess.run([NODE, page / "pieces.mjs"], input=given, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


SENTENCES = [
    *(
        "Where is the zoo?",
        "Don't stop!",
        'He said: "I can\'t, gonna go (5%)..."',
        "$3,000.50 -- ``a'' a.b@c.de",
        '"x"',
    ),
    *(
        "'Tis the dogs' rock 'n' roll; you'll've",
        "http://a.b/c?d=e, @ann #tag ?!",
        "wanna gimme cannot",
        "“Ja”, sagte er…",
    ),
]


def mixed(count, seed):
    """Words and marks of the sentences, put together by chance."""
    draw = np.random.default_rng(seed)
    parts = [part for text in SENTENCES for part in [*text.split(" "), *text]]
    return ["".join(draw.choice(parts, draw.integers(1, 12))) for _ in range(count)]


@pytest.mark.parametrize("rule", words.RULES)
def test_words_are_cut_as_python_cuts_them(page, rule):
    texts = [text for text in [*SENTENCES, *mixed(400, 3), *TEXTS] if text != "\ud83d"]
    model = base64.b64encode(MAKERS[Tokenizer]().model_bytes).decode()
    asked = {"model": model, "texts": texts, "rules": [_convert_to_javascript(words.steps(rule))]}
    (found,) = answered(page, asked)["cut"]
    expected = [list(map(list, words.find_words(text, rule))) for text in texts]
    assert not [text for text, one, other in zip(texts, found, expected, strict=True) if one != other]
    assert [SENTENCES[0][start:end] for start, end in found[0]][-1] == ("zoo?" if rule == "spaces" else "?")


@pytest.mark.parametrize("kind", [*KINDS, "merges"])
def test_notices_say_what_those_of_python_say(page, kind):
    if kind == "merges":
        tokenizer = Tokenizer.train(["the cat sat on the mat", "zoos of the world"] * 9, 40, model_type="bpe")
    else:
        tokenizer = MAKERS[Tokenizer]() if kind == "sentencepiece" else made(kind)
    texts = [text for text in [*SENTENCES, *mixed(100, 5), *TEXTS] if text != "\ud83d"]
    readings = Bound().read(texts, tokenizer.encode, tokenizer.around)
    scores = [each for each in (usual.familiarity(one, tokenizer.log_probabilities) for one in readings) if each]
    bounds = {"familiarity": float(np.median(scores)), "spread": 0.3, "pieces": 12}
    bounds |= {"confidence": 0.37, "ratings": [1, 2.5]}
    asked = {"model": base64.b64encode(tokenizer.model_bytes).decode(), "texts": texts, "usual": bounds}
    ratings = [0.99, 1, 2.5, 12.34567, None]
    found = answered(page, asked | {"confidences": [0.2, 0.37, 1.0, None], "ratings": ratings})
    np.testing.assert_allclose(found["common"], tokenizer.log_probabilities, rtol=1e-12)
    expected = [usual.warn_unusual(each, bounds, tokenizer.log_probabilities).warning for each in readings]
    assert found["noticed"] == expected
    assert {"unlike" in (each or "") for each in expected} == {True, False} and any(
        " 12 of" in (each or "") for each in expected
    )
    assert found["unsure"] == [doubt.unsure_warning(0.2, 1 - usual.SHARE), None, None, None]
    assert found["beyond"] == [usual.warn_answer(Rating(each), bounds).warning for each in ratings]


@pytest.mark.parametrize("kind", KINDS)
def test_reads_and_writes_as_python_does(page, kind):
    tokenizer = (MAKERS[Tokenizer]() if kind == "sentencepiece" else made(kind)).with_around((2, 5), (3,))
    rows = np.random.default_rng(0).integers(0, tokenizer.vocab_size, (200, 9)).tolist()
    asked = {"model": base64.b64encode(tokenizer.model_bytes).decode(), "texts": TEXTS, "words": WORDS, "rows": rows}
    found = answered(page, asked | {"bounds": BOUNDS})
    told = [found[name] for name in ("before", "after", "eos", "unknown", "pieces")]
    assert told == [[2, 5], [3], 3, 1, tokenizer.pieces]
    texts = [text for text in TEXTS if text != "\ud83d"]
    ids = [row for text, row in zip(TEXTS, found["ids"], strict=True) if text != "\ud83d"]
    expected = tokenizer.encode(texts)
    assert not [text for text, one, other in zip(texts, ids, expected, strict=True) if one != other]
    assert found["words"] == tokenizer.encode_words(WORDS)
    assert found["decoded"] == tokenizer.decode(rows)
    for told, (read, by_words) in zip(BOUNDS, found["readings"], strict=True):
        bound = Bound(*told)
        for received, readings in (
            (read, bound.read(TEXTS, tokenizer.encode, tokenizer.around)),
            (by_words, bound.read_words(TEXTS, tokenizer.encode_words, tokenizer.around)),
        ):
            for one, reading in zip(received, readings, strict=True):
                assert [one[name] for name in ("ids", "error", "warning", "around")] == [
                    list(reading.ids),
                    reading.error,
                    reading.warning,
                    reading.around,
                ]
                assert one["places"] == [list(place) for place in reading.places]
                assert one["first"] == list(reading.first)
