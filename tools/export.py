"""`seqzoo export`: writes a finished run, or the model of an artefact or of a hub, as an artefact directory."""

import contextlib
import functools
import json
import os
from pathlib import Path

from serving import export as exporting
from serving.export.again import RECIPE, check_artefact, export_again
from serving.export.forms import ALWAYS, OPTIONAL, check_names, titles
from serving.export.servers import check_version
from serving.export.settings import GRAPHS, STORAGES, check_name
from serving.export.strings import check_installed
from serving.runtime.artefact import MANIFEST, read_manifest, resolve
from serving.runtime.reading import OVERLONG
from zoo.core.storage import one_writer
from zoo.recipes import check_data, check_run, last_split
from zoo.recipes.files import read_stored
from zoo.runs import open_run

from . import shared
from .screen import log
from .shared import positive


def add_arguments(parser):
    parser.add_argument(
        "run", metavar="RUN", help="a finished training run, an artefact, or the name of a model (`seqzoo list`)"
    )
    parser.add_argument(
        "--ensemble",
        metavar="RUN",
        action="append",
        default=[],
        help="another run of the same recipe that answers together with the first, in one graph; repeatable",
    )
    parser.add_argument(
        "--out", default="artefacts", metavar="DIR", help="the folder of all artefacts; default: artefacts"
    )
    parser.add_argument("--name", help="name of the artefact; default: the recipe's")
    parser.add_argument("--version", type=positive, metavar="N", help="a positive integer; default: the next one")
    parser.add_argument(
        "--beam",
        type=positive,
        action="append",
        metavar="K",
        help="a beam width for which a graph is written; repeatable, and the first becomes the artefact's default "
        "(default: the recipe's width, or 1 for a language model)",
    )
    parser.add_argument(
        "--max-input",
        type=positive,
        metavar="N",
        help="the largest number of tokens that are read of a text; default: the model's number of positions, 1024 if "
        "it has no bound, or what fits into model.context with what a language model of running text writes",
    )
    parser.add_argument(
        "--overlong",
        choices=OVERLONG,
        help="how a longer text is treated; default: refuse, or truncate for a language model, which reads its end",
    )
    parser.add_argument(
        "--storage",
        choices=STORAGES,
        help="how weights are stored: float16 rounds each to 16 bits, which halves model.keras and the ONNX graphs; "
        "int8 rounds matrices to 8 bits, which makes them a third and a quarter; all compute in float32 all the same "
        "(default: float32)",
    )
    parser.add_argument(
        "--graphs",
        action="append",
        choices=GRAPHS,
        help="which graphs are written besides the search: the greedy one, the one that samples, the one that scores, "
        "the encoder and the step of a search of your own; repeatable (default: all; of a network of more than 100 MB "
        "the search and what scores, and of a language model what samples)",
    )
    parser.add_argument(
        "--form",
        action="append",
        default=[],
        choices=sorted(OPTIONAL),
        help=f"a further form besides {titles(ALWAYS)}, which is compared with them; repeatable. "
        + "; ".join(f"{form.name}: {form.about}, needs seqzoo[{form.extra}]" for form in OPTIONAL.values()),
    )
    parser.add_argument("--no-int8", action="store_true", help="leave out the quantised graphs")
    parser.add_argument(
        "--strings",
        action="store_true",
        help="of a model that writes one text for another, or labels a text: also write one graph with the tokenizers "
        "inside, which takes and gives texts (strings.onnx; needs onnxruntime-extensions)",
    )
    parser.add_argument("--xla", action="store_true", help="add a compiled signature, tokens_xla, to the SavedModel")
    parser.add_argument(
        "--serving-version",
        metavar="V",
        help="refuse to export what this version of TensorFlow Serving, such as 2.20, cannot load (default: warn of "
        "each version that cannot)",
    )
    shared.add_imports(parser)
    parser.add_argument(
        "--shortlist",
        type=positive,
        metavar="K",
        help="of a model that reads one text and writes another: also write graphs that search among the K likeliest "
        "target pieces of each source piece, such as 100, estimated from the training's pairs (in --data, unless the "
        "recipe names or makes them); `seqzoo run --shortlist` uses them",
    )
    shared.add_rules(parser, shared.numbers())
    parser.add_argument("--data", metavar="DIR", help="score int8 on this data (default: compare it on a few texts)")
    shared.add_split(parser)
    parser.add_argument("--json", action="store_true", help="print path, parity and int8's report as one JSON object")
    shared.add_offline(parser)


def main(args):
    shared.import_modules(args)
    path = Path(shared.fetch_whole(args.run, "run or artefact"))
    export, name, recipe = _prepare_artefact(args, resolve(path)) if is_artefact(path) else _prepare_run(args, path)
    check(args, args.name or name)
    refuse_options_of_searches(args, recipe)
    for form in args.form:
        OPTIONAL[form].check_search(recipe().task, recipe().search is not None)
    if args.data or args.split or args.shortlist:
        splits = ["train"] if args.shortlist else []
        splits += [args.split or last_split(recipe(), args.data)] if args.data or args.split else []
        check_data(recipe(), tuple(splits), args.data)

    path = export(out=args.out, version=args.version, data=args.data, split=args.split, log=log, **changes(args))
    manifest = read_manifest(path)
    if args.json:
        difference = (manifest["parity"] or {}).get("max_abs_diff")
        print(json.dumps({"path": str(path), "parity_max_abs_diff": difference, "int8": manifest["int8"]}))
    else:
        print(path)
    return 0


def is_artefact(path):
    """Whether a path is an artefact or a folder of artefacts, and not a run, which has a recipe and no manifest."""
    if (path / MANIFEST).is_file() or (path / "recipe.toml").is_file():
        return (path / MANIFEST).is_file()
    return any(True for depth in ("*", "*/*") for _ in path.glob(f"{depth}/{MANIFEST}"))


def _prepare_run(args, directory):
    """How a run is exported, its name, and its recipe."""
    recipe = check_run(directory)

    def export(**settings):
        with contextlib.ExitStack() as locks:
            for run in (directory, *args.ensemble):
                locks.enter_context(one_writer(run, reading=True))
            return exporting.export_run(open_run(directory, *args.ensemble), **settings)

    return export, recipe.name, lambda: recipe


def _prepare_artefact(args, directory):
    """How an artefact is exported again, its name, and its recipe.

    Raises:
        ValueError: the artefact lacks a file that is needed, or --ensemble is given.
    """
    if args.ensemble:
        raise ValueError(f"--ensemble takes runs, and {directory} is an artefact. Export the runs together.")
    name = check_artefact(directory)["name"]

    def recipe():
        return read_stored(directory / RECIPE)

    return functools.partial(export_again, directory), name, recipe


def changes(args):
    """The settings of the export that the command line gives."""
    names = ("name", "max_input", "overlong", "storage", "xla", "serving_version", "strings", "shortlist")
    settings = {name: getattr(args, name) for name in names} | {
        "beams": tuple(args.beam or ()),
        "graphs": tuple(args.graphs or ()),
        "forms": tuple(args.form),
        "rules": shared.given_rules(args, shared.numbers()),
    }
    return {key: value for key, value in settings.items() if value} | ({"int8": False} if args.no_int8 else {})


def refuse_options_of_searches(args, recipe):
    """Refuse what is about a search, of a model that has none.

    Args:
        args: of the command line.
        recipe: a function that gives the recipe.

    Raises:
        ValueError: such an option is given.
    """
    rules = shared.given_rules(args, shared.numbers())
    options = {"beam": args.beam, "xla": args.xla, "graphs": set(args.graphs or ()) - {"search", "all"}, **rules}
    names = [shared.flag(name) for name, value in options.items() if value]
    if names and recipe().search is None:
        raise ValueError(
            f"a model of the task {recipe().task!r} has no search, which {', '.join(names)} would change. Leave "
            f"{'it' if len(names) == 1 else 'them'} out."
        )


def check(args, name):
    """Check the arguments before TensorFlow is imported; `serving.export` would refuse them only afterwards.

    Raises:
        ValueError: the name is a path, the version exists, --max-input has no room for a token, or the backend is not
            TensorFlow.
    """
    if args.serving_version:
        check_version(args.serving_version)
    check_names(args.form)
    if args.strings:
        check_installed()
    if args.max_input == 1:
        raise ValueError("--max-input counts the end of sentence, so it is at least 2; received 1.")
    check_name(name)
    final = Path(args.out) / name / str(args.version)
    if args.version and final.exists():
        raise ValueError(f"{final} exists. Choose another --version, or leave it out for the next one.")
    backend = os.environ.get("KERAS_BACKEND", "tensorflow")
    if backend != "tensorflow":
        raise ValueError(
            f"Export needs the tensorflow backend; KERAS_BACKEND is {backend}. Set KERAS_BACKEND=tensorflow: a model "
            "trained on another backend loads there."
        )
