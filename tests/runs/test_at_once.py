"""Wrong use is told before Keras is imported, because that takes seconds; and classes are registered all the same."""

import json

import pytest

from tests.recipes.small import recipe, write_corpus
from tests.runs.at_once import check_told_at_once, elsewhere
from zoo import recipes

JAPANESE = "recipes.load('multi30k-de-en-gru-dot', ['data.target_language=ja'])"  # whose BLEU needs MeCab


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A corpus, a recipe that reads it, and what looks like a run but is not finished."""
    directory = tmp_path_factory.mktemp("wrong")
    write_corpus(recipe("tagger"), directory / "data")
    (directory / "small.toml").write_text(recipes.dumps(recipe("tagger")))
    (directory / "recipe.toml").write_text(recipes.dumps(recipe("tagger")))
    (directory / "data" / "valid.tsv").rename(directory / "data" / "development.tsv")
    return directory


@pytest.mark.release(but=7)
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("recipes.load('dates-gru')", "unknown recipe 'dates-gru'. Did you mean"),
        ("recipes.load('dates-gru-additive', ['unit=3'])", "unknown setting 'unit'. Did you mean model.units"),
        ("recipes.load('dates-gru-additive', ['model.unit=3'])", "has no setting 'unit'. Did you mean 'units'"),
        ("recipes.load('dates-gru-additive', ['model.num_heads=3'])", "model = 'recurrent' has no setting 'num_heads'"),
        ("recipes.load('gutenberg-9-reformer', ['attention.rounds=0'])", "a whole number of at least 1; received 0"),
        ("recipes.load('gutenberg-9-product-key', ['depth=reversible'])", "query_norm = "),
        ("recipes.load('FOLDER/nothing.toml')", "there is no recipe"),
        ("runs.train(recipes.load('FOLDER/small.toml'), 'FOLDER/run')", "name their directory, for example with"),
        ("runs.train(recipes.load('FOLDER/small.toml'), 'FOLDER/run', 'FOLDER/none')", "there is no directory"),
        ("runs.train(recipes.load('FOLDER/small.toml'), 'FOLDER/run', 'FOLDER/data')", "No valid split in"),
        ("runs.train(recipes.load('FOLDER/small.toml'), 'FOLDER')", "holds a run already"),
        (f"sys.modules['MeCab'] = None; runs.train({JAPANESE}, 'FOLDER/new', 'FOLDER/data')", "sacrebleu[ja]"),
        (f"sys.modules['MeCab'] = None; recipes.check_data({JAPANESE}, ('test',), 'FOLDER/data')", "sacrebleu[ja]"),
        ("runs.open_run('FOLDER/none')", "is not a finished run: there is no such folder"),
        ("runs.open_run('FOLDER')", "it lacks model.keras"),
        ("recipes.check_data(recipes.check_run('FOLDER'), ('test',))", "it lacks model.keras"),
    ],
)
def test_it_is_told_within_a_second(folder, code, message):
    check_told_at_once(code.replace("FOLDER", str(folder)), message)


@pytest.mark.release(but=1)
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
