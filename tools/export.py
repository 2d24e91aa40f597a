"""`seqzoo export`: a finished run -> an artefact directory."""

import json
import sys
from pathlib import Path


def add_arguments(parser):
    parser.add_argument("run", metavar="RUN", help="a finished training run")
    parser.add_argument("--out", default="artefacts", metavar="DIR", help="where artefacts live; default: artefacts")
    parser.add_argument("--name", help="name of the artefact; default: the recipe's")
    parser.add_argument("--version", type=int, help="a positive integer; default: the next one")
    parser.add_argument(
        "--beam",
        type=int,
        action="append",
        metavar="K",
        help="a beam width to write a graph for, repeatable; the first is the default; default: the recipe's",
    )
    parser.add_argument("--no-int8", action="store_true", help="leave out the quantised graphs")
    parser.add_argument("--json", action="store_true", help="print path and parity as one JSON object")


def main(args):
    run = Path(args.run)
    from serving.artefact import read_manifest
    from serving.export import Settings, export
    from zoo.recipes import dumps, open_run

    recipe, model, source, target = open_run(run)
    scores = run / "scores.json"
    settings = Settings(
        name=args.name or recipe.name,
        task=recipe.task,
        beams=tuple(args.beam or (max(recipe.beam, 1),)),
        max_length=recipe.max_output_length,
        alpha=recipe.alpha,
        recipe=dumps(recipe),
        scores=json.loads(scores.read_text(encoding="utf-8")) if scores.is_file() else {},
        texts=examples(recipe, source),
        int8=not args.no_int8,
    )
    path = export(
        model, (source, target), args.out, settings, args.version, say=lambda stage: print(stage, file=sys.stderr)
    )
    parity = read_manifest(path)["parity"]
    if args.json:
        print(json.dumps({"path": str(path), "parity_max_abs_diff": parity["max_abs_diff"]}))
    else:
        print(path)
    return 0


def examples(recipe, tokenizer, count=5):
    """Texts for the check of the text signature: of the task if it is generated, else words of the vocabulary."""
    if recipe.data != "parallel":
        from zoo.recipes import corpora

        return tuple(corpora.read(recipe, "test")[0][:count])
    words = range(4, tokenizer.vocab_size)
    return tuple(tokenizer.decode([list(words[start :: len(words) // 7][:9]) for start in range(count)]))
