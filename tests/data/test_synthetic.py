import hashlib
import re
import sys
from datetime import date, datetime, timedelta

import pytest

from tests.shared import python
from zoo.data import duplication, reversal
from zoo.data.synthetic import LOCALES, _forms, _write, date_pairs, dates


def written_forms(day):
    """All the forms of a date, in their usual case."""
    return [_write(day, form) for form in _forms()]


def year(number):
    return [date(number, 1, 1) + timedelta(i) for i in range((date(number + 1, 1, 1) - date(number, 1, 1)).days)]


@pytest.mark.slow
def test_no_text_means_two_dates():
    # Every text holds its four-digit year, so two dates of different years never share one.
    meaning = {}
    for day in year(1999) + year(2000):
        for text in written_forms(day):
            assert meaning.setdefault(text.lower(), day) == day, text
            assert re.findall(r"\d{4}", text) == [str(day.year)], text
            assert "/" not in text or text.startswith(f"{day.year}/")


@pytest.mark.slow
def test_the_splits_share_no_date_and_no_text():
    examples = {split: dates(split, 3000) for split in ("train", "valid", "test")}
    for side in (0, 1):
        train, valid, test = (set(examples[split][side]) for split in examples)
        assert not (train & valid or train & test or valid & test)
    assert {int(iso[:2]) for iso in examples["train"][1]} == {19, 20}


def test_forms_are_many_and_in_many_languages():
    forms = written_forms(date(1999, 3, 3))
    assert len(LOCALES) >= 12
    assert len(forms) >= 80
    for text in (
        "March 3rd, 1999",
        "the 3rd of March 1999",
        "Wednesday, March 3, 1999",
        "1999/03/03",
        "3.3.1999",
        "3. März 1999",
        "mercredi 3 mars 1999",
        "3 de marzo de 1999",
        "3 марта 1999",
        "1999年3月3日",
        "1999년 3월 3일",
    ):
        assert text in forms
    assert "1er mars 1999" in written_forms(date(1999, 3, 1))


def test_ordinals():
    suffixes = {
        1: "st",
        2: "nd",
        3: "rd",
        4: "th",
        11: "th",
        12: "th",
        13: "th",
        22: "nd",
        31: "st",
    }
    for number, suffix in suffixes.items():
        assert f"May {number}{suffix}, 2001" in written_forms(date(2001, 5, number))


@pytest.mark.release(but=4)
@pytest.mark.parametrize(
    ("shape", "form"),
    [
        (r"[A-Z][a-z]+, [A-Z][a-z]+ \d+, \d{4}", "%A, %B %d, %Y"),
        (r"the \d+(st|nd|rd|th) of [A-Z][a-z]+ \d{4}", "the %d of %B %Y"),
        (r"\d+\.\d+\.\d{4}", "%d.%m.%Y"),
        (r"\d{4}/\d+/\d+", "%Y/%m/%d"),
        (r"\d{4}年\d+月\d+日", "%Y年%m月%d日"),
    ],
)
def test_an_independent_parser_reads_the_same_date(shape, form):
    matching = 0
    for text, iso in zip(*dates("train", 5000), strict=True):
        if re.fullmatch(shape, text):
            plain = re.sub(r"(\d)(st|nd|rd|th)", r"\1", text)
            try:
                parsed = datetime.strptime(plain, form)
            except ValueError:
                assert "," in text  # a weekday in another language has the same shape
                continue
            assert parsed.date().isoformat() == iso
            matching += 1
    assert matching > 10


def test_letters_come_in_three_cases():
    sources, _ = dates("train", 2000)
    english = [text for text in sources if "march" in text.lower()]
    for word in ("March", "march", "MARCH"):
        assert any(word in text for text in english)
    turkish = [text for text in sources if "NİSAN" in text or "HAZİRAN" in text]
    assert turkish and not any("NISAN" in text for text in sources)


@pytest.mark.slow
def test_examples_are_distinct_and_a_prefix_of_more():
    sources, targets = dates("test", 500, seed=7)
    assert len(set(sources)) == len(sources) == len(targets) == 500
    more = dates("test", 700, seed=7)
    assert (more[0][:500], more[1][:500]) == (sources, targets)
    assert dates("test", 500, seed=8)[0] != sources


@pytest.mark.slow
def test_every_process_draws_the_same():
    code = (
        "import hashlib; from zoo.data.synthetic import dates;"
        "print(hashlib.sha256(repr(dates('valid', 300, 5)).encode()).hexdigest())"
    )
    here = hashlib.sha256(repr(dates("valid", 300, 5)).encode()).hexdigest()
    assert python("-c", code).stdout.strip() == here


def test_dates_refuse_misuse():
    with pytest.raises(ValueError, match="split must be one of .*'dev'"):
        dates("dev", 10)
    with pytest.raises(ValueError, match=r"count must lie in \[0, \d+\].*received 10000000"):
        dates("test", 10_000_000)


def test_says_how_to_install_babel(monkeypatch):
    monkeypatch.setitem(sys.modules, "babel", None)
    with pytest.raises(ImportError, match=r"needs babel.*pip install babel"):
        dates("train", 1)


@pytest.mark.slow
def test_pairs_of_dates_are_labelled_by_the_calendar():
    """The oracle is the year, which every text holds in four digits; of one year, that of both texts is the same."""
    pairs, relations = date_pairs("valid", 3000)
    assert len(set(pairs)) == 3000 and all(first != second for first, second in pairs)
    for (first, second), relation in zip(pairs, relations, strict=True):
        years = [int(re.search(r"\d{4}", text)[0]) for text in (first, second)]
        if years[0] != years[1]:
            assert relation == ("earlier" if years[0] < years[1] else "later"), (first, second)
    for relation in ("same", "earlier", "later"):
        assert relations.count(relation) > 900


@pytest.mark.slow
def test_pairs_of_dates_are_drawn_from_their_seed_and_refused_by_name():
    assert date_pairs("test", 20, seed=3) == date_pairs("test", 20, seed=3) != date_pairs("test", 20, seed=4)
    train, test = (set(sum(date_pairs(split, 2000)[0], ())) for split in ("train", "test"))
    assert not train & test
    with pytest.raises(ValueError, match="'dev'"):
        date_pairs("dev", 3)


def test_targets_are_the_sources_reversed():
    sources, targets = reversal(200, 2, 7, "abcde", seed=3)
    assert [source[::-1] for source in sources] == targets
    assert {len(source.split(" ")) for source in sources} == {2, 3, 4, 5, 6, 7}
    assert set("".join(sources)) == set("abcde ")


def test_a_duplication_says_its_word_twice():
    prompts, words = duplication(50, length=5, alphabet="abc", seed=2)
    assert prompts == [f"0{word}0" for word in words]
    assert {len(word) for word in words} == {5} and set("".join(words)) == set("abc")
    assert duplication(50, length=5, alphabet="abc", seed=2) == (prompts, words)
    with pytest.raises(ValueError, match="must not hold 0"):
        duplication(1, alphabet="01")


def test_the_seed_decides_sequences():
    assert reversal(30, seed=1) == reversal(30, seed=1)
    assert reversal(30, seed=1) != reversal(30, seed=2)


def test_sequences_refuse_misuse():
    with pytest.raises(ValueError, match="received 5 and 4"):
        reversal(3, 5, 4)
    with pytest.raises(ValueError, match="not spaces"):
        reversal(3, 2, 4, "a b")
