"""CoNLL, CoNLL-U, `words TAB tags` and spans."""

import json

import pytest

from tests.data.formats import delimited, json_lines, write
from zoo.data.formats import detect, read
from zoo.data.formats.base import Wrong
from zoo.data.formats.spans import tag_words

CONLL_2003 = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O
# NN I-NP O

-DOCSTART- -X- -X- O

Peter NNP B-NP B-PER
"""
UNIVERSAL = """# newdoc id = one
# text = vámonos al mar
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\tV\t_\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\tP\t_\t1\tobj\t_\t_
2.1\tnada\t_\tX\t_\t_\t_\t_\t_\t_

# text = # 1 000
1\t#\t#\tSYM\tS\t_\t0\troot\t_\t_
2\t1 000\t1000\tNUM\tN\t_\t1\tnummod\t_\t_
"""


def test_the_columns_of_conll_2003(tmp_path):
    path = write(tmp_path / "a.conll", CONLL_2003)
    found = read(path, "tagged")
    assert found.inputs == ["EU rejects #", "Peter"] and found.answers == ["B-ORG O O", "B-PER"]
    assert [found.where(at) for at in (0, 1)] == [f"{path}:3", f"{path}:9"]
    assert read(path, "tagged", columns={"tags": 2}).answers == ["NNP VBZ NN", "NNP"]
    assert read(path, "tagged", columns={"words": 4, "tags": 1}).inputs == ["B-ORG O O", "B-PER"]


def test_universal_dependencies(tmp_path):
    path = write(tmp_path / "a.conllu", UNIVERSAL)
    found = read(path, "tagged")
    assert found.inputs == ["vamos nos", "# 1\u00a0000"] and found.answers == ["VERB PRON", "SYM NUM"]
    assert read(path, "tagged", columns={"words": "lemma", "tags": "deprel"}).inputs[0] == "ir nosotros"
    assert read(path, "tagged", columns={"tags": 5}).answers == ["V P", "S N"]


def test_universal_dependencies_plus(tmp_path):
    text = "# global.columns = ID FORM UPOS NER\n1\tEU\tPROPN\tB-ORG\n2\tsays\tVERB\tO\n\n"
    path = write(tmp_path / "a.conllup", text)
    assert read(path, "tagged").answers == ["PROPN VERB"]
    assert read(path, "tagged", columns={"tags": "ner"}).answers == ["B-ORG O"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("name", ["a.conll", "a.txt", "a.tsv", "a.bio"])
def test_two_columns_with_hashtags_and_names_of_sentences(tmp_path, name, end):
    lines = ["# id 17 domain=en", "#fun\tB-x", "It\tO", "", "", "# id 18", "Empire\tB-y", ""]
    found = read(write(tmp_path / name, end.join(lines)), "tagged")
    assert found.inputs == ["#fun It", "Empire"] and found.answers == ["B-x O", "B-y"]


@pytest.mark.parametrize("names", ["", "words\ttags\n"])
def test_words_tab_tags(tmp_path, names):
    path = write(tmp_path / "a.tsv", names + "Dogs bark\tNOUN VERB\nCats\u00a0too\tNOUN\n")
    found = read(path, "tagged")
    assert found.inputs == ["Dogs bark", "Cats\u00a0too"] and found.answers == ["NOUN VERB", "NOUN"]


def test_tags_as_python_shows_a_list_beside_a_sentence(tmp_path):
    path = write(tmp_path / "a.csv", "Sentence #,Sentence,Tag\n1,EU rejects it,\"['B-ORG', 'O', 'O']\"\n")
    assert read(path, "tagged").answers == ["B-ORG O O"]


def test_one_word_a_row_with_the_sentence_at_its_first_word(tmp_path):
    rows = ["Sentence #,Word,POS,Tag", "Sentence: 1,EU,NNP,B-org", ",says,VB,O", "Sentence: 2,No,DT,O", ',"""",SYM,O']
    path = write(tmp_path / "a.csv", "\n".join(rows))
    found = read(path, "tagged")
    assert found.inputs == ["EU says", 'No "'] and found.answers == ["B-org O", "O O"]
    assert [found.where(at) for at in (0, 1)] == [f"{path}:2", f"{path}:4"]
    assert read(path, "tagged", columns={"tags": "POS"}).answers == ["NNP VB", "DT SYM"]


@pytest.mark.parametrize("name", ["a.tsv", "a.conll", "a.txt"])
def test_a_header_above_the_words(tmp_path, name):
    path = write(tmp_path / name, "pos\tword\tner\nNNP\tEU\tB-ORG\nVBZ\tsays\tO\n\nDT\tNo\tO\n")
    found = read(path, "tagged")
    assert found.inputs == ["EU says", "No"] and found.answers == ["B-ORG O", "O"]
    assert read(path, "tagged", columns={"tags": "pos"}).answers == ["NNP VBZ", "DT"]


@pytest.mark.parametrize("header", ["", "word,tag\n"])
@pytest.mark.parametrize("blank", ["\n", "\n\n", ",\n"])
def test_blank_rows_of_a_csv_end_sentences(tmp_path, header, blank):
    """As people write CoNLL with commas: each word was a sentence of its own."""
    path = write(tmp_path / "a.csv", f"{header}EU,B-ORG\nsays,O\n{blank}No,O\n{blank}Ann,B-PER\n")
    found = read(path, "tagged")
    assert found.inputs == ["EU says", "No", "Ann"] and found.answers == ["B-ORG O", "O", "B-PER"]
    assert not found.notes and found.where(1).endswith(f":{len(header) // 9 + 3 + blank.count(chr(10))}")


@pytest.mark.parametrize("comment", ["# id 52-39\tdomain=en", "# id 52-39 domain=en", "# sent_id = 7", "# a\tb c"])
def test_comments_with_as_many_cells_as_a_word_has(tmp_path, comment):
    """MultiCoNER's are such; a word that is # stays one."""
    path = write(tmp_path / "a.conll", f"{comment}\nEU _ _ B-ORG\n# _ _ O\n\n{comment}\n# _ _ O\nNo _ _ O\n")
    found = read(path, "tagged")
    assert found.inputs == ["EU #", "# No"] and found.answers == ["B-ORG O", "O O"]


@pytest.mark.parametrize("between", ["\t", "  "])
def test_white_space_that_is_no_separator_is_part_of_a_word(tmp_path, between):
    """French thousands, and an ideographic space between words, which is no word."""
    rows = [("10\u00a0000", "O"), ("\u3000", "O"), ("EU", "B-ORG")]
    found = read(write(tmp_path / "a.conll", "".join(between.join(row) + "\n" for row in rows)), "tagged")
    assert found.inputs == ["10\u00a0000 EU"] and found.answers == ["O B-ORG"]
    assert found.notes == ("words of white space alone, left out with their tags: 1",)


def test_tags_before_the_words(tmp_path):
    """As CRFsuite has them: the words would be tags."""
    path = write(tmp_path / "a.conll", "B-ORG\tEU\nO\tsays\n\nO\tNo\n")
    assert read(path, "tagged").inputs == ["EU says", "No"] and "column 1 has tags" in detect(path, "tagged").why
    assert read(path, "tagged", columns={"words": 1, "tags": 2}).answers == ["EU says", "No"]
    both = write(tmp_path / "b.conll", "O\tO\nB-52\tB-PLANE\n")  # words that look like tags
    assert read(both, "tagged").answers == ["O B-PLANE"]


def test_sentences_by_number_between_tabs(tmp_path):
    path = write(tmp_path / "a.tsv", "sentence_id\tword\ttag\n1\tEU\tB-ORG\n1\tsays\tO\n2\tNo\tO\n")
    assert read(path, "tagged").inputs == ["EU says", "No"]
    named = write(tmp_path / "b.tsv", "doc\tword\ttag\n1\tEU\tB-ORG\n1\tsays\tO\n2\tNo\tO\n")
    assert read(named, "tagged", columns={"sentence": "doc"}, format="tsv").inputs == ["EU says", "No"]


def test_words_in_brackets_are_no_lists(tmp_path):
    """English EWT has the sentence "[...]", which Python would read as a list."""
    path = write(tmp_path / "a.tsv", "[...]\tPUNCT\n[ 1 ]\tX NUM X\n[1]\tX\n['a']\t[X]\n")
    found = read(path, "tagged")
    assert found.inputs == ["[...]", "[ 1 ]", "[1]", "['a']"] and found.answers == ["PUNCT", "X NUM X", "X", "[X]"]


TEXT = "Maria lives in New York."
EXPECTED = ["Maria lives in New York ."], ["B-PER O O B-LOC I-LOC O"]
PLACES = [(0, 5, "PER"), (15, 23, "LOC")]
OBJECTS = [{"start": start, "end": end, "label": label} for start, end, label in PLACES]
TOKENS = ["Maria", "lives", "in", "New", "York", "."]
OFFSETS = [{"start": TEXT.index(token), "end": TEXT.index(token) + len(token)} for token in TOKENS]


@pytest.mark.parametrize(
    "record",
    [
        {"text": TEXT, "entities": OBJECTS},
        {"text": TEXT, "spans": OBJECTS[::-1], "answer": "accept"},
        {"id": 7, "text": TEXT, "label": PLACES},
        {"data": TEXT, "label": PLACES},
        [TEXT, {"entities": PLACES}],
        {"text": TEXT, "ents": OBJECTS, "cats": {}},
        {"text": TEXT, "entities": [{"start_offset": 0, "end_offset": 5, "label": "PER"}, OBJECTS[1]]},
    ],
)
def test_forms_of_spans(tmp_path, record):
    found = read(write(tmp_path / "a.jsonl", json.dumps(record)), "tagged")
    assert (found.inputs, found.answers) == EXPECTED and not found.notes


def test_a_span_inside_a_word(tmp_path):
    found = read(write(tmp_path / "a.jsonl", json.dumps({"text": TEXT, "spans": [[1, 4, "X"]]})), "tagged")
    assert found.answers == ["B-X O O O O O"]
    assert found.notes == ("spans that begin or end inside a word, which takes the label as a whole: 1",)


BOTH = [{"text": token, **at} for token, at in zip(TOKENS, OFFSETS, strict=True)]


@pytest.mark.parametrize("tokens", [TOKENS, OFFSETS, BOTH])
def test_given_tokens(tmp_path, tokens):
    records = [{"text": TEXT, "tokens": tokens, "spans": OBJECTS}]
    found = read(write(tmp_path / "a.jsonl", json_lines(records)), "tagged")
    assert found.inputs == [" ".join(TOKENS)] and found.answers == ["B-PER O O B-LOC I-LOC O"] and not found.notes


def test_tokens_of_white_space_are_no_words():
    tokens = [{"start": 0, "end": 1}, {"start": 1, "end": 3}, {"start": 3, "end": 4}]
    assert tag_words("a\n\nb", [[0, 4, "X"]], tokens) == ([("a", "B-X"), ("b", "I-X")], 0)


def test_spans_are_characters_and_not_bytes():
    assert tag_words("é 😀 Ö", [[4, 5, "X"], [2, 3, "X"]]) == ([("é", "O"), ("😀", "B-X"), ("Ö", "B-X")], 0)


@pytest.mark.parametrize(
    ("spans", "tokens", "expected"),
    [
        ([[-1, 2, "A"]], None, "outside"),
        ([[2, 2, "A"]], None, "outside"),
        ([[0, 3, ""]], None, "is no span"),
        ([["0", "3", "A"]], None, "is no span"),
        ([{"start": 0, "end": 3}], None, "is no span"),
        ([{"start": 0, "end": 3, "label": "A", "text": "bcd"}], None, "says 'bcd', and its text has 'abc'"),
        ("abc", None, "the spans are 'abc'; expected a list"),
        ([], ["d"], "the token 'd' does not stand at character 0"),
        ([], [{"start": 3, "end": 99}], "is not in its place"),
    ],
)
def test_wrong_spans(spans, tokens, expected):
    with pytest.raises(Wrong, match=expected):
        tag_words("abc d", spans, tokens)


def test_what_is_detected(tmp_path):
    for name, text, form in (
        ("eng.train", CONLL_2003, "conll"),  # names of no format are looked at as a .txt is
        ("Tags", "Dogs bark\tNOUN VERB\n", "tsv"),
        ("a.conllu", UNIVERSAL, "conll"),
        ("b.txt", CONLL_2003, "conll"),
        ("c.tsv", "Dogs bark\tNOUN VERB\n", "tsv"),
        ("d.jsonl", json_lines([{"text": TEXT, "spans": []}]), "spans"),
        ("e.jsonl", json_lines([{"text": TEXT.split(), "tags": list("abcde")}]), "jsonl"),
        ("f.csv", "tokens,tags\na b,X Y\n", "csv"),
    ):
        found = detect(write(tmp_path / name, text), "tagged")
        assert found.format == form and found.samples.inputs, name


COUNTED = {  # of the same words and tags: the lines, and the columns of words and tags
    "germeval.tsv": (
        "#\thttp://a [2009-10-17]\n1\tIn\tO\tO\n2\tLyon\tB-LOC\tO\n\n#\tb\n1\tNew\tB-ORG\tB-LOC\n2\tYork\tI-ORG\tO\n",
        2,
        3,
    ),
    "spaces.conll": (
        "# a comment\n1 In O O\n2 Lyon B-LOC O\n\n# and one more\n1 New B-ORG B-LOC\n2 York I-ORG O\n",
        2,
        3,
    ),
    "from-0.conll": ("0 In O\n1 Lyon B-LOC\n\n0 New B-ORG\n1 York I-ORG\n", 2, 3),
    "through.conll": ("1\tIn\tO\n2\tLyon\tB-LOC\n\n3\tNew\tB-ORG\n4\tYork\tI-ORG\n", 2, 3),
    "named.conll": ("s1-1 In O\ns1-2 Lyon B-LOC\n\ns2-1 New B-ORG\ns2-2 York I-ORG\n", 2, 3),
    "pos.conll": ("1 In IN O\n2 Lyon NNP B-LOC\n\n1 New NNP B-ORG\n2 York NNP I-ORG\n", 2, 4),
    "empty.conll": ("In O _\nLyon B-LOC _\n\nNew B-ORG _\nYork I-ORG _\n", 1, 2),
    "header.conll": ("id\tword\tner\n1\tIn\tO\n2\tLyon\tB-LOC\n\n1\tNew\tB-ORG\n2\tYork\tI-ORG\n", "word", "ner"),
    "chunks.conll": ("In IN O O\nLyon NNP B-NP B-LOC\n\nNew NNP B-NP B-ORG\nYork NNP I-NP I-ORG\n", 1, 4),
}


@pytest.mark.parametrize("name", COUNTED)
def test_a_column_that_counts_is_no_word(tmp_path, name):
    text, words, tags = COUNTED[name]
    path = write(tmp_path / name, text)
    found = read(path, "tagged")
    assert (found.inputs, found.answers) == (["In Lyon", "New York"], ["O B-LOC", "B-ORG I-ORG"])
    told = detect(path, "tagged")
    assert told.columns == {"words": words, "tags": tags}
    assert ("column 1 counts the words, which are column 2" in told.why) is (words == 2)
    assert ("a second layer" in told.why) is (name in ("germeval.tsv", "spaces.conll"))


def test_a_row_that_counts_sentences_has_several_words(tmp_path):
    path = write(tmp_path / "a.tsv", "1\tDogs bark\tNOUN VERB\n2\tCats sleep\tNOUN VERB\n3\tHi\tINTJ\n")
    assert read(path, "tagged").inputs == ["Dogs bark", "Cats sleep", "Hi"] and detect(path, "tagged").format == "tsv"


def test_a_comment_inside_a_sentence(tmp_path):
    path = write(tmp_path / "a.conll", "EU NNP B-ORG\n# a comment in the middle\nrejects VBZ O\n")
    assert read(path, "tagged").inputs == ["EU rejects"]


def test_plain_tags_of_two_layers(tmp_path):
    path = write(
        tmp_path / "a.conll", "1\tNew\tORG\tLOC\n2\tYork\tORG\tLOC\n3\tTimes\tORG\tO\n4\tin\tO\tO\n5\tLyon\tLOC\tO\n"
    )
    assert read(path, "tagged").answers == ["ORG ORG ORG O LOC"]
    assert read(path, "tagged", columns={"tags": 4}).answers == ["LOC LOC O O O"]


def test_words_that_are_numbers_stay_words(tmp_path):
    path = write(tmp_path / "a.conll", "1 O\n2 O\n3 B-NUM\n\n7 O\n5 O\n")
    assert read(path, "tagged").inputs == ["1 2 3", "7 5"]
    with pytest.raises(ValueError, match="two columns, and the first one counts: '1 In'. Expected a word and its tag"):
        read(write(tmp_path / "b.conll", "1\tIn\n2\tLyon\n\n1\tNew\n"), "tagged")


@pytest.mark.parametrize(
    ("words", "tags", "read_as"),
    [
        ("['EU', 'says']", "[3, 0]", "3 0"),
        ("['EU' 'says']", "['B-ORG' 'O']", "B-ORG O"),
        ("['EU'\n 'says']", "[3 0]", "3 0"),
        ("EU says", "[3, 0]", "3 0"),
    ],
)
def test_lists_in_a_table_as_python_and_numpy_show_them(tmp_path, words, tags, read_as):
    rows = [("tokens", "ner_tags"), (words, tags), ("""["it's" 'it']""", "['O' 'O']")]
    found = read(write(tmp_path / "a.csv", delimited(rows)), "tagged")
    assert found.inputs == ["EU says", "it's it"] and found.answers == [read_as, "O O"]


def test_words_or_tags_that_are_null_are_left_out_as_empty_ones_are(tmp_path):
    sides = [(None, ["A"]), (["a"], None), (["a", "b"], ["A", "B"])]
    rows = [{"tokens": words, "tags": tags} for words, tags in sides]
    path = write(tmp_path / "a.jsonl", json_lines(rows))
    found = read(path, "tagged")
    assert found.inputs == ["a b"] and len(found.notes) == 2
    with pytest.raises(ValueError, match="a sentence without words"):
        read(path, "tagged", rules_off=["empty"])


def test_a_header_of_conll_is_one_where_columns_say_so(tmp_path):
    path = write(tmp_path / "a.conll", "wort art\nHunde N\nbellen V\n")
    assert read(path, "tagged", columns={"header": True}).inputs == ["Hunde bellen"]
    named = write(tmp_path / "b.conll", "word tag\nDogs N\nbark V\n")
    assert read(named, "tagged").inputs == ["Dogs bark"]
    assert read(named, "tagged", columns={"header": False}).inputs == ["word Dogs bark"]
