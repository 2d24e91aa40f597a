"""bAbI: stories of a few sentences, questions about them, and answers of a word or two."""

import os
from pathlib import Path

from zoo.data.formats.base import place
from zoo.data.formats.opening import COMPRESSED
from zoo.data.parallel import SPLITS, read_lines

FOLDERS = ("en-valid-10k", "en-valid", "")  # 9,000 training questions; 900, and the test; the files themselves
TASKS = 20


def babi(directory: str | os.PathLike, split: str, task: int = 1) -> tuple[list[str], list[str]]:
    """Stories with a question, and answers, of one of the twenty tasks (Weston et al. 2015).

    Lines are `NUMBER sentence`, or `NUMBER question TAB answer TAB facts`; number 1 begins a new story. A text is all
    the facts of the story so far and then the question, joined by one space: "Mary went home. Where is Mary?". Earlier
    questions are not in it. Answers are as they stand in the file, several of them joined by commas ("milk,football").

    Args:
        directory: holds `qaTASK_SPLIT.txt`, plain, `.gz` or `.xz`, in `en-valid-10k`, or else in `en-valid` (900
            training questions a task, and the test sets of both), or else by themselves.
        split: "train", "valid" or "test".
        task: 1 to 20.

    Raises:
        ValueError: no such task or file, or a line of another form (the message names it).
    """
    if not isinstance(task, int) or not 1 <= task <= TASKS:
        raise ValueError(f"task must be a whole number from 1 to {TASKS}; received {task!r}.")
    path, facts, texts, answers = find(directory, split, task), [], [], []
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
            texts.append(" ".join([*facts, question.strip()]))
            answers.append(rest[0].strip())
        else:
            facts.append(question.strip())
    return texts, answers


def find(directory: str | Path, split: str, task: int) -> Path:
    """The file of a split of a task; see `babi`."""
    names = [f"qa{task}_{name}.txt{zipped}" for name in SPLITS.get(split, (split,)) for zipped in COMPRESSED]
    for folder in FOLDERS:
        for name in names:
            path = Path(directory) / folder / name
            if path.is_file():
                return path
    folders = ", ".join(folder or "itself" for folder in FOLDERS)
    raise ValueError(f"No {split} split of task {task} in {directory}: looked for {', '.join(names)} in {folders}.")
