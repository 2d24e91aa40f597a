"""`seqzoo evaluate`: scores a trained run on a test set, each score with its interval."""

import contextlib
import dataclasses
import json
import sys
import time
from pathlib import Path

from msgspec import structs

from serving.lazy import later
from serving.runtime import artefact
from serving.runtime.percent import percent
from zoo import recipes, runs
from zoo.core.storage import json_text, one_writer, write_json, write_text
from zoo.data.formats.unknown import say_unknown
from zoo.hub import is_path, resolve
from zoo.recipes import evaluations, files, folder
from zoo.recipes.folder import MANIFEST
from zoo.scores.labels import describe_rules
from zoo.scores.plots import format_interval, format_score, names_with_interval, score_name
from zoo.settings.training import Search
from zoo.tasks.parts import corpora

from . import mistakes, shared
from .screen import aligned, escape, log
from .shared import positive

keras = later("keras")

OWN = (MANIFEST, folder.SCOPE, folder.SUMMARY, evaluations.SCORES)  # files of a run beside those of its training
TAB = "\t"  # which stays in a line of answers
COUNTS = (
    "count",
    "labels",
    "several_answers",
    "out_of_scope",
    "in_training",
    "cut",
    "characters",
    "bytes",
    "tokens",
)  # those that are shown


def add_arguments(parser):
    parser.add_argument(
        "run", metavar="RUN", help="a run directory of `seqzoo train`, or a published model by its name"
    )
    parser.add_argument(
        "--ensemble",
        metavar="RUN",
        action="append",
        default=[],
        help="another run of the same recipe that answers together with the first; repeatable, and nothing is written",
    )
    parser.add_argument(
        "--data", metavar="PATH", help="folder of the corpus; or, for files of your own, other examples to score"
    )
    parser.add_argument(
        "--as", dest="name", metavar="NAME", help="keep the scores as those of other examples, which the card names so"
    )
    shared.add_changes(parser, "say how --data is read, such as data.columns.text=2 or 'data.rules_off=[\"labels\"]'")
    shared.add_split(parser)
    parser.add_argument("--beam", type=positive, metavar="N", help="beam width of a search (default: the recipe's)")
    parser.add_argument(
        "--limit", type=positive, metavar="N", help="only the first N examples (characters of a running text)"
    )
    parser.add_argument(
        "--mistakes",
        metavar="FILE",
        help="write the worst answers with their confidence: rows (.jsonl, .json, .csv, .tsv) or a page (.html)",
    )
    parser.add_argument("--worst", type=positive, metavar="N", default=100, help="how many of them (default: 100)")
    shared.add_imports(parser)
    parser.add_argument("--json", action="store_true", help="print the scores as one JSON object")
    parser.add_argument(
        "--record",
        action="store_true",
        help="also write the scores to the table of the zoo, which `seqzoo list` shows",
    )


def main(args):
    """Score the run, print the scores and write them to RUN/scores.json, and the answers to RUN/SPLIT.outputs.json.

    RUN/SPLIT.hypotheses.txt has the answers alone, line by line. Scores of other examples than the recipe's own test
    set stay beside its own, and so do the answers, in RUN/SPLIT.NAME.outputs.json.
    """
    if args.mistakes:
        mistakes.check(args.mistakes)
    shared.import_modules(args)
    args.run = _find(args.run)
    recipe = _change_reading(recipes.check_run(args.run), args)
    evaluations.read_scores(args.run)  # beside which others are written; a damaged file is told now
    if args.beam and not isinstance(recipe.search, Search):
        raise ValueError(
            f"the task {recipe.task!r} is scored without a search, which --beam would change. Leave it out."
        )
    if args.mistakes:
        _refuse_loss(args, recipe)
    split = args.split or recipes.last_split(recipe, args.data)
    other = _describe_other(args, recipe, split)
    if args.set and "data" not in other:
        raise ValueError("--set would change what the run's own test set is. Name these scores with --as NAME.")
    if other and args.record:
        options = {"--limit": args.limit, "--data": args.data, "--as": args.name, "--split": args.split}
        flags = " and ".join(option for option, value in options.items() if value)
        raise ValueError(f"--record is for scores of the recipe's own whole test set; received {flags}. Leave one out.")
    recipes.check_data(recipe, (split,), args.data)
    sealed = Path(args.run, MANIFEST).is_file()  # an artefact, whose manifest lists its files
    with one_writer(args.run, reading=bool(args.ensemble) or sealed):
        return _evaluate(args, recipe, split, other, sealed)


def _refuse_loss(args, recipe):
    """Refuse to write the mistakes over the examples, or over a file that belongs to the run."""
    place, file = Path(args.data or "."), Path(args.mistakes).resolve()
    named = [structs.asdict(recipe.data).get(split) or [] for split in corpora.SPLITS]
    examples = [place, *(place / each for paths in named for each in ([paths] if isinstance(paths, str) else paths))]
    own = file.name in (*folder.extra_files(recipe), *OWN) or file.name.endswith(evaluations.SUFFIX)
    if file in {each.resolve() for each in examples}:
        what = "the examples"
    elif own and file.parent == Path(args.run).resolve():
        what = "a file of the run"
    else:
        return
    raise ValueError(f"--mistakes {args.mistakes} would write over {what}. Choose another name.")


def _find(name):
    """The folder of a run, of the only artefact below it, or of a published model, with all its files."""
    if is_path(name):
        with contextlib.suppress(ValueError):  # what is no run either is told by what it lacks
            return name if Path(name, "recipe.toml").is_file() else artefact.resolve(name)
        return name
    try:
        return resolve.fetch(name, "all")
    except ValueError as error:
        raise ValueError(
            f"{name} is not a finished run, as `seqzoo train RECIPE --out DIR` makes one: there is no such folder, and "
            f"{error}"
        ) from error


def _evaluate(args, recipe, split, other, sealed):
    run = runs.open_run(args.run, *args.ensemble)
    run = dataclasses.replace(run, recipe=recipe) if args.set else run
    start = time.monotonic()
    options = {"beams": args.beam, "limit": args.limit, "progress": _progress(sys.stderr, recipe.job.kind)}
    evaluation = runs.evaluation(run, split, args.data, **options, log=_log)
    seconds = round(time.monotonic() - start, 1)
    scores = {
        "task": recipe.task,
        "split": split,
        **other,
        **evaluation.scores,
        "seconds": seconds,
        "backend": keras.backend.backend(),
    }
    if args.mistakes:
        on = f"{split} of {other['data']}" if "data" in other else split
        _log(mistakes.write(args.mistakes, recipe, evaluation, f"Mistakes of {recipe.name}, {on}", args.worst))
    if args.ensemble or sealed:
        name = f"{1 + len(args.ensemble)} runs of {recipe.name}" if args.ensemble else recipe.name
        print(json_text(scores) if args.json else _table(name, scores))
        return 0
    directory = Path(args.run)
    name = evaluations.name_split(split, other.get("data"))
    if args.limit and _keeps_whole(directory, name, other.get("data")):
        _log(f"the scores of the first {args.limit} examples of {name} are not kept: {directory} has those of all")
    else:
        evaluations.write(directory, recipe, name, evaluation)
        if evaluation.outputs:
            text = "".join(f"{escape(output, TAB)}\n" for output in evaluation.outputs)
            write_text(directory / f"{name}.hypotheses.txt", text)
        if other.keys() != {"data", "limit"}:
            evaluations.write_scores(directory, evaluation.scores if "data" in other else scores, other.get("data"))
    if args.record:
        _record(recipe, scores, directory)
    print(json_text(scores) if args.json else _table(recipe.name, scores))
    return 0


def _keeps_whole(directory, name, data):
    """Whether a run keeps an evaluation of all examples: scores of a part say so, or there are none of other `data`."""
    scores = evaluations.read_scores(directory)
    if data:
        return data in scores.get("elsewhere", {})
    return evaluations.path(directory, name).is_file() and not (scores.get("split") == name and "limit" in scores)


def _change_reading(recipe, args):
    """The recipe with the settings of --set, which say how other examples are read."""
    others = [each for each in args.set if not each.startswith("data.")]
    if others:
        raise ValueError(f"--set says how examples are read, by settings of [data]; received {others[0]}.")
    return recipes.load(recipe, args.set, args.imports) if args.set else recipe


def _log(line):
    log(escape(line))


def _describe_other(args, recipe, split):
    """What distinguishes these scores from those of the recipe's own splits: the name of the examples, and a limit."""
    default = (
        Path(args.data).name if corpora.replaces_files(recipe, args.data) else "" if split in corpora.SPLITS else split
    )
    name = args.name or default
    return ({"data": name} if name else {}) | ({"limit": args.limit} if args.limit else {})


def _progress(stream, kind):
    """A function that reports progress: on a terminal one line that is rewritten, elsewhere about ten lines in all."""
    printed, what = 0, "batches" if kind == "running" else "examples"

    def progress(done, total):
        nonlocal printed
        if stream.isatty():
            print(f"\r{done:,}/{total:,} {what}", end="\n" * (done == total), file=stream)
        elif done - printed >= total / 10 or done == total:
            print(f"{done:,}/{total:,} {what}", file=stream, flush=True)
            printed = done

    return progress


def _record(recipe, scores, directory):
    """Write the scores and the facts of the training to the table beside the recipes, under the recipe's name."""
    path = files.CATALOGUE / evaluations.SCORES
    table = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    training = json.loads((directory / "training.json").read_text(encoding="utf-8"))
    facts = ("steps", "training_seconds", "parameters", "backend", "keras", "data_sha256")
    table[recipe.name] = scores | {"training": {key: training[key] for key in facts}}
    write_json(path, dict(sorted(table.items())))


def _table(name, scores):
    """The counts, each score with its interval, and the scores by length where a model writes."""
    beam = f", beam {scores['beam']}" if "beam" in scores else ""
    counts = {key: scores[key] for key in COUNTS if key in scores}
    if counts.get("labels") == counts.get("count"):  # one label for each text says nothing new
        counts.pop("labels", None)
    rows = [("", "", "95 % interval"), *((key.replace("_", " "), f"{value:,}", "") for key, value in counts.items())]
    rows += [
        (score_name(key), format_score(key, scores[key]), format_interval(key, scores))
        for key in names_with_interval(scores)
    ]
    on = f" of {scores['data']}" if "data" in scores else ""
    lines = [f"{name}, {scores['split']}{on}{beam}", *(f"  {line}" for line in aligned(rows, right=[1]))]
    return "\n".join([*lines, *_by_length(scores), *_remarks(scores)])


def _remarks(scores):
    """Remarks about missing scores, about entities, and about labels that the model cannot answer."""
    remarks = [f"no {score_name(name).partition(',')[0]}: {why}" for name, why in scores.get("missing", {}).items()]
    remarks += filter(None, [describe_rules(scores.get("entity_rules"), None)])
    if "calibration_error" in scores:
        remarks.append(f"the confidences are {scores['calibration_error']:.3f} off (expected calibration error)")
    if unknown := scores.get("unknown_labels"):
        count = sum(each["count"] for each in unknown)
        remarks.append(f"labels that the model cannot answer, {count:,} in all: {say_unknown(unknown, [])}")
    return ["", *remarks] if remarks else []


def _by_length(scores):
    """The lines of the scores by length."""
    names = [key for key in ("bleu", "chrf", "wer", "per", "exact_match") if key in scores]
    if "by_length" not in scores:
        return []
    head = "".join(f"{key.replace('_', ' '):>14}" for key in names)
    lines = ["", f"{'length':>10}{'n':>7}{head}"]
    for row in scores["by_length"]:
        values = "".join(f"{percent(row[key], 2) if key in row else '-':>14}" for key in names)
        lines.append(f"{row['from']}-{row['to']}".rjust(10) + f"{row['sentences']:7,}{values}")
    return lines
