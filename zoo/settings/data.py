"""Where examples come from: files of one's own, the corpora that the zoo knows, or generators."""

from typing import Annotated, ClassVar

from msgspec import Meta

from zoo.settings.declared import one_of
from zoo.settings.table import BelowOne, Count, Doc, NotNegative, Positive, Table

OMIT = "omit"  # instead of an encoding: the file is left out
Number = Annotated[int, Meta(ge=1, le=20)]
Split = Annotated[str, Doc("name of the split's files")]


class Data(Table, tag_field="corpus"):
    """What every corpus has.

    Attributes:
        licence: of the data, as far as it is known.
        generated: whether it needs no files.
        windows: whether it is one running text, which is cut into windows.
        example: a file that one expects in its directory.
        rules_off: rules of mending that are not applied.
    """

    licence: ClassVar[str] = ""
    generated: ClassVar[bool] = False
    windows: ClassVar[bool] = False
    example: ClassVar[str] = ""
    rules_off: ClassVar[list[str]] = []

    @property
    def corpus(self):
        """The name of the corpus."""
        return self.tag

    @property
    def languages(self):
        """(source, target), "" where there is none."""
        return "", ""


def _check_encoding(name):
    try:
        " ".encode(name)  # hex and its like are codecs, and none of text
    except (LookupError, ValueError):
        raise ValueError(
            f"encoding must be a name that Python knows, such as utf-8, cp1252, latin-1 or utf-16; received {name!r}."
        ) from None


Format = Annotated[str, Doc("format of the files; without it their names and first lines tell")]
Encoding = Annotated[str, Doc('character encoding of the files, such as "cp1252"')]
Encodings = Annotated[
    dict[str, str],
    Doc('encoding of single files, as {"neg/30.txt" = "cp1252"}; "omit" leaves a file out'),
]
ValidShare = Annotated[BelowOne, Doc("share of train for validation, if valid is not given")]
TestShare = Annotated[BelowOne, Doc("share of train for the test, if test is not given")]
Licence = Annotated[str, Doc("licence of the data, for the card")]
RulesOff = Annotated[
    list[one_of("data.formats.base.RULES")],
    Doc('rules of mending that are not applied, such as ["labels"] (docs/data.md)'),
]


def _check_encodings(table):
    _check_encoding(table.encoding)
    for name in table.encodings.values():
        if name != OMIT:
            _check_encoding(name)


class Files(Data, tag="files"):
    """Files of your own, in any format of docs/data.md."""

    train: Annotated[str | list[str], Doc("a file, a folder, or two files of parallel text")] = ""
    valid: Annotated[str | list[str], Doc("the same for validation; without it valid_share of train is taken")] = ""
    test: Annotated[str | list[str], Doc("the same for the test; without it test_share of train is taken")] = ""
    format: Format = ""
    encoding: Encoding = "utf-8"
    encodings: Encodings = {}
    rules_off: RulesOff = []
    columns: Annotated[
        dict[str, str | int | bool],
        Doc('which column holds what, by name or number, as {text = "review", label = 2}'),
    ] = {}
    source_language: Annotated[str, Doc('language code of the source, such as "de"')] = ""
    target_language: Annotated[str, Doc('language code of the target, such as "en", or "und"; without it no BLEU')] = ""
    valid_share: ValidShare = 0.1
    test_share: TestShare = 0.0
    shortest: Annotated[Count, Doc("training texts with fewer words are left out")] = 0
    longest: Annotated[Count, Doc("training texts with more words are left out; 0: none")] = 0
    ratio: Annotated[
        NotNegative, Doc("training pairs whose lengths differ by a larger factor are left out; 0: none")
    ] = 0.0
    licence: Licence = ""

    def check(self):
        _check_encodings(self)

    @property
    def languages(self):
        """(source, target), "" where they are not named."""
        return self.source_language, self.target_language


class RunningFiles(Data, tag="files"):
    """Running text of your own: files or folders."""

    windows = True
    train: Annotated[str | list[str], Doc("a file or a folder")] = ""
    valid: Annotated[str | list[str], Doc("the same for validation; without it the end of train is taken")] = ""
    test: Annotated[str | list[str], Doc("the same for the test; without it test_share of train is taken")] = ""
    format: Format = ""
    encoding: Encoding = "utf-8"
    encodings: Encodings = {}
    rules_off: RulesOff = []
    columns: Annotated[dict[str, str | int | bool], Doc('which column holds the text, as {text = "body"}')] = {}
    valid_share: ValidShare = 0.1
    test_share: TestShare = 0.0
    licence: Licence = ""

    def check(self):
        _check_encodings(self)


Phrases = Annotated[bool, Doc("whether every phrase of the trees is trained on")]


class Generated(Table):
    """A mixin, before `Data`: examples that are made, so many for each split."""

    generated = True
    train_size: Annotated[Positive, Doc("examples to train on")] = 20_000
    valid_size: Annotated[Positive, Doc("examples to validate on")] = 500
    test_size: Annotated[Positive, Doc("examples to test on")] = 2_000


class Dates(Generated, Data, tag="dates"):
    """Dates in 13 languages, and their ISO 8601 form."""


class DatePairs(Generated, Data, tag="date_pairs"):
    """Two dates in 13 languages, and whether the first is earlier than the second, later, or the same."""


class Reversal(Generated, Data, tag="reversal"):
    """Sequences of symbols, to be reversed."""

    shortest: Annotated[Positive, Doc("symbols of a sequence at least")] = 3
    longest: Annotated[Positive, Doc("symbols of a sequence at most")] = 20

    def check(self):
        if self.shortest > self.longest:
            raise ValueError(f"shortest must be at most longest; received {self.shortest} and {self.longest}.")


class Duplication(Generated, Data, tag="duplication"):
    """Sequences of symbols, to be repeated."""

    longest: Annotated[Positive, Doc("symbols of every sequence")] = 20


class Parallel(Data, tag="parallel"):
    """`SPLIT.LANGUAGE` for each of two languages, plain or with .gz or .xz behind it."""

    source_language: Annotated[str, Doc('suffix of the source files, such as "de"')]
    target_language: Annotated[str, Doc('suffix of the target files, such as "en"')]
    train_split: Split = "train"
    valid_split: Split = "valid"
    test_split: Split = "test"
    rules_off: RulesOff = []

    @property
    def example(self):
        """A file that one expects."""
        return f"{self.train_split}.{self.source_language}.gz"

    @property
    def languages(self):
        """(source, target), "" where they are not named."""
        return self.source_language, self.target_language

    def check(self):
        if not (self.source_language and self.target_language):
            raise ValueError(
                "a parallel corpus needs source_language and target_language, received "
                f"{self.source_language!r} and {self.target_language!r}."
            )


class Tagged(Data, tag="tagged"):
    """`SPLIT.tsv`: the words of a sentence, a TAB, and their tags."""

    train_split: Split = "train"
    valid_split: Split = "valid"
    test_split: Split = "test"

    @property
    def example(self):
        """A file that one expects."""
        return f"{self.train_split}.tsv.gz"


class RunningText(Data, tag="text"):
    """`input.txt`, or one file a split."""

    windows = True
    example = "input.txt"


class Trec(Data, tag="trec"):
    """Questions and what kind of answer they ask for (TREC)."""

    example = "TREC.train"


class Sst(Data, tag="sst"):
    """Film reviews in two classes (SST-2)."""

    example = "trees/train.txt.gz"
    classes: ClassVar[int] = 2
    phrases: Phrases = False


class Sst5(Data, tag="sst5"):
    """Film reviews in five classes (SST-5)."""

    example = "trees/train.txt.gz"
    classes: ClassVar[int] = 5
    phrases: Phrases = False


class Babi(Data, tag="babi"):
    """Stories and questions of one or several of the twenty bAbI tasks."""

    number: Annotated[Number | list[Number], Doc("which of the twenty tasks, or several of them")] = 1

    def check(self):
        numbers = self.number if isinstance(self.number, list) else [self.number]
        if not numbers or len(set(numbers)) < len(numbers):
            raise ValueError(
                f"number must be a task from 1 to 20 or a list of different ones; received {self.number!r}."
            )

    @property
    def example(self):
        """A file that one expects."""
        first = self.number[0] if isinstance(self.number, list) else self.number
        return f"en-valid-10k/qa{first}_train.txt.gz"
