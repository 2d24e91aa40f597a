"""As a program on JAX: what docs/readiness.py measures of recipes, as a line of JSON."""

import importlib.util
import json
import sys
import tempfile
from pathlib import Path

from tests.house_rules import ROOT
from tests.recipes.small import write_corpus
from zoo import recipes

STOOD_FOR = ("trec", "babi", "tagged")  # corpora of which `write_corpus` makes a few lines


def page():
    spec = importlib.util.spec_from_file_location("readiness_page", ROOT / "docs" / "readiness.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(names):
    measure = page().measure
    for name in names:
        recipe = recipes.load(name)
        with tempfile.TemporaryDirectory() as folder:
            data = write_corpus(recipe, Path(folder)) if recipe.data.corpus in STOOD_FOR else None
            print(json.dumps({name: measure(recipe, data)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
