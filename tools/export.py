"""`seqzoo export`: a finished run -> an artefact directory."""

import json
import os
import sys
from pathlib import Path

from serving.reading import OVERLONG

from .counts import positive


def add_arguments(parser):
    parser.add_argument("run", metavar="RUN", help="a finished training run")
    parser.add_argument("--out", default="artefacts", metavar="DIR", help="where artefacts live; default: artefacts")
    parser.add_argument("--name", help="name of the artefact; default: the recipe's")
    parser.add_argument("--version", type=positive, metavar="N", help="a positive integer; default: the next one")
    parser.add_argument(
        "--beam",
        type=positive,
        action="append",
        metavar="K",
        help="a beam width to write a graph for, repeatable; the first is the default; default: the recipe's, or 1 for "
        "a language model",
    )
    parser.add_argument(
        "--max-input",
        type=positive,
        metavar="N",
        help="tokens of a text that are read at most; default: as many as the model has positions for, else 1024",
    )
    parser.add_argument(
        "--overlong",
        choices=OVERLONG,
        help="what becomes of a longer text; default: refuse, or truncate for a language model, which reads its end",
    )
    parser.add_argument("--no-int8", action="store_true", help="leave out the quantised graphs")
    parser.add_argument("--xla", action="store_true", help="add a compiled signature, tokens_xla, to the SavedModel")
    parser.add_argument("--data", metavar="DIR", help="score int8 on this data (default: compare it on a few texts)")
    parser.add_argument("--split", help="which part of the data (default: test, or valid if there is no test)")
    parser.add_argument("--json", action="store_true", help="print path, parity and int8's report as one JSON object")


def main(args):
    from zoo.recipes import check_data, check_run, corpora

    run = Path(args.run)
    recipe = check_run(run)
    check(args, args.name or recipe.name)
    if args.data or args.split:
        check_data(recipe, (args.split or corpora.last_split(recipe),), args.data)

    from serving.artefact import read_manifest
    from serving.export import Settings, export
    from zoo.recipes import dumps, open_labels, open_run

    recipe, model, *tokenizers = open_run(run)
    tokenizers = [tokenizer for tokenizer in tokenizers if tokenizer]
    writes_on = recipe.model == "language_model"
    room = writes_on and model.longest_prompt and model.positions.max_positions - model.longest_prompt
    scores = run / "scores.json"
    labels = tuple(open_labels(run))
    settings = Settings(
        name=args.name or recipe.name,
        task=recipe.task,
        beams=tuple(args.beam or (1 if writes_on else max(recipe.beam, 1),)),
        max_length=min(recipe.max_output_length, room or recipe.max_output_length),
        alpha=recipe.alpha,
        max_input=args.max_input,
        overlong=args.overlong,
        labels=labels,
        recipe=dumps(recipe),
        scores=json.loads(scores.read_text(encoding="utf-8")) if scores.is_file() else {},
        texts=examples(recipe, tokenizers[0]),
        int8=not args.no_int8,
        xla=args.xla,
        trial=trial(recipe, labels, args.split, args.data) if args.data or args.split else None,
    )
    path = export(model, tokenizers, args.out, settings, args.version, log=lambda stage: print(stage, file=sys.stderr))
    manifest = read_manifest(path)
    if args.json:
        difference = manifest["parity"]["max_abs_diff"]
        print(json.dumps({"path": str(path), "parity_max_abs_diff": difference, "int8": manifest["int8"]}))
    else:
        print(path)
    return 0


def check(args, name):
    """Refuse, before TensorFlow is imported, what `serving.export` would refuse after it.

    Raises:
        ValueError: a name that is a path, a version that exists, no room for a token, or another backend than
            TensorFlow.
    """
    if args.max_input == 1:
        raise ValueError("--max-input counts the end of sentence, so it is at least 2; received 1.")
    if name in ("", ".", "..") or Path(name).name != name:
        raise ValueError(f"--name is the name of a folder in --out; received {name!r}, which is a path.")
    final = Path(args.out) / name / str(args.version)
    if args.version and final.exists():
        raise ValueError(f"{final} exists. Choose another --version, or leave it out for the next one.")
    backend = os.environ.get("KERAS_BACKEND", "tensorflow")
    if backend != "tensorflow":
        raise ValueError(
            f"Export needs the tensorflow backend; KERAS_BACKEND is {backend}. Set KERAS_BACKEND=tensorflow: a model "
            "trained on another backend loads there."
        )


def examples(recipe, tokenizer, count=5):
    """Texts for the check of the text signature: of the task if it is generated, else words of the vocabulary."""
    from zoo.recipes import corpora

    if recipe.data in corpora.GENERATED:
        return tuple(corpora.read(recipe, "test")[0][:count])
    words = range(4, tokenizer.vocab_size)
    return tuple(tokenizer.decode([list(words[start :: max(1, len(words) // 7)][:9]) for start in range(count)]))


def trial(recipe, labels, split, directory):
    """The split's texts, their answers and how they are scored; a running text is cut into prompts."""
    from serving.export import Trial
    from zoo.recipes import corpora, evaluation, score

    texts, answers = corpora.read(recipe, split or corpora.last_split(recipe), directory)
    if recipe.model == "language_model":
        size, whole = max(1, recipe.context // 2), texts[0]
        starts = range(0, min(len(whole), 100 * size), size)
        return Trial(tuple(whole[start : start + size] for start in starts))

    def scored(found, references):
        if labels:
            found = [" ".join(answer) if isinstance(answer, list) else answer for answer in found]
            return {"accuracy": evaluation.accuracy(found, references)["accuracy"]}
        sides = (evaluation.joined(side, recipe.joiner) for side in (found, references))
        scores = score(*sides, recipe.target_language, tokenized=bool(recipe.joiner))
        return {name: scores[name] for name in ("exact_match", "bleu", "chrf") if name in scores}

    return Trial(tuple(texts), tuple(answers), scored)
