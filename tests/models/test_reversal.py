"""The planted check: what is reversed is known, so the attention that a model should learn is known as well."""

import numpy as np
import pytest

from zoo.data import pad
from zoo.recipes import load, read
from zoo.runs import open_run, train, translate
from zoo.scores import score_by_length
from zoo.text.base import BOS, EOS

SMALLER = (
    *("training.steps=700", "training.validate_every=350", "training.learning_rate=5e-3"),
    *("model.units=64", "data.longest=14", "data.test_size=600"),
)


@pytest.fixture(scope="module", params=["additive", "none"])
def trained(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp("reversal") / request.param
    train(load(f"reversal-gru-{request.param}", SMALLER), directory)
    return request.param, open_run(directory)


def exact_match_by_length(run):
    sources, targets = read(run.recipe, "test")
    rows = score_by_length(sources, translate(run, list(sources), beams=1), targets)
    return [row["exact_match"] for row in rows]


@pytest.mark.slow
@pytest.mark.release  # it trains for minutes
def test_accuracy_falls_with_length_only_without_attention(trained):
    attention, run = trained
    accuracy = exact_match_by_length(run)
    assert len(accuracy) == 3  # 1-5, 6-10, 11-15 symbols
    if attention == "additive":
        assert min(accuracy) > 97
    else:
        assert accuracy[0] > 80 and accuracy[-1] < 60


@pytest.mark.slow
@pytest.mark.release  # it trains for minutes
def test_attention_is_anti_diagonal(trained):
    attention, run = trained
    model, (source_tokenizer, target_tokenizer) = run.model, run.tokenizers
    if attention == "none":
        assert "attention" not in model.start(model.encode(np.ones((1, 3)), np.array([3])), 1)[1]
        return
    sources, targets = read(run.recipe, "test")
    chosen = [index for index, text in enumerate(sources) if len(text.split()) == 11][:20]
    source_ids, lengths = pad([[*ids, EOS] for ids in source_tokenizer.encode([sources[i] for i in chosen])])
    written = target_tokenizer.encode([targets[i] for i in chosen])
    memory = model.encode(source_ids, lengths)
    (_, state), looked_at = model.start(memory, 1), []
    for token in np.array([[BOS, *ids[:-1]] for ids in written]).T:
        _, state = model.step(token[:, None].astype("int32"), state, memory)
        looked_at.append(np.asarray(state["attention"])[:, 0].argmax(axis=-1))
    expected = np.arange(10, -1, -1)
    assert (np.stack(looked_at, axis=1) == expected).mean() > 0.9
