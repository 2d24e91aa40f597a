"""Wrong use is told before Keras is imported, because that takes seconds; and classes are registered all the same."""

import json
import subprocess
import sys

import pytest

from tests.house_rules import ROOT
from tests.recipes.small import recipe, write_corpus
from zoo import recipes

FRAMEWORKS = ("keras", "tensorflow", "jax", "torch", "tensorflow_text")
PROGRAM = """
import sys, time
start = time.perf_counter()
from zoo import recipes
try:
    {code}
except ValueError as error:
    message = str(error)
import json
print(json.dumps([message, time.perf_counter() - start, [name for name in {frameworks!r} if name in sys.modules]]))
"""


def elsewhere(code):
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A corpus, a recipe that reads it, and what looks like a run but is not finished."""
    directory = tmp_path_factory.mktemp("wrong")
    write_corpus(recipe("tagger"), directory / "data")
    (directory / "small.toml").write_text(recipes.dumps(recipe("tagger")))
    (directory / "recipe.toml").write_text(recipes.dumps(recipe("tagger")))
    (directory / "data" / "dev.tsv").rename(directory / "data" / "development.tsv")
    return directory


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("recipes.load('dates-gru')", "unknown recipe 'dates-gru'. Did you mean"),
        ("recipes.load('dates-gru-additive', ['unit=3'])", "unknown setting 'unit'. Did you mean 'units'"),
        ("recipes.load('dates-gru-additive', ['model.unit=3'])", "has no setting 'unit'. Did you mean 'units'"),
        ("recipes.load('dates-gru-additive', ['num_heads=3'])", "model = 'recurrent' has no setting 'num_heads'"),
        ("recipes.load('gutenberg-9-reformer', ['attention.rounds=0'])", "a whole number of at least 1; received 0"),
        ("recipes.load('gutenberg-9-product-key', ['depth=reversible'])", "query_norm = "),
        ("recipes.load('FOLDER/nothing.toml')", "there is no recipe"),
        ("recipes.train(recipes.load('FOLDER/small.toml'), 'FOLDER/run')", "name their directory, for example with"),
        ("recipes.train(recipes.load('FOLDER/small.toml'), 'FOLDER/run', 'FOLDER/none')", "there is no directory"),
        ("recipes.train(recipes.load('FOLDER/small.toml'), 'FOLDER/run', 'FOLDER/data')", "No valid split in"),
        ("recipes.train(recipes.load('FOLDER/small.toml'), 'FOLDER')", "holds a run already"),
        ("recipes.open_run('FOLDER/none')", "is not a finished run: it lacks recipe.toml"),
        ("recipes.open_run('FOLDER')", "it lacks model.keras"),
        ("recipes.check_data(recipes.check_run('FOLDER'), ('test',))", "it lacks model.keras"),
    ],
)
def test_it_is_told_within_a_second(folder, code, message):
    filled = PROGRAM.format(code=code.replace("FOLDER", str(folder)), frameworks=FRAMEWORKS)
    found, seconds, imported = json.loads(elsewhere(filled))
    assert message in found
    assert imported == [] and seconds < 5  # it takes 0.3 s on a quiet machine, and a framework more than the limit


@pytest.mark.parametrize(
    "before",
    [
        "import zoo, keras",
        "import keras, zoo",
        "from zoo import recipes; import keras",
        "from zoo.blocks import PreNorm",
        "from zoo.decoding import beam_search",
        "import zoo.models.seq2seq",
        "from zoo.tasks.parts import building",
        "import zoo; zoo.attention",
    ],
)
@pytest.mark.slow
def test_every_class_is_registered_whatever_is_imported_first(before):
    code = f"""
{before}
import json, sys
import keras
print(json.dumps(sorted(name for name in keras.saving.get_custom_objects() if name.startswith("zoo>"))))
"""
    found = json.loads(elsewhere(code))
    expected = {"Transformer", "LSHAttention", "StarStack", "ProductKeyMemory", "TokenEmbedding", "AttentionCell"}
    assert {f"zoo>{name}" for name in expected} <= set(found)
