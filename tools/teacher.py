"""`seqzoo train --teacher ARTEFACT`: the answers of a trained model are what another one learns from.

Sequence-level knowledge distillation: a student learns the teacher's answer to a source, found by its beam search, in
the place of the reference, `-log p(beam(x) | x)`. The answers are more alike than those of people, and so a small model
learns them better (Kim and Rush, "Sequence-Level Knowledge Distillation", 2016).

The answers are a corpus (`serving.corpus`), so what is done survives the end of the process. What is left of them is
written as JSON lines that a recipe names like any other files.
"""

import json
import os
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path

from msgspec import structs

from serving.corpus.forms import TextForm
from serving.corpus.lines import Lines
from serving.corpus.process import process
from serving.kinds import KINDS
from serving.runtime import Runtime
from serving.runtime.artefact import locate
from serving.runtime.doubt import BOUNDED, IN_CIRCLES
from zoo.core.later import later
from zoo.core.storage import json_text, write_json, write_text
from zoo.data import read_lines
from zoo.recipes import check_data, check_run, make
from zoo.recipes.checkpoint import RECIPE
from zoo.recipes.folder import MANIFEST, claim, resolve_initial
from zoo.recipes.recipe import plain
from zoo.settings.data import Files

from . import run_corpus
from .answers import Progress

takeover = later("zoo.runs.takeover")

FOLDER = "teacher"  # of a run
SOURCES, ANSWERS, SUMMARY, EXPORTED = "sources.txt", "answers.jsonl", "summary.json", "artefact"
RATIO, SLACK = 2.0, 10  # an answer is at most so many times as long as answers mostly are, but for some characters
LEAST_SURE = 0.05  # share of the answers that is left out because the teacher is least sure of them
COLUMNS = {"source": "source", "target": "target"}


def replace_answers(recipe, teacher, texts, out, data, resume):
    """A recipe with the answers of a teacher in the place of those in its training data.

    In OUT/teacher are then sources.txt, each source once; answers.jsonl, what the teacher says to each; summary.json,
    what was left out and why; and the corpus: train.jsonl, and the recipe's own valid.jsonl and test.jsonl.

    Args:
        recipe: of a task that reads one text and writes another.
        teacher: the folder of an artefact or of a run, or a published name.
        texts: files of more sources, a line each, for which nobody has an answer. Those of the recipe's validation and
            test are left out.
        out: the run folder of the student.
        data: what the recipe reads, as of `zoo.train`.
        resume: go on with what a teacher has answered in `out`.

    Raises:
        ValueError: the teacher is neither, or one of another task or other languages; `training.init`, `freeze` or
            `rates` do not fit the student; or there are answers already.
    """
    folder = Path(out) / FOLDER
    if len(recipe.job.sides) != 2:
        raise ValueError(
            "--teacher is for tasks that read one text and write another, such as translate or transduce; this recipe "
            f"is of the task {recipe.task}. Leave --teacher out."
        )
    check_data(recipe, ("train", "valid"), data)
    takeover.prepare_takeover(*resolve_initial(recipe))  # weights that do not fit are refused before the teacher works
    more = [text for path in texts for text in read_lines(path)]
    if not resume:
        claim(recipe, Path(out), resume)
    if folder.exists() and not resume:
        raise ValueError(f"{folder} holds answers already. Go on with --resume, choose another --out, or remove it.")
    runtime = _open(teacher, recipe, folder)
    splits = _splits(recipe, data)
    held = {text for name, each in splits.items() if name != "train" for text in each.inputs}
    inputs = dict.fromkeys([*splits["train"].inputs, *(text for text in more if text not in held)])
    sources = [text for text in inputs if text.strip() and text.splitlines() == [text]]
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / SOURCES, "".join(f"{text}\n" for text in sources))
    print(f"{teacher} answers {len(sources):,} sources, one for all that are the same", file=sys.stderr)
    _answer(runtime, folder)
    with open(folder / ANSWERS, encoding="utf-8") as file:
        rows, left_out = choose(list(map(json.loads, file)))
    pairs = {name: zip(each.inputs, each.answers, strict=True) for name, each in splits.items()}
    for name, each in (pairs | {"train": [(row["source"], row["target"]) for row in rows]}).items():
        lines = (json_text({"source": source, "target": target}) for source, target in each)
        write_text(folder / f"{name}.jsonl", "".join(f"{line}\n" for line in lines))
    counts = {"examples": len(splits["train"]), "sources": len(sources), "kept": len(rows)}
    write_json(folder / SUMMARY, {"teacher": runtime.identity} | counts | {"left_out": left_out})
    reasons = ", ".join(f"{count:,} {why}" for why, count in left_out.items()) or "none"
    print(f"{folder}: {len(rows):,} of {len(sources):,} answers are learnt from; left out: {reasons}", file=sys.stderr)
    files = {name: str(folder / f"{name}.jsonl") for name in splits}
    source, target = recipe.languages
    own = Files(**files, format="jsonl", columns=COLUMNS, source_language=source, target_language=target)
    own = structs.replace(own, licence=recipe.data.licence) if isinstance(recipe.data, Files) else own
    return make(plain(structs.replace(recipe, data=own)))


def _open(teacher, recipe, folder):
    """The teacher, which is of the recipe's task and languages, as far as they are known; a run is exported first."""
    if (Path(teacher) / RECIPE).is_file() and not (Path(teacher) / MANIFEST).is_file():
        _check_title(teacher, check_run(teacher).title, recipe)
        teacher = _export(teacher, folder / EXPORTED)
    runtime = Runtime(locate(teacher))
    title = runtime.manifest.get("task", "") if KINDS[runtime.kind].has_source else runtime.kind
    _check_title(teacher, title, recipe)
    return runtime


def _check_title(teacher, title, recipe):
    """Refuse a teacher whose task and languages, such as "translate de-en", are not the recipe's."""
    task, _, languages = title.partition(" ")
    if task not in ("", recipe.task):
        raise ValueError(
            f"the teacher {teacher} is of the task {task}, and this recipe of the task {recipe.task}. Expected a "
            "teacher of the same task."
        )
    own = "-".join(filter(None, recipe.languages))
    if languages and own and languages != own:
        raise ValueError(
            f"the teacher {teacher} is for {languages}, and this recipe for {own}. Expected a teacher of the same "
            "languages, in the same direction."
        )


def _export(run, out):
    """The artefact of a run, which a process of its own writes: an export needs TensorFlow, whatever a training needs.

    Raises:
        ValueError: it cannot be exported; the process has said why.
    """
    artefact = out / "run" / "1"
    if not (artefact / MANIFEST).is_file():
        command = [sys.executable, "-m", "seqzoo", "export", str(run), "--out", str(out)]
        command += ["--name", "run", "--version", "1", "--no-int8"]
        if subprocess.run(command, env=os.environ | {"KERAS_BACKEND": "tensorflow"}, stdout=sys.stderr).returncode:
            raise ValueError(f"the teacher {run} could not be exported, see above. Expected a run that can be.")
    return artefact


def _splits(recipe, data):
    """`{split: Examples}`, with the test where there is one."""
    splits = {split: recipe.job.examples(recipe, split, data) for split in ("train", "valid")}
    try:
        return splits | {"test": recipe.job.examples(recipe, "test", data)}
    except ValueError:
        return splits


def _answer(runtime, folder):
    """Write ANSWERS; where a part of it is there, write the rest."""
    progress, source = Progress("source"), Lines(folder / SOURCES)

    def show_answer(number, text, result):
        record = {"source": text, "target": result.text, "score": result.score, "confidence": result.confidence}
        return json_text(record | {"warning": result.warning, "error": result.error})

    try:
        process(
            source,
            folder / ANSWERS,
            TextForm(ANSWERS, show_answer, "teacher"),
            run_corpus.make_ask(runtime, {}, lambda number, result: None),
            identity={"model": runtime.identity},
            resume=True,
            report=lambda done, share: progress(done.texts, share),
        )
    finally:
        progress.close()


def choose(rows):
    """(the rows that are worth learning from, `{why: how many}` were left out).

    Args:
        rows: dicts with `source`, `target`, `confidence`, `warning` and `error`.
    """
    answered = [row for row in rows if not row["error"] and row["target"].strip()]
    usual = statistics.median([len(row["target"]) / len(row["source"]) for row in answered] or [1.0])
    left_out, good = Counter(), []
    for row in rows:
        why = _find_fault(row, usual)
        if why:
            left_out[why] += 1
        else:
            good.append(row)
    by_confidence = sorted((row for row in good if row["confidence"] is not None), key=lambda row: row["confidence"])
    unsure = {id(row) for row in by_confidence[: int(LEAST_SURE * len(by_confidence))]}
    if unsure:
        left_out["of which the teacher is least sure"] = len(unsure)
    return [row for row in good if id(row) not in unsure], dict(left_out)


def _find_fault(row, usual):
    """Why an answer is not learnt from; None if it is. `usual` is how long answers are for each character."""
    if row["error"]:
        return "not answered"
    if not row["target"].strip():
        return "empty"
    warning = row["warning"] or ""
    if IN_CIRCLES in warning:
        return "in circles"
    if BOUNDED in warning:
        return "cut off"
    long, expected = len(row["target"]) + SLACK, usual * len(row["source"]) + SLACK
    return "of unusual length" if max(long, expected) > RATIO * min(long, expected) else None
