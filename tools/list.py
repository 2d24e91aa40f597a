"""`seqzoo list`: the entries of the zoo and what they scored. Needs no Keras."""

import importlib.util
import json
import tomllib
from pathlib import Path

FORMS = {
    "bleu": "BLEU {:.1f}",
    "chrf": "chrF {:.1f}",
    "exact_match": "exact match {:.1f}",
    "accuracy": "accuracy {:.1f}",
    "nats_per_character": "{:.3f} nats/character",
}


def add_arguments(parser):
    parser.add_argument("--json", action="store_true", help="print one JSON array")


def entries(directory):
    """[{"name", "system", "task", "description", "scores"}] of a directory of recipes.

    `scores` is empty for an entry that nobody has measured; `seqzoo evaluate --record` fills it.
    """
    path = directory / "scores.json"
    measured = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    found = []
    for path in sorted(directory.glob("*.toml")):
        recipe = _settings(path)
        entry = {key: recipe[key] for key in ("name", "system", "task", "description")}
        found.append(entry | {"scores": measured.get(recipe["name"], {})})
    return found


def _settings(path):
    """What a recipe says, after what the one that it extends says."""
    own = tomllib.loads(path.read_text(encoding="utf-8"))
    return own if "extends" not in own else _settings(path.with_name(f"{own['extends']}.toml")) | own


def recipes_directory():
    """Where the recipes lie; looked up without importing zoo, which would import Keras."""
    (package,) = importlib.util.find_spec("zoo").submodule_search_locations
    return Path(package) / "recipes"


def main(args):
    """Print the entries."""
    found = entries(recipes_directory())
    if args.json:
        print(json.dumps(found, ensure_ascii=False))
        return 0
    rows = [("NAME", "SYSTEM", "TASK", "SCORES")]
    rows += [(each["name"], each["system"], each["task"], _brief(each["scores"])) for each in found]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())
    return 0


def _brief(scores):
    shown = (form.format(scores[key]) for key, form in FORMS.items() if key in scores)
    return ", ".join(shown) or "not measured"
