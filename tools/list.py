"""`seqzoo list`: lists the trained models, and the recipes with their scores. It does not import Keras.

The models are the newest version of each name that the hubs have.
"""

import json
import logging
import sys
import tomllib
from pathlib import Path

from serving.lazy import later
from serving.runtime.percent import percent
from zoo import hub
from zoo.hub.base import HubError
from zoo.hub.index import choose, nearest, run_files
from zoo.hub.places import is_offline, places, read_entries, unlocated_models

from . import shared
from .screen import aligned, escape
from .shared import size

recipes = later("zoo.recipes")

log = logging.getLogger("seqzoo.hub")
FORMS = {  # of the scores that are shown: how the number is written, and with which words
    "bleu": (percent, "BLEU {}"),
    "chrf": (percent, "chrF {}"),
    "exact_match": (percent, "exact match {}"),
    "entity_f1": (percent, "entity F1 {}"),
    "accuracy": (percent, "accuracy {}"),
    "mae": ("{:.4g}".format, "mean absolute error {}"),
    "spearman": (percent, "Spearman {}"),
    "nats_per_character": ("{:.3f}".format, "{} nats/character"),
}
FIRST = (  # the keys of a record that everybody may rely on; the others of the index follow
    *("name", "version", "system", "cell", "attention", "feedforward", "block", "depth", "task", "languages", "bytes"),
    *("licence", "data_licence", "scores", "parity"),
)
LOW = ("nats_per_character", "bits_per_character", "nats_per_byte", "bits_per_byte", "wer", "per", "perplexity", "mae")
MAIN = (
    "bleu",
    "chrf",
    "exact_match",
    "entity_f1",
    "accuracy",
    "macro_f1",
    *LOW,
    "spearman",
)  # by which models are sorted


def add_arguments(parser):
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="show this recipe or model whole; the path of a .toml, too"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object with `recipes` and `models`")
    parser.add_argument("--task", help="only those of a task, such as translate")
    parser.add_argument("--language", metavar="CODE", help="only those of a language, such as de")
    parser.add_argument("--licence", metavar="SPDX", help="only models whose weights have this licence")
    parser.add_argument(
        "--max-size", type=size, metavar="SIZE", help="only models of which `run` needs at most this much, such as 5MB"
    )
    parser.add_argument("--sort", choices=("score", "speed", "size"), help="best first (score: within each task)")
    shared.add_offline(parser)


def entries(directory):
    """[{"name", "system", "task", "description", "languages", "scores"}] of a directory of recipes.

    `scores` is empty for an entry that has not been measured; `seqzoo evaluate --record` fills it.
    """
    path = directory / "scores.json"
    scores = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    records = []
    for path in sorted(directory.glob("*.toml")):
        recipe = _settings(path)
        entry = {key: recipe[key] for key in ("name", "system", "task", "description")}
        languages = [recipe["data"].get(f"{side}_language") for side in ("source", "target")]
        entry["languages"] = [each for each in languages if each]
        records.append(entry | {"scores": scores.get(recipe["name"], {})})
    return records


def _settings(path):
    """The settings of a recipe, including those of the recipe that it extends."""
    own = tomllib.loads(path.read_text(encoding="utf-8"))
    base = _settings(path.with_name(f"{own['extends']}.toml")) if "extends" in own else {}
    return base | own | {"data": base.get("data", {}) | own.get("data", {})}


def catalogue():
    """The folder of the recipes."""
    return Path(hub.__file__).parents[1] / "catalogue"


def main(args):
    """Print the models and the recipes, or all that is known of one."""
    if args.name:
        return show_whole(args.name, args.json)
    recipes, models = entries(catalogue()), list_models()
    _check_task(args.task, recipes + models)
    recipes, models = _choose(recipes, args), _choose(models, args)
    if args.json:
        print(json.dumps({"recipes": recipes, "models": models}, ensure_ascii=False))
        return 0
    if models:
        print('Trained models: seqzoo run NAME "text"')
        print(*aligned(_table(models)), sep="\n")
    if elsewhere := describe_unplaced(models):
        print(elsewhere)
    if models and recipes:
        print("\nRecipes: seqzoo train NAME")
    if recipes:
        rows = [(each["name"], each["system"], _task(each), _format_scores(each["scores"])) for each in recipes]
        print(*aligned([("NAME", "SYSTEM", "TASK", "SCORES"), *rows]), sep="\n")
    if not recipes and not models:
        print("nothing fits; leave out some of the options", file=sys.stderr)
    return 0


def _check_task(task, records):
    tasks = sorted({*shared.TASKS, *(each["task"] for each in records)})
    if task not in (None, *tasks):
        near = nearest(task, tasks)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ValueError(f"There is no task {task!r}.{hint} The tasks are {', '.join(tasks)}.")


def _choose(records, args):
    filters = {name: getattr(args, name) for name in ("task", "language", "licence", "max_size")}
    fitting = [each for each in records if fits(each, **filters)]
    return sorted(fitting, key=lambda each: sort_key(each, args.sort)) if args.sort else fitting


def show_whole(name, as_json):
    """Print every setting of a recipe with its default and its meaning; or the entry of a model of that name."""
    if not name.endswith(".toml") and not (catalogue() / f"{name}.toml").is_file():
        model = _model(name)
        lines = describe(model.entry, model.place.address)
        print(json.dumps(model.entry, ensure_ascii=False) if as_json else "\n".join(lines))
        return 0
    settings = recipes.explain(recipes.load(name))
    if as_json:
        print(json.dumps(settings, ensure_ascii=False))
        return 0
    tables = dict.fromkeys(each["table"] for each in settings)
    for table in tables:
        print(f"\n[{table}]" if table else "", end="\n" if table else "")
        for each in settings:
            if each["table"] == table:
                value = json.dumps(each["value"], ensure_ascii=False)
                text = f"# {each['setting']} is not set" if each["value"] is None else f"{each['setting']} = {value}"
                changed = each["value"] != each["default"] and each["default"] is not None
                default = f" (default {json.dumps(each['default'], ensure_ascii=False)})" if changed else ""
                print(f"{text:<36}  {each['meaning']}{default}".rstrip())
    return 0


def _model(name):
    """What `zoo.hub.find` finds, for a name that no recipe has.

    Raises:
        ValueError: there is neither a recipe nor a model of that name; the message has the nearest names of both.
    """
    try:
        return hub.find(name)
    except (ValueError, hub.HubError) as error:
        names = [path.stem for path in catalogue().glob("*.toml")] + [each["name"] for each in list_models()]
        near = nearest(name, names)
        if near and "@" not in name:
            hint = f"Did you mean {' or '.join(map(repr, near))}? `seqzoo list` shows all of them"
        else:
            hint = str(error).removeprefix(f"there is no model {name!r}: ")
        raise ValueError(
            f"There is neither a recipe nor a model {name!r}. {hint[0].upper()}{hint[1:].rstrip('.')}. A recipe of "
            "your own is named by the path of its .toml file."
        ) from error


def _task(entry):
    return " ".join([entry["task"], "-".join(entry["languages"])]).strip()


def _format_scores(scores):
    parts = (words.format(number(scores[key])) for key, (number, words) in FORMS.items() if key in scores)
    return ", ".join(parts) or "not measured"


def list_models():
    """A record of each model, in the order of the hubs: its entry, `run_bytes` and `hub`.

    `run_bytes` are those of the files that `seqzoo run` needs. Of a name that several hubs have, the first one's is
    taken; versions that were withdrawn are left out. A hub that cannot be read is left out, with a warning.
    """
    records = {}
    for place in places():
        try:
            entries = read_entries(place, is_offline())
        except HubError as error:
            log.warning("the models of a hub are left out: %s", error)
            continue
        for name in dict.fromkeys(each["name"] for each in entries if each["withdrawn"] is None):
            entry = choose(entries, name)
            more = {"run_bytes": sum(entry["bytes"][file] for file in run_files(entry)), "hub": place.address}
            records.setdefault(name, {key: entry[key] for key in FIRST} | entry | more)
    return list(records.values())


def describe_unplaced(records):
    """A sentence about the models of this package's own hub that cannot be had, because nobody says where it is."""
    names = [name for name in unlocated_models() if name not in {each["name"] for each in records}]
    if not names:
        return ""
    return (
        f"{len(names)} more models, of all tasks, such as {', '.join(names[-3:])}, are in seqzoo's own hub, whose "
        "address is not known here: set SEQZOO_HUB to its folder or address."
    )


def fits(record, task=None, language=None, licence=None, max_size=None):
    """Whether a recipe or a model is what is asked for. A recipe has no files and no licence of weights."""
    if task and task != record["task"]:
        return False
    if language and language.lower() not in [each.lower() for each in record["languages"]]:
        return False
    if licence and licence.lower() != record.get("licence", "").lower():
        return False
    return max_size is None or record.get("run_bytes", max_size + 1) <= max_size


def main_score(record):
    """The name of the score by which a model is sorted, or None where it has none."""
    return next((name for name in MAIN if isinstance(record["scores"].get(name), int | float)), None)


def sort_key(record, by):
    """A key for sorting: by "score" within each task, or by "speed" or "size", smallest first; unknown ones last."""
    if by == "score":
        main = main_score(record)
        if main is None:
            return record["task"], len(MAIN), 0.0
        value = float(record["scores"][main])
        return record["task"], MAIN.index(main), value if main in LOW else -value
    speed = record.get("speed")
    value = (speed and speed["milliseconds"]) if by == "speed" else record.get("run_bytes")
    return value is None, value or 0


def _table(records):
    """The rows of a table of models."""
    rows = [("NAME", "VERSION", "SYSTEM", "TASK", "SIZE", "LICENCE", "SCORES")]
    for each in records:
        task = " ".join([each["task"], "-".join(each["languages"]) if len(each["languages"]) < 4 else ""]).strip()
        others = (f"; {escape(name)}: {_format_scores(own)}" for name, own in each.get("elsewhere", {}).items())
        size, scores = f"{each['run_bytes'] / 1e6:,.1f} MB", _format_scores(each["scores"]) + "".join(others)
        rows.append((each["name"], str(each["version"]), each["system"], task, size, each["licence"], scores))
    return rows


def describe(entry, hub):
    """An entry as lines of text."""
    yield f"{entry['name']}, version {entry['version']}, of {hub}"
    for key, value in entry.items():
        if key in ("name", "version", "files", "bytes") or value in (None, "", [], {}):
            continue
        if key == "elsewhere":
            value = {f"{name}: {score}": item for name, own in value.items() for score, item in own.items()}
        if isinstance(value, dict):
            value = ", ".join(f"{name} {item}" for name, item in value.items())
        yield f"{key:<14}  {escape(', '.join(map(str, value)) if isinstance(value, list) else str(value))}"
    for name, count in sorted(entry["bytes"].items()):
        yield f"{'file':<14}  {name}, {count:,} bytes"
