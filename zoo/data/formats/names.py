"""The names under which people store the columns of a table, and which column they mean.

One may say what annotators thought of an example in the files of their tools: one that was rejected or passed over is
no example. Prodigy writes `answer` (accept, reject, ignore; only what is accepted is one), Label Studio
`was_cancelled`, Argilla `status`, of which "discarded" is such a verdict. A column counts as one of these where the
first records say so in these words or nothing, and where it was not taken for the text or the label.
"""

import re

from zoo.data.formats.base import Problems, Request

ALIASES = {  # kind -> role -> names, the likelier first
    "pairs": {
        "source": "source src input inputs source_text input_text from prompt question instruction article document "
        "dialogue query anchor text",
        "target": "target tgt trg output outputs target_text output_text to completion translation translated answer "
        "response summary highlights passage positive label",
    },
    "labelled": {
        "text": "text sentence review content document comment tweet message sms body utterance question query "
        "description input title headline abstract article post",
        "label": "label labels class category target sentiment intent polarity topic rating stars score emotion "
        "language y output tag accept overall",
    },
    "compared": {
        "first": "first sentence1 text1 premise question1 text_a sentence_a question query anchor left",
        "second": "second sentence2 text2 hypothesis question2 text_b sentence_b sentence passage answer document "
        "right",
        "label": "label labels gold_label class target is_duplicate duplicate entailment_judgment judgment judgement "
        "entailment relation relationship similarity score y",
    },
    "rated": {"text": "", "score": "score stars rating overall number value grade sentiment label y"},
    "scored": {
        "first": "first sentence1 text1 text_a sentence_a question1 query anchor left",
        "second": "second sentence2 text2 text_b sentence_b question2 passage answer document right",
        "score": "score similarity_score similarity relatedness_score relatedness label gold rating y",
    },
    "tagged": {
        "words": "words tokens word token sentence text form",
        "tags": "tags labels tag label ner_tags pos_tags ner pos upos slots chunk_tags",
        "sentence": "sentence_id sent_id sentence_idx sentence_number",
    },
    "running": {"text": "text content document body story article"},
}
ALIASES["rated"]["text"] = ALIASES["labelled"]["text"]
_NO_TEXT = set(  # words of names whose columns hold no text and no label
    "id idx index qid guid uuid length len count num number date time url path lang user author file filename split "
    "fold confidence prob".split()
)
CODES = dict(  # of languages, by names and by codes of three letters
    zip(
        "cmn deu eng fra ger ita jpn kor por rus spa zho "
        "arabic bengali chinese czech danish dutch english finnish french german greek hebrew hindi hungarian "
        "indonesian italian japanese korean mandarin norwegian persian polish portuguese romanian russian spanish "
        "swedish thai turkish ukrainian urdu vietnamese deutsch englisch französisch spanisch italienisch français "
        "anglais allemand espagnol español inglés alemán francés".split(),
        "zh de en fr de it ja ko pt ru es zh "
        "ar bn zh cs da nl en fi fr de el he hi hu id it ja ko zh no fa pl pt ro ru es sv th tr uk ur vi "
        "de en fr es it fr en de es es en de fr".split(),
        strict=True,
    )
)
LANGUAGES = CODES.keys() | set(
    "af am ar az be bg bn bs ca cs cy da de el en eo es et eu fa fi fr ga gl gu he hi hr hu hy is it ja ka kk km kn "
    "ko ky la lo lt lv mg mk ml mn mr ms mt my nb ne nl nn no pa pl ps pt ro ru si sk sl so sq sr sv sw ta te tg th tl "
    "tr tt uk ur uz vi xh yo zh zu".split()
)
_BESIDE_LANGUAGES = set("sentence sentences text texts translation source target phrase word words".split())
_TWINS = (("1", "2"), ("a", "b"), ("0", "1"))
_FLAG = ({"false", "0"}, {"true", "1"})
_SAID = {  # column -> (what is said of examples, what of others)
    "answer": ({"accept", "accepted"}, {"reject", "rejected", "ignore", "ignored", "skip"}),
    "status": ({"submitted", "validated", "completed", "draft", "pending", "default"}, {"discarded"}),
    "was_cancelled": _FLAG,
}


def aliases() -> set[str]:
    """All names that columns are known by, whatever they hold."""
    return {alias for roles in ALIASES.values() for names in roles.values() for alias in names.split()}


def is_name(name: str, alias: str) -> bool:
    """Whether a column has this very name."""
    return name == alias


def has_name(name: str, alias: str) -> bool:
    """Whether a name has this one among its words: review_text has text; text_id has not."""
    words = name.split("_")
    return alias in words and not _NO_TEXT & set(words)


def by_names(names: list[str], kind: str, roles: tuple[str, ...], matches=(is_name, has_name)) -> dict[str, int]:
    """Role -> index of its column, for each role that a name tells; a name of its own goes before a part of a name."""
    at, plain = {}, [normal(name) for name in names]
    if "label" in roles and has_name in matches and not {"label", "labels"} & set(plain):
        # before a column that is named stars
        indices = [index for index, name in enumerate(plain) if has_name(name, "label")]
        at |= {"label": indices[0]} if len(indices) == 1 else {}
    for match in matches:
        if match is has_name and len(at) < len(roles):
            paired = _by_twins(plain, roles) | _by_languages(plain, roles)
            at = {role: index for role, index in at.items() if index not in paired.values()} | paired
        for role in roles:
            if role not in at:
                free = [(index, name) for index, name in enumerate(plain) if index not in at.values()]
                hits = (index for alias in ALIASES[kind][role].split() for index, name in free if match(name, alias))
                hit = next(hits, None)
                at |= {} if hit is None else {role: hit}
    return at


def normal(name: str) -> str:
    """A name in lower case, its words joined by one underscore: "Review Text" is review_text."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(name).replace("#", " number "))
    return re.sub(r"[\W_]+", "_", name.lower()).strip("_")


def is_language(name: str) -> bool:
    """Whether a column is named after a language: de, de-AT, German, translation.de, text_en."""
    words = normal(name).split("_")
    others = [word for word in words if word not in LANGUAGES]
    return len(others) < len(words) and (" " not in name or all(word in _BESIDE_LANGUAGES for word in others))


def _by_twins(names, roles):
    """Two columns whose names differ in a final number or letter are the first and the second text."""
    if "first" not in roles:
        return {}
    for one, two in _TWINS:
        for at, name in enumerate(names):
            twin = name.removesuffix(one) + two
            if name.endswith(one) and twin in names and not _NO_TEXT & set(name[:-1].split("_")):
                return {"first": at, "second": names.index(twin)}
    return {}


def _by_languages(names, roles):
    """Of two columns that are named after languages the first is the source."""
    indices = [at for at, name in enumerate(names) if is_language(name)]
    return {"source": indices[0], "target": indices[1]} if "source" in roles and len(indices) == 2 else {}


def verdict_column(records: list[dict], taken, request: Request) -> str | None:
    """The column of a table that says what an annotator decided, by its first records; none that is `taken`."""
    if "verdicts" in request.rules_off:
        return None
    for name, (kept, left_out) in _SAID.items():
        words = {_word(record[name]) for record in records if name in record} - {"", "none"}
        if name not in taken and words and words <= kept | left_out:
            return name
    return None


def is_left_out(record: dict, column: str | None, problems: Problems, path: str, line: int) -> bool:
    """Whether the annotator rejected this example, or passed it over, which is counted."""
    if column is None:
        return False
    kept, left_out = _SAID[column]
    word = _word(record.get(column))
    if not (word in left_out or column == "answer" and word not in kept):
        return False
    problems.leave_out(f"examples with {column} = {word[:20]}, left out", path, line)
    return True


def _word(value):
    return str(value).strip().lower()
