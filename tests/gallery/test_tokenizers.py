"""Tokenizers of every kind in the page's scripts, run by node, beside the same in Python."""

import base64
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from serving.gallery import vendored
from serving.runtime.reading import Bound
from tests.serving.export.test_graph_kinds import made
from tests.text.odd import CHOSEN, drawn
from tests.text.samples import NASTY
from tests.text.test_kinds import MAKERS
from zoo.text import Tokenizer

ENGINE = Path(vendored.__file__).parent / "page" / "engine"
TEXTS = [*CHOSEN, *NASTY, *drawn(150, seed=2), "a b " * 40, "\ud83d", "zoo " * 300]
WORDS = ["the", "zoo's", "\u200b", "\u0378", "a.b", "caf\u00e9"]
BOUNDS = [[9, "truncate", "first"], [9, "truncate", "last"], [9, "refuse", "first"], [1024, "refuse", "first"]]
KINDS = ["sentencepiece", "wordpiece", "plain wordpiece", "byte pairs", "byte pairs behind a space"]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The scripts of the page, and what they need of others."""
    if not shutil.which("node"):
        pytest.skip("no node: apt-get install nodejs")
    folder = tmp_path_factory.mktemp("page")
    shutil.copytree(ENGINE, folder / "engine")
    shutil.copy(Path(__file__).with_name("pieces.mjs"), folder)
    (folder / "vendor").mkdir()
    for file in vendored.FILES:
        (folder / "vendor" / file.name).write_bytes(vendored.unpacked(file))
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_reads_and_writes_as_python_does(page, kind):
    tokenizer = (MAKERS[Tokenizer]() if kind == "sentencepiece" else made(kind)).with_around((2, 5), (3,))
    rows = np.random.default_rng(0).integers(0, tokenizer.vocab_size, (200, 9)).tolist()
    asked = {"model": base64.b64encode(tokenizer.model_bytes).decode(), "texts": TEXTS, "words": WORDS, "rows": rows}
    given = json.dumps(asked | {"bounds": BOUNDS})
    done = subprocess.run(["node", page / "pieces.mjs"], input=given, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    told = [found[name] for name in ("before", "after", "eos", "unknown", "pieces")]
    assert told == [[2, 5], [3], 3, 1, tokenizer.pieces]
    texts = [text for text in TEXTS if text != "\ud83d"]
    ids = [row for text, row in zip(TEXTS, found["ids"], strict=True) if text != "\ud83d"]
    expected = tokenizer.encode(texts)
    assert not [text for text, one, other in zip(texts, ids, expected, strict=True) if one != other]
    assert found["words"] == tokenizer.encode_words(WORDS)
    assert found["decoded"] == tokenizer.decode(rows)
    for told, (read, words) in zip(BOUNDS, found["readings"], strict=True):
        bound = Bound(*told)
        for received, readings in (
            (read, bound.read(TEXTS, tokenizer.encode, tokenizer.around)),
            (words, bound.read_words(TEXTS, tokenizer.encode_words, tokenizer.around)),
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
