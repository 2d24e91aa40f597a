"""bAbI: stories of a few sentences, questions about them, and answers of a word or two."""

import os
from collections.abc import Sequence
from pathlib import Path

from zoo.data.corpora import SPLITS, compressed, first_file, read_lines
from zoo.data.formats.base import place

FOLDERS = ("en-valid-10k", "en-valid", "")  # 9,000 training questions; 900, and the test; the files themselves
TASKS = 20


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
    for path in find(directory, split, task):
        for text, answer in _questions(path):
            texts.append(text)
            answers.append(answer)
    return texts, answers


def _questions(path):
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


def find(directory: str | os.PathLike, split: str, task: int | Sequence[int]) -> list[Path]:
    """The files of a split, one for each task; see `babi`."""
    tasks = list(task) if isinstance(task, Sequence) else [task]
    wrong = [each for each in tasks if type(each) is not int or not 1 <= each <= TASKS]
    if wrong or not tasks or len(set(tasks)) < len(tasks):
        raise ValueError(
            f"task must be a whole number from 1 to {TASKS}, or several different ones; received {task!r}."
        )
    return [_file(directory, split, each) for each in tasks]


def _file(directory, split, task):
    names = compressed(f"qa{task}_{name}.txt" for name in SPLITS.get(split, (split,)))
    for folder in FOLDERS:
        if path := first_file(Path(directory) / folder, names):
            return path
    folders = ", ".join(folder or "itself" for folder in FOLDERS)
    raise ValueError(f"No {split} split of task {task} in {directory}: looked for {', '.join(names)} in {folders}.")
