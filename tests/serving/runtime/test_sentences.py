"""Texts cut into sentences: nothing is lost, the borders are where people put them, and no text takes long."""

import itertools
import random

import pytest

from serving.kinds.generate import Hypothesis, Result
from serving.runtime.sentences import ABBREVIATIONS, Sentences, parts_of


def sentences(text, language=""):
    return [part.text for part in parts_of(text, language) if part.is_sentence]


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("de", ["Dr. Meier kam am 3. Oktober, z.B. um 8 Uhr.", "Er war müde!", "„Warum?“ fragte sie.", "Ende"]),
        ("deu_Latn", ["Das kostet ca. 3,50 Euro usw. bei Prof. Huber.", "Gut."]),
        ("en", ["Mr. Smith of the U.S. Army paid $3.50, i.e. too much.", '"Stop!"', "He left at 9 p.m. yesterday?"]),
        ("fr_XX", ["M. Dupont est là.", "Où ?", "« Ici ! »", "Bien."]),
        ("hi", ["वह घर गया।", "वह सो गया।"]),
        ("ar", ["كيف حالك؟", "أنا بخير."]),
        ("ru", ["Он родился в 1990 г. в Москве.", "Ул. Ленина, д. 3."]),
        ("", ["Dr. No came.", "J. R. R. Tolkien wrote it.", "It was 1954.", "And then... nothing."]),
    ],
)
def test_sentences_end_where_people_end_them(language, expected):
    assert sentences(" ".join(expected), language) == expected


def test_sentences_without_spaces():
    assert sentences("我爱你。你呢？好！他说：“走吧。”你去哪里?我走了。", "zh") == [
        "我爱你。", "你呢？", "好！", "他说：“走吧。”", "你去哪里?", "我走了。",
    ]  # fmt: skip


def test_lines_and_markup_stay_as_they_are():
    text = (
        "# Der Titel\r\n\r\n- <b>Fett</b> gedruckt.  Und mehr!\n12. Siehe http://a.b/?x=1.\n\n> Zitat &amp; mehr\n--\n"
    )
    assert sentences(text, "de") == ["Der Titel", "Fett", "gedruckt.", "Und mehr!", "12. Siehe", "Zitat", "mehr"]
    kept = "".join("S" if part.is_sentence else part.text for part in parts_of(text, "de"))
    assert kept == "# S\r\n\r\n- <b>S</b> S  S\nS http://a.b/?x=1.\n\n> S &amp; S\n--\n"


def test_cells_of_a_table_are_read_each_by_itself():
    text = "| Tier | Alter |\n|------|---:|\n| Der Hund | 3 |\n"
    assert sentences(text, "de") == ["Tier", "Alter", "Der Hund"]
    kept = "".join("S" if part.is_sentence else part.text for part in parts_of(text, "de"))
    assert kept == "| S | S |\n|------|---:|\n| S | 3 |\n"


def test_code_stays_as_it_is():
    text = "Mit `pip install zoo` geht es.\n\n```python\nx = input()\nif x:\n    y()\n```\nFertig, ``` ist es nicht.\n"
    assert sentences(text, "de") == ["Mit", "geht es.", "Fertig,", "ist es nicht."]
    kept = "".join("S" if part.is_sentence else part.text for part in parts_of(text, "de"))
    assert kept == text.replace("Mit", "S").replace("geht es.", "S").replace("Fertig,", "S").replace(
        "ist es nicht.", "S"
    )
    line = '<!-- ein Kommentar -->Gut. <script>var x = "Hallo Welt";</script> Mit <code class="a">man ls</code>.'
    assert sentences(line, "de") == ["Gut.", "Mit"]
    assert sentences("Gut.\n  ~~~\nja = 1\n", "de") == ["Gut."], "a block without an end is code to the end"


@pytest.mark.parametrize(
    "code",
    [
        "```sh\nls -l\n\necho `Hallo`\n```",
        "````\n```\nx = 1\n```\n````",
        "- ~~~\n  if a:\n\n      b\n  ~~~",
        "<script>\nif (a < b) {\n  Hallo();\n}\n</SCRIPT>",
        "<style>\np { Farbe: rot }\n\n</style >",
        "<pre class='x'>\n# Kein Titel\n</pre>",
        "<!-- Ein\n\n<b>Kommentar</b> -->",
        "`git log\n--oneline`",
        "``ein `Strich` darin``",
    ],
)
def test_code_over_several_lines_stays(code):
    """Elements and comments were cut into lines, and what they hold was translated."""
    text = f"Davor.\n{code}\nDanach.\n"
    for page in (False, True):
        assert [part.text for part in parts_of(text, "de", page)] == ["Davor.", f"\n{code}\n", "Danach.", "\n"]


def test_a_sentence_of_a_page_goes_on_over_a_line_break():
    text = (
        "# Ein Titel\nDer Hund schläft\r\n  im Garten. Tom ist\nnicht hier.\n\n"
        "- Ein Auto\n  und ein Haus\n- ein Rad\n> Er\n> Zwei  \nDrei\\\nVier\nUnter\n---\na | b\nc | d\nEnde"
    )
    cut = Sentences([text], "de", page=True)
    assert cut.sentences == [
        "Ein Titel", "Der Hund schläft im Garten.", "Tom ist nicht hier.", "Ein Auto und ein Haus", "ein Rad", "Er",
        "Zwei", "Drei\\", "Vier Unter", "a", "b", "c", "d", "Ende",
    ]  # fmt: skip
    found = cut.join([Result("S", 0.0, ()) for _ in cut.sentences])[0].text
    assert found == "# S\nS S\n\n- S\n- S\n> S\n> S  \nS\nS\n---\nS | S\nS | S\nS"
    assert "Der Hund schläft" in sentences(text, "de"), "of a text that is no page a line is a border"
    assert Sentences(["我爱\n你。他 a\nb。"], "zh", page=True).sentences == ["我爱你。", "他 a b。"]


@pytest.mark.parametrize(
    "front",
    ["---\ntitle: Mein Hund\ntags: [a, b]\n\n# kurz\n---\n", '+++\r\ntitle = "Mein Hund"\r\n+++\r\n', "---\n# a\n---"],
)
def test_the_settings_before_a_page_stay(front):
    """What a static site reads of a page was translated, and its first line lost."""
    text = f"{front}\n# Der Titel\n"
    assert [part.text for part in parts_of(text, "de", page=True)] == [f"{front}\n# ", "Der Titel", "\n"]


def test_a_line_across_a_page_is_no_setting_and_a_border():
    text = "---\nDer Hund schläft.\n---\nTom\n===\n1) Hier\n* * *\nDort"
    assert Sentences([text], "de", page=True).sentences == ["Der Hund schläft.", "Tom", "Hier", "Dort"]
    assert Sentences(["---\ntitle: Hund"], page=True).sentences == ["title: Hund"], "without an end"


def test_letters_of_html_belong_to_their_words():
    text = (
        "<p>Der Hund l&auml;uft &#252;ber die Stra&szlig;e &amp; l&#x00e4;uft&nbsp;hei&shy;m. C&rsquo;est &lt;&gt;</p>"
    )
    cut = Sentences([text], "de")
    assert cut.sentences == ["Der Hund läuft über die Straße", "läuft\u00a0hei\u00adm.", "C’est"]
    found = cut.join([Result("S", 0.0, ()) for _ in cut.sentences])[0].text
    assert found == "<p>S &amp; S S &lt;&gt;</p>"


def test_an_attribute_may_hold_the_end_of_a_tag():
    for tag in ("<p title='a > b'>", '<a on="x => y" href=z>', "<p title=it's>"):
        assert sentences(f"{tag}Hund</p>") == ["Hund"]


def test_a_sentence_of_a_page_without_an_answer_stays():
    cut = Sentences(["One. So\nbad. Two.", "bad"], page=True)
    page, alone = cut.join(louder(cut.sentences))
    assert (page.text, page.error) == ("ONE. So bad. TWO.", None)
    assert page.warning == "sentence 2: it stays as it is: too long"
    assert (alone.text, alone.warning) == ("bad", "it stays as it is: too long")


@pytest.mark.parametrize("text", ["", " ", "\n\n", "123. 456!", "?!", "<br/>", "..."])
def test_what_holds_no_letter_is_no_sentence(text):
    assert not sentences(text) and "".join(part.text for part in parts_of(text)) == text


def test_nothing_is_lost_of_any_text():
    draw = random.Random(5)
    pieces = [
        *".!?。 \n\t\r<>&;*_`\"'„“()1a",
        "Ab",
        "z.B.",
        "Dr.",
        "</p>",
        "<pre>",
        "</pre>",
        "<!--",
        "-->",
        "# ",
        "|",
        "```",
        "\n```",
        "http://x",
        "---\n",
        "a: b\n",
        "&auml;",
        "我",
        "\u2028",
        "é",
        "…",
    ]
    for _ in range(500):
        text = "".join(draw.choices(pieces, k=draw.randint(0, 40)))
        for language, page in itertools.product(("", "de", "zh"), (False, True)):
            parts = parts_of(text, language, page)
            assert "".join(part.text for part in parts) == text
            assert all(part.text for part in parts)
            assert all(part.text == part.text.strip() for part in parts if part.is_sentence)


@pytest.mark.parametrize(
    "piece",
    [
        ".",
        "a.",
        "<",
        "<a",
        "&",
        " \n",
        "* ",
        '."',
        "1. ",
        "_",
        '"',
        ". ",
        "。",
        "a. ",
        "!a",
        " ",
        "`",
        "`a",
        "|",
        "```\n",
        "<!--",
        "<code>",
        "<code></pre>",
        "`\n",
        "``a`",
        "````\na\n```\n",
        "a\n",
        "a\r\n",
        "> ",
        "a|\n",
        '<a "',
        "&auml;",
    ],
)
@pytest.mark.parametrize("count", [5_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_time_grows_with_the_length(piece, count):
    """Whatever is repeated so often, the text is cut: a rule whose time is quadratic would take minutes."""
    text = piece * count
    for page in (False, True):
        assert "".join(part.text for part in parts_of(text, page=page)) == text


def test_abbreviations_are_written_as_they_are_looked_up():
    for words in ABBREVIATIONS.values():
        assert words == words.casefold() and len(set(words.split())) == len(words.split())


def louder(texts):
    """An answer in capitals, of the score 1; "bad" has an error, "odd" a warning."""
    return [
        Result(text.upper(), 1.0, (Hypothesis(text.upper(), 1.0), Hypothesis("", 0.0)),
               error="too long" if "bad" in text else None, warning="unknown pieces" if "odd" in text else None)
        for text in texts
    ]  # fmt: skip


def test_answers_of_sentences_are_joined_as_the_text_was():
    texts = [
        "- one. Two!\n\n3.\n<i>Four</i>",
        "Alone.",
        "",
        "12",
        "All well. So odd. Not so odd.",
        "Fine. So bad. Yes.",
    ]
    cut = Sentences(texts)
    found = cut.join(louder(cut.sentences))
    assert [each.text for each in found[:5]] == [
        "- ONE. TWO!\n\n3.\n<i>FOUR</i>", "ALONE.", "", "12", "ALL WELL. SO ODD. NOT SO ODD.",
    ]  # fmt: skip
    assert [each.score for each in found[:5]] == [3.0, 1.0, 1.0, 0.0, 3.0] and len(found[1].hypotheses) == 2
    assert found[4].warning == "sentence 2: unknown pieces; sentence 3: unknown pieces"
    assert found[5].error == "sentence 2: too long" and found[5].text == ""
    assert found[0].hypotheses == (Hypothesis(found[0].text, 3.0),)


@pytest.mark.parametrize("text", ["<ul>", "| --- |", "12.5.2021", "😀", "```"])
def test_a_text_without_a_letter_stays_as_it_is(text):
    """As it does between sentences; a blank text is asked for its blank answer."""
    cut = Sentences([text, " "])
    kept, blank = cut.join(louder(cut.sentences))
    assert (
        cut.sentences == [" "] and (kept.text, kept.score, kept.confidence) == (text, 0.0, None) and blank.text == " "
    )


@pytest.mark.parametrize("text", ["\udcff", "Fine.\n12 \udcff"])
def test_a_text_that_is_not_utf_8_is_asked_as_it_is(text):
    """So it is refused whole, wherever its byte stands."""
    assert Sentences([text]).sentences == [text]


@pytest.mark.parametrize(
    ("text", "answers", "joined"),
    [
        ("甲？乙。", ["Where?", "Here."], "Where? Here."),
        ("甲？乙。", ["哪里？", "这里。"], "哪里？这里。"),
        ("One? Two. Three.", ["「哪里？」", "这里。", "a."], "「哪里？」这里。a."),
        ("One?  Two.\nThree.", ["哪里？", "这里。", "a."], "哪里？  这里。\na."),
        ("One? Two.", ["Eins?", "Zwei."], "Eins? Zwei."),
        ("One? Two.", ["", "Zwei."], " Zwei."),
    ],
)
def test_sentences_are_set_apart_as_the_language_of_the_answer_does(text, answers, joined):
    cut = Sentences([text])
    assert len(cut.sentences) == len(answers)
    assert cut.join([Result(each, 0.0, (Hypothesis(each, 0.0),)) for each in answers])[0].text == joined


def test_all_sentences_are_asked_together():
    assert Sentences(["One. Two.", "Three."]).sentences == ["One.", "Two.", "Three."]
