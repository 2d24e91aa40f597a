"""Tagged words: tables, spans and CoNLL that do not fit their words."""

from tests.data.formats.broken.variant import one

SPANS = '{{"text": "Ann is here", "entities": [[0, 3, "PER"]]}}\n{{"text": "abc d", "entities": {0}}}\n'
CONLLU = "1\tvamos\tir\tVERB\t_\t_\t0\troot\t_\t_\n"
IN_TABLES = [
    one("tagged", "a.tsv", "Dogs bark\tNOUN VERB\nCats\tNOUN VERB\n", 2, "1 word and 2 tags", "as many tags as words"),
    one(
        "tagged",
        "c.jsonl",
        '{"tokens": ["a"], "tags": ["b"]}',
        None,
        "'sentence' is of another format",
        "Leave it out",
        columns={"sentence": "id"},
    ),
    one(
        "tagged",
        "a.csv",
        "word,tag\nEU,B-ORG\nsays,O\n",
        1,
        "no column tells the sentence",
        'columns={"sentence": ...}',
    ),
    one("tagged", "b.conll", "EU\tB-ORG\nsays\t\n", 2, "no word or no tag in 'says\\t'", "Add what is missing"),
]
SPANNED = [
    one("tagged", "a.jsonl", SPANS.format('[[0, 3, "A"], [2, 5, "B"]]'), 2, "overlap in 'abc d'", "Delete one of them"),
    one(
        "tagged",
        "a.jsonl",
        SPANS.format('[[0, 9, "A"]]'),
        2,
        "[0, 9) A is outside its text, which has 5 characters",
        "not in bytes",
    ),
    one("tagged", "a.jsonl", SPANS.format('[[3, 4, "A"]]'), 2, "there is no word in it", "Delete it"),
    one(
        "tagged",
        "a.jsonl",
        SPANS.format('[[0, 1, "A"], [1, 3, "B"]]'),
        2,
        "two spans, A and B, share the word 'abc'",
        '"tokens"',
    ),
    one("tagged", "a.jsonl", SPANS.format('[{"start": "0"}]'), 2, "is no span", '"end": 5, "label"'),
    one(
        "tagged",
        "a.jsonl",
        SPANS.format('[], "tokens": ["abc", "e"]'),
        2,
        "the token 'e' does not stand at character 3",
        "in order",
    ),
    one("tagged", "a.jsonl", SPANS.format("{}"), 2, "the spans are {}", "expected a list"),
]
CONLL = [
    one("tagged", "a.conll", "EU B-ORG\nsays O\n\nPeter\n", 4, "1 column in 'Peter'; expected 2", "blank line"),
    one("tagged", "a.conll", "EU\nsays\n\nPeter\n", 1, "one column in 'EU'", "with a tab or spaces"),
    one(
        "tagged",
        "a.conll",
        "EU B-ORG\nsays O\n",
        1,
        "no column 3 (counted from 1) for tags",
        "2 ('B-ORG')",
        columns={"tags": 3},
    ),
    one("tagged", "a.conllu", CONLLU, 1, "no column 'pos' for tags", "'xpos'", columns={"tags": "pos"}),
    one("tagged", "a.conll", "\n\n", None, "is empty", "one word a line"),
    one("tagged", "a.conll", "EU B-ORG\nsays O\n" * 60, 1, "no blank line in 120 words", "after each sentence"),
    one("tagged", "a.conll", "EU O\nsays O\n", None, "1 tag in 1 example (O)", "Check which column"),
]
