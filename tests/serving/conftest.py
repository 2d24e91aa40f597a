"""One small artefact of each kind: an untrained model answers as repeatably as a trained one."""

import pytest

from tests import weights
from tests.shared import made_once

TEXTS = ("the cat sat on the mat", "a mat", "on a cat")
LABELS = ("chat", "tapis", "über")
MAX_LENGTH = 7


def randomised(model, seed=1):
    return weights.randomised(model, seed, 0.4)


@pytest.fixture(scope="session")
def tokenizers():
    from zoo.text import Tokenizer

    source = Tokenizer.train(["the cat sat on the mat", "a cat on a mat sat"], 40)
    target = Tokenizer.train(["le chat est sur le tapis", "un chat dort"], 40, model_type="char")
    return source, target


def make_seq2seq(tokenizers, **kwargs):
    from zoo.models import Seq2Seq

    return randomised(Seq2Seq(*(tokenizer.vocab_size for tokenizer in tokenizers), units=7, **kwargs))


def make_model(kind, tokenizers, num_layers=1, block="pre_norm"):
    """A Transformer of a kind, wide enough (16) for int8."""
    from zoo import models
    from zoo.depth import make_stack
    from zoo.embeddings import ConvolutionalPositions, LearnedPositions

    source, target = (tokenizer.vocab_size for tokenizer in tokenizers)
    size = {"num_layers": num_layers, "units": 16, "num_heads": 2, "hidden_units": 32, "block": block}
    if kind == "generate":
        return randomised(models.Transformer(source, target, make_stack(**size), make_stack(**size, cross=True)))
    if kind == "continue":
        positions = LearnedPositions(2 * MAX_LENGTH)  # the parity grid has longer prompts than it reads
        return randomised(models.LanguageModel(source, make_stack(**size), positions))
    if kind == "classify":
        return randomised(models.Classifier(source, len(LABELS), make_stack(**size)))
    return randomised(models.Tagger(source, len(LABELS), make_stack(**size), ConvolutionalPositions(3)))


def sides(kind, tokenizers):
    return tokenizers if kind == "generate" else tokenizers[:1]


def settings_of(kind, **kwargs):
    from serving.export import Settings

    recipe, beams = f'name = "{kind}"\n', (1,) if kind == "continue" else (3,)
    return Settings(
        kind,
        "test",
        **({"beams": beams, "max_length": MAX_LENGTH, "labels": LABELS, "texts": TEXTS, "recipe": recipe} | kwargs),
    )


def exported_once(tmp_path_factory, name, make):
    """The path of the artefact that `make(folder)` exports there, by whichever worker asks first."""
    (manifest,) = made_once(tmp_path_factory, name, make).glob("*/*/manifest.json")
    return manifest.parent


@pytest.fixture(scope="session")
def models(tokenizers):
    return {kind: make_model(kind, tokenizers) for kind in ("generate", "continue", "classify", "tag")}


@pytest.fixture(scope="session")
def artefacts(models, tokenizers, tmp_path_factory):
    """The path of the artefact of a kind, exported when it is first asked for, by whichever worker that is."""
    from serving.export import export

    def artefact(kind):
        def make(folder):
            export(models[kind], sides(kind, tokenizers), folder, settings_of(kind))

        return exported_once(tmp_path_factory, f"artefact-{kind}", make)

    return artefact
