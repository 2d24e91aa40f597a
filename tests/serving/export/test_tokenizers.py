"""Models with other tokenizers than SentencePiece, exported: the SavedModel, the Runtime and Keras read alike."""

from pathlib import Path

import pytest

from serving.export import export
from serving.runtime import Runtime
from tests.serving.conftest import make_model, settings_of, sides
from tests.serving.runtime.test_bad_texts import TEXTS, answer, asked
from tests.text.odd import CHOSEN, drawn
from zoo.text import Around
from zoo.text.tokenizer_files import read_byte_pairs, read_wordpiece

TOKENIZERS = Path(__file__).parents[2] / "text" / "tokenizer_files"


def exported(kind, folder):
    """An artefact whose parity was checked, of texts between two ids on each side."""
    tokenizers = read_wordpiece(TOKENIZERS / "wordpiece")[0], read_byte_pairs(TOKENIZERS / "byte_pairs")[0]
    if kind == "continue":
        tokenizers = tokenizers[::-1]
    tokenizers = tuple(each.with_around((2, 9), (3, 8)) for each in tokenizers)
    return export(
        make_model(kind, tokenizers),
        sides(kind, tokenizers),
        folder,
        settings_of(kind, max_input=64 * (kind != "continue") or None, int8=False),
    )


@pytest.mark.release
@pytest.mark.parametrize("kind", ["tag", "classify", "generate", "continue"])
def test_all_forms_read_alike(kind, tmp_path):
    path = exported(kind, tmp_path)
    texts = [text for text in (*CHOSEN, *drawn(30), *TEXTS) if text != "\ufffd"]
    runtime = Runtime(path, threads=1)
    results, saved = runtime.run(texts), asked(path, texts)
    assert [answer(saved, row) for row in range(len(texts))] == [result.answer for result in results]
    assert [text.decode() for text in saved["warnings"]] == [result.warning or "" for result in results]
    # A graph cannot name the byte that is no UTF-8.
    found = [(result.error or "").partition(":")[0] for result in results]
    assert [text.decode().partition(":")[0] for text in saved["errors"]] == found


def test_no_room_for_a_text_is_refused(tmp_path):
    tokenizer = read_wordpiece(TOKENIZERS / "wordpiece")[0].with_around((2, 9), (3,))
    assert tokenizer.around == Around((2, 9), (3,))
    model = make_model("classify", [tokenizer] * 2)
    for most, told in (
        (3, "max_input=3 leaves no room for a text"),
        (0, "max_input must be .* at least 2 .* received 0"),
        (10**20, "max_input must be .* at most 1000000; received 1000000"),
    ):
        with pytest.raises(ValueError, match=told):
            export(model, [tokenizer], tmp_path, settings_of("classify", max_input=most))
