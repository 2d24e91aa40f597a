"""Readers of labelled, parallel and running text, and of stories, in the formats in which the corpora are published."""

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from zoo.core.wording import quantity
from zoo.data.formats.base import place
from zoo.data.formats.opening import COMPRESSED, Undecodable, open_lines

SPLITS = {  # names under which corpora store each split, tried in this order
    "train": ("train",),
    "valid": ("valid", "val", "dev"),
    "test": ("test", "test_2016_flickr"),
}
_LEAF = re.compile(r"([^ ()]+)\)")
_WHOLE = "input.txt"  # a running text that is not cut yet
_SENTIMENTS = {
    2: {"0": "negative", "1": "negative", "3": "positive", "4": "positive"},  # 2 is neutral, and left out
    5: {"0": "very-negative", "1": "negative", "2": "neutral", "3": "positive", "4": "very-positive"},
}
_BABI_FOLDERS = ("en-valid-10k", "en-valid", "")  # 9,000 training questions; 900, and the test; the files themselves
_BABI_TASKS = 20


def trec(directory: str | os.PathLike, split: str) -> tuple[list[str], list[str]]:
    """TREC questions and their six coarse classes (Li and Roth 2002).

    Lines are `COARSE:fine question`. The corpus has no validation split: "valid" is about a tenth of `TREC.train`, the
    questions whose hash says so, and "train" the rest, so that a repeated question is on one side only.

    Args:
        directory: holds `TREC.train` and `TREC.test`.
        split: "train", "valid" or "test".

    Returns:
        Questions and labels such as "LOC".

    Raises:
        ValueError: an unknown split, no such file, or a line of another form (the message names it).
    """
    path = find_trec(directory, split)
    examples = [_question(path, number, line) for number, line in enumerate(read_lines(path), 1)]
    if split != "test":
        examples = [example for example in examples if (_hash(example[0]) % 10 == 0) == (split == "valid")]
    return _columns(path, split, examples)


def find_trec(directory: str | os.PathLike, split: str) -> Path:
    """The file of a split; see `trec`."""
    _check_split(split)
    path = Path(directory) / ("TREC.test" if split == "test" else "TREC.train")
    if not path.is_file():
        raise ValueError(f"There is no file {path}. Expected TREC.train and TREC.test, plain text, in {directory}.")
    return path


def _question(path, number, line):
    label, space, question = line.partition(" ")
    coarse, colon, _ = label.partition(":")
    if not (space and colon and coarse and question.strip()):
        raise ValueError(f"{place(path, number)}: expected 'COARSE:fine question', received {line!r}.")
    return question, coarse


def _hash(text):
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def sst(
    directory: str | os.PathLike, split: str, phrases: bool = False, classes: int = 2
) -> tuple[list[str], list[str]]:
    """SST-2 and SST-5: film reviews and their sentiment, from the Stanford Sentiment Treebank (Socher et al. 2013).

    Lines are trees, `(label (label word) ...)`, with labels from 0 to 4. Of two classes 0 and 1 are "negative", 3 and 4
    "positive", and neutral texts are left out; of five they are "very-negative" to "very-positive". Texts are
    lower-cased, as in the files that are in use (`stsa.binary.*`, `stsa.fine.*`), which they equal.

    Args:
        directory: holds `trees/train.txt`, `trees/dev.txt` and `trees/test.txt`, plain, `.gz` or `.xz`.
        split: "train", "valid" or "test".
        phrases: every subtree is an example, each phrase once (with the label of its first occurrence).
        classes: 2 or 5.

    Raises:
        ValueError: an unknown split, no such file, a line that is no tree, or another number of classes.
    """
    if classes not in _SENTIMENTS:
        raise ValueError(f"classes must be 2 (SST-2) or 5 (SST-5); received {classes!r}.")
    names = _SENTIMENTS[classes]
    path = find_sst(directory, split)
    labelled = []
    for number, line in enumerate(read_lines(path), 1):
        trees = list(_subtrees(line))
        if len(trees) != max(line.count("("), 1) or any(label not in _SENTIMENTS[5] for label, _ in trees):
            raise ValueError(f"{place(path, number)}: expected a tree such as (3 (2 a) (4 hit)), received {line!r}.")
        labelled += trees if phrases else trees[-1:]
    examples = {} if phrases else []
    for label, text in labelled:
        if label in names:
            examples.setdefault(text, names[label]) if phrases else examples.append((text, names[label]))
    return _columns(path, split, examples.items() if phrases else examples)


def find_sst(directory: str | os.PathLike, split: str) -> Path:
    """The file of a split; see `sst`."""
    _check_split(split)
    return find(Path(directory) / "trees", split, ".txt")


def _subtrees(line):
    """(label, text) of every subtree, the whole tree last."""
    starts = []
    for at, sign in enumerate(line):
        if sign == "(":
            starts.append(at)
        elif sign == ")" and starts:
            start = starts.pop()
            yield line[start + 1], " ".join(_LEAF.findall(line, start, at + 1)).lower()


def babi(directory: str | os.PathLike, split: str, task: int | Sequence[int] = 1) -> tuple[list[str], list[str]]:
    """Stories with a question, and answers, of one or several of the twenty tasks (Weston et al. 2015).

    Lines are `NUMBER sentence`, or `NUMBER question TAB answer TAB facts`; number 1 begins a new story. A text is all
    the facts of the story so far and then the question, joined by one space: "Mary went home. Where is Mary?". Earlier
    questions are not in it. Answers are as they stand in the file, several of them joined by commas ("milk,football").

    Args:
        directory: holds `qaTASK_SPLIT.txt`, plain, `.gz` or `.xz`, in `en-valid-10k`, or else in `en-valid` (900
            training questions a task, and the test sets of both), or else by themselves.
        split: "train", "valid" or "test".
        task: 1 to 20, or several of them, whose questions come one task after the other.

    Raises:
        ValueError: no such task or file, or a line of another form (the message names it).
    """
    texts, answers = [], []
    for path in find_babi(directory, split, task):
        for text, answer in _babi_questions(path):
            texts.append(text)
            answers.append(answer)
    return texts, answers


def _babi_questions(path):
    """The texts and answers of one file."""
    facts = []
    for number, line in enumerate(read_lines(path), 1):
        count, _, sentence = line.partition(" ")
        question, *rest = sentence.split("\t")
        if not count.isdigit() or not question.strip() or (rest and not rest[0].strip()):
            raise ValueError(
                f"{place(path, number)}: expected 'NUMBER sentence' or 'NUMBER question TAB answer TAB facts', "
                f"received {line!r}."
            )
        if count == "1":
            facts = []
        if rest:
            yield " ".join([*facts, question.strip()]), rest[0].strip()
        else:
            facts.append(question.strip())


def find_babi(directory: str | os.PathLike, split: str, task: int | Sequence[int]) -> list[Path]:
    """The files of a split, one for each task; see `babi`."""
    tasks = list(task) if isinstance(task, Sequence) else [task]
    wrong = [each for each in tasks if type(each) is not int or not 1 <= each <= _BABI_TASKS]
    if wrong or not tasks or len(set(tasks)) < len(tasks):
        raise ValueError(
            f"task must be a whole number from 1 to {_BABI_TASKS}, or several different ones; received {task!r}."
        )
    return [_babi_file(directory, split, each) for each in tasks]


def _babi_file(directory, split, task):
    names = compressed(f"qa{task}_{name}.txt" for name in SPLITS.get(split, (split,)))
    for folder in _BABI_FOLDERS:
        if path := first_file(Path(directory) / folder, names):
            return path
    folders = ", ".join(folder or "itself" for folder in _BABI_FOLDERS)
    raise ValueError(f"No {split} split of task {task} in {directory}: looked for {', '.join(names)} in {folders}.")


def tagged(directory: str | os.PathLike, split: str) -> tuple[list[str], list[str]]:
    r"""Sentences and their tags: lines of `words TAB tags`, each split by one space.

    Args:
        directory: holds `SPLIT.tsv`, plain, `.gz` or `.xz`.
        split: the name of the file, or one of the split names of `find_parallel`.

    Returns:
        Sentences "Dogs bark" and tags "NOUN VERB", which one space separates; white space of other kinds is part of a
        word.

    Raises:
        ValueError: no such file, or a line whose words and tags differ in number (the message names it).
    """
    path = find(directory, split, ".tsv")
    examples = []
    for number, line in enumerate(read_lines(path), 1):
        words, _, tags = line.partition("\t")
        counts = [len(side.split(" ")) if all(side.split(" ")) else 0 for side in (words, tags)]
        if counts[0] != counts[1] or not counts[0]:
            raise ValueError(
                f"{place(path, number)}: expected 'words TAB tags', as many tags as words, each split by one space; "
                f"received {quantity(counts[0], 'word')} and {quantity(counts[1], 'tag')} in {line[:80]!r}."
            )
        examples.append((words, tags))
    return _columns(path, split, examples)


def running_text(directory: str | os.PathLike, split: str) -> str:
    """`train.txt`, `valid.txt` or `test.txt` of a directory, plain, `.gz` or `.xz`.

    If there is only `input.txt`, the first 90 % of its characters are "train" and the rest "valid" (nanoGPT's split).

    Raises:
        ValueError: another split, or no such file.
    """
    path = find_text(directory, split)
    text = "\n".join(read_lines(path)) + "\n"
    if not path.name.startswith(_WHOLE):
        return text
    end = int(0.9 * len(text))
    return text[:end] if split == "train" else text[end:]


def find_text(directory: str | os.PathLike, split: str) -> Path:
    """The file that holds a split, alone or with others; see `running_text`."""
    _check_split(split)
    whole = first_file(directory, compressed([_WHOLE]))
    if whole and split == "test":
        raise ValueError(f"{whole} is cut into the splits train and valid; received {split!r}.")
    return whole or find(directory, split, ".txt")


def find(directory: str | os.PathLike, split: str, suffix: str) -> Path:
    """The file of a split, `NAME SUFFIX`, plain or compressed, under any of the names of the split."""
    names = compressed(f"{name}{suffix}" for name in SPLITS.get(split, (split,)))
    path = first_file(directory, names)
    if path is None:
        raise ValueError(f"No {split} split in {directory}: looked for {', '.join(names)}.")
    return path


def compressed(names: Iterable[str]) -> list[str]:
    """The names of files, each plain and with .gz and .xz behind it."""
    return [f"{name}{ending}" for name in names for ending in COMPRESSED]


def first_file(directory: str | os.PathLike, names: Iterable[str]) -> Path | None:
    """The first of these files that a directory has."""
    return next((path for name in names if (path := Path(directory, name)).is_file()), None)


def _check_split(split):
    if split not in ("train", "valid", "test"):
        raise ValueError(f"split must be train, valid or test; received {split!r}.")


def _columns(path, split, examples):
    if not examples:
        raise ValueError(f"{path} has no example for the split {split}; expected at least one. Give more lines.")
    texts, labels = zip(*examples, strict=True)
    return list(texts), list(labels)


def read_lines(path: str | os.PathLike) -> list[str]:
    """The lines of a UTF-8 file, plain, gzip or xz; see `zoo.data.formats.opening.open_lines`.

    Raises:
        ValueError: if there is no such file, it has no line, is a broken gzip or xz file or is not UTF-8 (the message
            names the line and the byte).
    """
    try:
        lines = [line for _, line in open_lines(str(path))]
    except Undecodable as error:
        raise ValueError(f"{error} Convert the file to UTF-8, for example with iconv.") from error
    if not lines:
        raise ValueError(f"{path} is empty; expected at least one line.")
    return lines


def find_parallel(
    directory: str | os.PathLike, split: str, source_language: str, target_language: str
) -> tuple[Path, Path]:
    """Finds the two files of a split, `SPLIT.LANGUAGE`, plain or with .gz or .xz behind it, in a directory.

    Args:
        directory: where to look; not searched recursively.
        split: "train", "valid" (also stored as val, dev), "test" (also stored as
            test_2016_flickr), or the very name of another split.
        source_language: suffix of the source file, such as "de".
        target_language: suffix of the target file.

    Raises:
        ValueError: if no name of the split has both files; says what was looked for and what is
            there.
    """
    directory = Path(directory)
    names = SPLITS.get(split, (split,))
    for name in names:
        pair = [first_file(directory, compressed([f"{name}.{each}"])) for each in (source_language, target_language)]
        if all(pair):
            return tuple(pair)
    wanted = ", ".join(f"{name}.{{{source_language},{target_language}}}[.gz|.xz]" for name in names)
    there = sorted(entry.name for entry in directory.iterdir()) if directory.is_dir() else None
    found = "no such directory" if there is None else ", ".join(there) or "an empty directory"
    raise ValueError(
        f"No {split} split for {source_language} to {target_language} in {directory}: "
        f"looked for {wanted}; found {found}."
    )
