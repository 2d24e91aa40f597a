"""What is unlike the texts that validated a model has a warning, and answers of little confidence can be left out."""

import math

import numpy as np
import pytest

from serving.runtime import Runtime
from serving.runtime.usual import SHARE, bounds, deviation, familiarity, lowest
from tests.serving import fake_artefact
from tools import cli

KNOWN = "abc abc", "abc", "cab abc ab", "b"


def written(folder, kind="generate", **usual):
    fake_artefact.write(folder, kind)
    return fake_artefact.change(folder, usual={"texts": 100, **usual}) or folder


def rarity(runtime, text):
    """The mean log-probability of a character, by the scores in SentencePiece's own file."""
    common = runtime._loaded.source.log_probabilities
    return sum(common[token] for token in runtime.encode([text])[0]) / len(text)


def test_a_text_of_rarer_pieces_has_a_warning(tmp_path):
    fake_artefact.write(tmp_path / "first")
    plain = Runtime(tmp_path / "first")
    usual, rare = "abc abc abc", "x y x y x y x y"  # unknown pieces
    between = (rarity(plain, usual) + rarity(plain, rare)) / 2
    assert rarity(plain, usual) > between > rarity(plain, rare)
    runtime = Runtime(written(tmp_path / "second", familiarity=between))
    said = [each.warning or "" for each in runtime.run([usual, rare, "", " \n", "x y x"])]
    assert ["unlike those" in each for each in said] == [False, True, False, False, False]
    assert "; the text is unlike those that the model was validated on: its pieces are rarer than in 98.5 %" in said[1]
    assert "pieces of the text are unknown" in said[1] and "pieces of the text are unknown" in said[4]


def test_few_pieces_may_be_rarer_than_many(tmp_path):
    """Each text is 1 below the mean: eight pieces are within a spread of 2.9, nine are not, and seven tell nothing."""
    fake_artefact.write(tmp_path / "first")
    plain = Runtime(tmp_path / "first")
    texts = [("b" * count) for count in range(1, 12)]
    told = {2.9: [], 0.5: []}
    for text in texts:
        for spread, counts in told.items():
            folder = written(tmp_path / f"{len(text)} {spread}", familiarity=rarity(plain, text) + 1, spread=spread)
            if "unlike those" in (Runtime(folder).run([text])[0].warning or ""):
                counts.append(len(plain.encode([text])[0]))
    pieces = [len(plain.encode([text])[0]) for text in texts]
    assert told == {2.9: [each for each in pieces if each >= 9], 0.5: [each for each in pieces if each >= 8]}
    assert {7, 8, 9} <= set(pieces)


def test_the_bound_of_short_texts_is_that_of_a_standard_error():
    """Means of independent pieces: whatever the number of pieces, about the same share is beyond the bound."""
    draw = np.random.default_rng(0)
    pieces = draw.integers(1, 50, 20_000)
    means = np.array([draw.normal(-3, 1, count).mean() for count in pieces])
    found = bounds(means.tolist(), pieces.tolist())
    beyond = deviation(means, 1, found["familiarity"]) * np.sqrt(pieces) < -found["spread"]
    for few, many in ((1, 3), (3, 10), (10, 50)):
        assert 0.5 * SHARE < beyond[(pieces >= few) & (pieces < many)].mean() < 2 * SHARE


def test_a_text_that_is_longer_than_all_has_a_warning(tmp_path):
    runtime = Runtime(written(tmp_path / "a", familiarity=-1e9, pieces=len("abcabc") + 1))
    short, long = runtime.run(["abcabc", "abcabcab"])
    assert short.warning is None
    assert long.warning == "the text has 9 pieces, more than the 7 of the longest that the model was validated on"


def test_an_unsure_answer_has_a_warning_and_may_be_left_out(tmp_path, capsys):
    """The best of beam 4 has the score -0.5, which is divided by ((5 + n) / 6)^alpha; n counts the end."""
    folder = written(tmp_path / "a", familiarity=-1e9)
    runtime = Runtime(folder)
    alpha = runtime.manifest["alpha"]
    texts = ["abc", "abc defg hab h"]
    results = runtime.run(texts)
    for result in results:
        pieces = len(runtime.encode([result.text])[0]) + 1
        assert result.confidence == pytest.approx(math.exp(result.score * ((5 + pieces) / 6) ** alpha / pieces))
    low, high = results[0].confidence, results[1].confidence
    assert low < high
    fake_artefact.change(folder, usual={"texts": 100, "familiarity": -1e9, "confidence": (low + high) / 2})
    said = [each.warning for each in Runtime(folder).run(texts)]
    assert said == [
        f"the model is unsure: its confidence is {low:.2f}, lower than in 98.5 % of the validation",
        None,
    ]
    none, some = Runtime(folder).run(texts, min_confidence=(low + high) / 2)
    assert none.text == "" and f"its confidence is {low:g}, and at least" in none.error and some.text == texts[1]
    assert cli.main(["run", str(folder), "--min-confidence", str((low + high) / 2), *texts]) == 1
    captured = capsys.readouterr()
    assert captured.out == f"\n{texts[1]}\n" and "is not sure enough" in captured.err


def test_a_rating_beyond_those_of_the_validation_has_a_warning(tmp_path):
    """The artefact rates a text by half its number of tokens: its letters and two around them."""
    runtime = Runtime(written(tmp_path / "a", "rate", familiarity=-1e9, ratings=[2, 3.0]))
    results = runtime.run(["a", "ab", "abcd", "abcde", " "])
    assert [each.rating for each in results] == [1.5, 2.0, 3.0, 3.5, None]
    said = [each.warning for each in results]
    low, high = (f"the rating is {each}, beyond the 2 to 3 of the validation" for each in (1.5, 3.5))
    assert said == [low, None, None, high, None]


@pytest.mark.parametrize(("kind", "least", "message"), [
    ("embed", 0.5, "whose answers have no confidence. Leave min_confidence"),
    ("continue", 0.5, "whose answers have no confidence"),
    ("classify", 1.5, "min_confidence is a number from 0 to 1; received 1.5"),
])  # fmt: skip
def test_a_confidence_that_cannot_be_asked_for(kind, least, message, tmp_path):
    fake_artefact.write(tmp_path / "a", kind)
    with pytest.raises(ValueError, match=message):
        Runtime(tmp_path / "a").run(["abc"], min_confidence=least)


def test_labels_and_tags_have_a_confidence(tmp_path):
    for kind in ("classify", "tag"):
        fake_artefact.write(tmp_path / kind, kind)
        sure, blank = Runtime(tmp_path / kind).run(["abc ab", " "], min_confidence=1)
        assert sure.confidence == 1 and sure.error is None
        assert blank.confidence is None and blank.error is None  # it has no answer to be sure of


def test_bounds_are_the_numbers_that_a_share_lies_below():
    values = [float(number) for number in range(200)][::-1]
    assert sum(each < lowest(values) for each in values) == SHARE * 200
    found = bounds(values, [4] * 200, values)
    assert found == {"texts": 200, "familiarity": 99.5, "spread": 2 * (99.5 - 3), "pieces": 4, "confidence": 3.0}
    assert bounds(values, [1] * 200) == {"texts": 200, "familiarity": 99.5, "spread": 99.5 - 3}
    assert bounds([1.0, 1.0], [3, 5], []) == {"texts": 2, "familiarity": 1.0, "spread": 0.0, "pieces": 5}
    assert familiarity(type("Reading", (), {"text": "", "ids": ()})(), []) is None
