"""One small artefact for all serving tests: an untrained model answers as repeatably as a trained one."""

import numpy as np
import pytest

TEXTS = ("the cat sat on the mat", "a mat", "on a cat")


def randomised(model, seed=1):
    """Weights far from zero, so that differences show."""
    random = np.random.default_rng(seed)
    for variable in model.trainable_variables:
        variable.assign(random.normal(0, 0.4, variable.shape))
    return model


@pytest.fixture(scope="session")
def tokenizers():
    from zoo.text import Tokenizer

    source = Tokenizer.train(["the cat sat on the mat", "a cat on a mat sat"], 40)
    target = Tokenizer.train(["le chat est sur le tapis", "un chat dort"], 40, model_type="char")
    return source, target


def make_model(tokenizers, **kwargs):
    from zoo.models import Seq2Seq

    model = Seq2Seq(*(tokenizer.vocab_size for tokenizer in tokenizers), units=7, **kwargs)
    model.build()
    return randomised(model)


@pytest.fixture(scope="session")
def model(tokenizers):
    return make_model(tokenizers, attention="additive")


@pytest.fixture(scope="session")
def settings():
    from serving.export import Settings

    return Settings("cats", "translation", beams=(3,), max_length=11, texts=TEXTS, recipe='name = "cats"\n')


@pytest.fixture(scope="session")
def artefact(model, tokenizers, settings, tmp_path_factory):
    from serving.export import export

    return export(model, tokenizers, tmp_path_factory.mktemp("artefacts"), settings)
