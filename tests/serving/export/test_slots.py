"""Whatever a model has in its slots, and whatever cells and encoders it has, it is exported and checked alike."""

import numpy as np
import pytest
import tensorflow as tf

from serving.export import export
from serving.runtime.artefact import read_manifest
from tests.models.test_entrance import SIZES, Normed, NormedLearned
from tests.recurrent.cases import CELLS
from tests.runs.test_recurrent import ENCODERS, recipe
from tests.serving.conftest import LABELS, randomised, settings_of, sides
from tests.shared import mostly_at_releases
from zoo.attention import SSRU, AdaptiveSpanAttention, MultiHeadAttention, MultiLinearAttention, RelativeAttention
from zoo.blocks import PostNorm, PreNorm
from zoo.depth import (
    Halting,
    ReversibleStack,
    Stack,
    UniversalStack,
    make_reformer_stack,
    make_stack,
    make_star_stack,
    make_universal_stack,
)
from zoo.embeddings import (
    AxialPositions,
    ConcatenatedPositions,
    LearnedPositions,
    NoPositions,
    NormalizedPositions,
    TokenEmbedding,
)
from zoo.feedforward import FeedForward, GatedFeedForward, ProductKeyMemory
from zoo.models import Classifier, LanguageModel, Pooling, Tagger, Transformer
from zoo.tasks.parts.building import build_model


def spans(source, target):
    attention = AdaptiveSpanAttention(16, 2, max_span=64, ramp=4)
    return LanguageModel(source, Stack([PreNorm(attention, ProductKeyMemory(16, 8, 2, 4, 8))]))


def tensors(source, target, longest=48):
    block = PreNorm(MultiLinearAttention(16, 8, max_time=longest), FeedForward(16, 32))
    return LanguageModel(source, Stack([block]), LearnedPositions(longest))


def recurrences(source, target):
    attentions = SSRU(16), MultiHeadAttention(16, 2)
    return LanguageModel(source, Stack([PreNorm(each, FeedForward(16, 32)) for each in attentions]))


def hashed(cross=False):
    hashing = {"num_buckets": 4, "chunk_length": 4}
    return make_reformer_stack(1, 16, 2, 32, hashing=hashing, chunks=2, cross=cross, seed=1)


def reformer_writer(source, target):
    return LanguageModel(source, hashed(), AxialPositions((7, 2)))


def reformer(source, target):
    return Transformer(source, target, hashed(), hashed(cross=True))


def universal(source, target):
    return Transformer(source, target, *(make_universal_stack(3, 16, 2, 32, Halting(), cross=x) for x in (False, True)))


def macaron(source, target):
    return Transformer(source, target, *(make_stack(2, 16, 2, 32, "macaron", cross=x) for x in (False, True)))


def star_classifier(source, target):
    return Classifier(source, len(LABELS), make_star_stack(2, 16, 2))


def star_tagger(source, target):
    return Tagger(source, len(LABELS), make_star_stack(2, 16, 2, summary=False), ConcatenatedPositions(64, 4))


def t5(source, target):
    """Relative biases, gates, RMS norms, no biases, and an output matrix of its own."""

    def stack(cross=False):
        memory = MultiHeadAttention(16, 2, use_bias=False, head_units=24) if cross else None
        attention = RelativeAttention(16, 2, num_buckets=8, max_distance=12, head_units=24)
        return Stack([PreNorm(attention, GatedFeedForward(16, 32, "gelu_tanh"), memory, norm="rms", epsilon=1e-6)])

    ends = TokenEmbedding(source, 16, scaled=False), TokenEmbedding(target, 16, scaled=False, tied=False)
    return Transformer(*ends, stack(), stack(cross=True), positions=NoPositions())


def albert(source, target):
    """One block, three times, without positions of its own; a narrow embedding; the first token with a dense layer."""
    block = PostNorm(MultiHeadAttention(16, 2), FeedForward(16, 32, "gelu_tanh"), epsilon=1e-12)
    positions = NormalizedPositions(LearnedPositions(512), 1e-12, units=16)
    reading = {"embedding": TokenEmbedding(source, 8, scaled=False), "pooling": Pooling("first", "tanh")}
    return Classifier(source, len(LABELS), UniversalStack(block, 3, places=False), positions, **reading)


def both_streams(source, target):
    """Of a Reformer of others: a norm over both streams, and an output of their width with a bias."""
    blocks = [PreNorm(MultiHeadAttention(16, 2), FeedForward(16, 32)) for _ in range(2)]
    embedding = TokenEmbedding(source, 16, scaled=False, tied=False, output_bias=True, output_units=32)
    return LanguageModel(source, ReversibleStack(blocks, joined="both"), LearnedPositions(48), embedding=embedding)


MODELS = {
    "continue": (tensors, recurrences, spans, reformer_writer, both_streams),
    "generate": (reformer, universal, macaron, t5),
    "classify": (star_classifier, albert),
    "tag": (star_tagger,),
}


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize(("kind", "make"), [(kind, make) for kind, makers in MODELS.items() for make in makers])
def test_an_artefact_has_parity(kind, make, tokenizers, tmp_path):
    model = randomised(make(*(tokenizer.vocab_size for tokenizer in tokenizers)))
    if make is spans:
        model.decoder.blocks[0].attention.fractions.assign([0.0, 0.1])
    artefact = export(model, sides(kind, tokenizers), tmp_path, settings_of(kind))
    if make is spans:
        assert model.decoder.blocks[0].attention.window == 10, "trimmed to what the widest head sees"
    parity = read_manifest(artefact)["parity"]
    assert parity["passed"] and parity["max_abs_diff"] <= 1e-4


@pytest.mark.release
def test_texts_are_scored_up_to_the_positions_of_a_model_and_longer_ones_are_refused(tokenizers, tmp_path):
    model = randomised(tensors(tokenizers[0].vocab_size, None, 10))  # fewer than the parity check would like to ask for
    artefact = export(model, sides("continue", tokenizers), tmp_path, settings_of("continue", max_length=5))
    assert read_manifest(artefact)["parity"]["passed"]
    score = tf.saved_model.load(str(artefact)).signatures["score"]
    ids = tf.fill((2, 10), 5)
    assert np.isfinite(score(token_ids=ids[:, :9], lengths=tf.constant([9, 3]))["log_probs"]).all()
    with pytest.raises(tf.errors.InvalidArgumentError, match="too many columns: at most 9 tokens are read"):
        score(token_ids=ids, lengths=tf.constant([10, 3]))


KINDS = {"translate": "generate", "classify": "classify", "compare": "compare", "tag": "tag"}
READERS = ("classify", "tag", "compare")
TEXTS = {"compare": ("the cat sat\ton the mat", "a mat\ta", "\ton a cat on a mat sat")}
# Each cell translates and reads; tests/runs/test_recurrent.py builds every mix.
MIXES = [("translate", cell, ENCODERS[(1 + number) % 3]) for number, cell in enumerate(CELLS)]
MIXES += [(READERS[number % 3], cell, ENCODERS[number % 3]) for number, cell in enumerate(CELLS)]


def check(one, tokenizers, path):
    tokenizers = tokenizers[: len(one.job.sides)]
    sizes = [tokenizer.vocab_size for tokenizer in tokenizers] + ([len(LABELS)] if one.job.labelled else [])
    given = {"texts": TEXTS[one.task]} if one.task in TEXTS else {}
    settings = settings_of(KINDS[one.task], int8=False, **given)
    parity = read_manifest(export(randomised(build_model(one.job, one, *sizes)), tokenizers, path, settings))["parity"]
    assert parity["passed"] and parity["max_abs_diff"] <= 1e-4
    return parity


@pytest.mark.release
@pytest.mark.parametrize(("task", "cell", "encoder"), mostly_at_releases(MIXES, 2))
def test_a_recurrent_artefact_has_parity(task, cell, encoder, tokenizers, tmp_path):
    one = recipe(task, cell, encoder, num_layers=2)
    largest = check(one, tokenizers, tmp_path)["largest"]
    assert any(name.startswith("ONNX") for name in largest) and any(name.startswith("SavedModel") for name in largest)


@pytest.mark.release
def test_a_decoder_without_attention(tokenizers, tmp_path):
    check(recipe("translate", "lstm", "unidirectional", attention="none"), tokenizers, tmp_path)


@pytest.mark.release
@pytest.mark.parametrize("kind", ["continue", "generate"])
def test_positions_with_a_norm_behind_them_are_exported(kind, tokenizers, tmp_path):
    sizes = [each.vocab_size for each in sides(kind, tokenizers)]
    if kind == "continue":
        model = LanguageModel(*sizes, make_stack(2, **SIZES), NormedLearned(24))
    else:
        stacks = make_stack(1, **SIZES), make_stack(1, **SIZES, cross=True)
        model = Transformer(*sizes, *stacks, positions=Normed())
    artefact = export(randomised(model), sides(kind, tokenizers), tmp_path, settings_of(kind))
    assert sorted(artefact.glob("*.onnx"))
