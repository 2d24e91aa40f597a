"""The models as cases of the contract battery."""

from keras import ops

from tests.attention.cases import ATTENTIONS
from tests.recurrent.cases import CELLS
from zoo.attention import AdaptiveSpanAttention, MultiLinearAttention
from zoo.blocks import Macaron, PreNorm
from zoo.check.laws import Case, lengths, token_ids
from zoo.depth import (
    ConfidenceExit,
    FixedExit,
    GeometricExit,
    Halting,
    MultinomialExit,
    ReversibleStack,
    Stack,
    make_depth_adaptive_stack,
    make_reformer_stack,
    make_stack,
    make_star_stack,
    make_universal_stack,
)
from zoo.embeddings import (
    AxialPositions,
    ConcatenatedPositions,
    ConvolutionalPositions,
    LearnedPositions,
    SentenceEmbedding,
    TokenEmbedding,
)
from zoo.feedforward import FeedForward, ProductKeyMemory
from zoo.models import (
    Classifier,
    DepthAdaptiveTransformer,
    Encoder,
    Ensemble,
    LanguageModel,
    PairClassifier,
    Seq2Seq,
    Tagger,
    Transformer,
)
from zoo.recurrent import RecurrentEncoder, RecurrentReader, SelfAttentiveEncoder

SOURCES, TARGETS = 11, 13  # vocabularies


def batch(rows, time, noise):
    return {
        "source_ids": token_ids(rows, time, SOURCES, noise, stream=0),
        "source_lengths": lengths(rows),
        "target_ids": token_ids(rows, time + 2, TARGETS, noise, stream=1),
    }


def seq2seq(cell, attention, num_layers=1, core=False):
    return Case(
        f"seq2seq-{cell}-{num_layers}-{attention}",
        lambda: Seq2Seq(SOURCES, TARGETS, 5, cell, attention, num_layers),
        batch,
        called,
        core=core,
    )


def self_attentive():
    encoder = SelfAttentiveEncoder(RecurrentEncoder(3, "lstm"), ATTENTIONS["dot"](7))
    return Seq2Seq(SOURCES, TARGETS, units=5, cell="gru", encoder=encoder)


def called(model, inputs):
    return model(inputs)


def stack(block, num_layers=2, cross=False, units=6):
    return make_stack(num_layers, units, 2, 8, block, cross=cross)


def ensemble():
    sizes = {"attention": "dot"}, {"cell": "lstm"}
    return Ensemble([Seq2Seq(SOURCES, TARGETS, 5, **each) for each in sizes])


def shared_batch(rows, time, noise):
    inputs = batch(rows, time, noise)
    return {**inputs, "target_ids": inputs["target_ids"] % SOURCES}


def text(rows, time, noise):
    return {"token_ids": token_ids(rows, time, TARGETS, noise), "lengths": lengths(rows)}


def causal_text(rows, time, noise):
    return {"token_ids": token_ids(rows, time, TARGETS, noise)}


def transformer(block, num_layers=1, core=False):
    def make():
        return Transformer(SOURCES, TARGETS, stack(block, 1), stack(block, num_layers, cross=True))

    return Case(f"transformer-{block}", make, batch, called, core=core)


def shared_transformer():
    encoder, decoder = stack("post_norm", 1), stack("pre_norm", 1, cross=True)
    return Transformer(SOURCES, SOURCES, encoder, decoder, shared=True)


def language_model(name, block="pre_norm", positions=lambda: None, core=False):
    def make():
        return LanguageModel(TARGETS, stack(block, 1), positions())

    return Case(f"language-model-{name}", make, causal_text, called, core=core)


def reformer_stack(num_layers=1, **settings):
    return make_reformer_stack(num_layers, 6, 2, 8, chunks=2, **settings)


# Nothing marks the padding behind a target or a text; it would move the limits of several chunks.
ONE_CHUNK = {"num_buckets": 4, "chunk_length": 16}


def reformer():
    encoder = reformer_stack(hashing={"num_buckets": 4, "chunk_length": 2}, seed=1)
    return Transformer(SOURCES, TARGETS, encoder, reformer_stack(hashing=ONE_CHUNK, cross=True))


def reformer_language_model():
    return LanguageModel(TARGETS, reformer_stack(2, hashing=ONE_CHUNK), AxialPositions((4, 4)))


def star_tagger():
    return Tagger(TARGETS, 5, make_star_stack(2, 6, 2, summary=False), ConcatenatedPositions(11, 3))


def texts(rows, time, noise):
    """Two of as many tokens, the second with more padding."""
    first, second = text(rows, time, noise), token_ids(rows, time + 2, TARGETS, noise, stream=1)
    sides = {"second_ids": second, "second_lengths": first["lengths"]}
    return {"first_ids": first["token_ids"], "first_lengths": first["lengths"], **sides}


def reader_of_sentences():
    embedding = SentenceEmbedding(TARGETS, 6, longest=2)
    embedding.mark([0, 1] + (TARGETS - 3) * [0] + [1])
    return Classifier(TARGETS, 3, stack("pre_norm", 1), embedding=embedding)


def recurrent(make, encoder):
    return make(TARGETS, 5, RecurrentReader(encoder), embedding=TokenEmbedding(TARGETS, 3))


def self_attentive_reader():
    return SelfAttentiveEncoder(RecurrentEncoder(4, "gru"), ATTENTIONS["dot"](5))


def universal_stack(cross=False, rule="accumulated"):
    return make_universal_stack(3, 6, 2, 8, halting=rule and Halting(rule), cross=cross)


def universal_transformer():
    return Transformer(SOURCES, TARGETS, universal_stack(), universal_stack(cross=True))


def depth_adaptive(rule, tied=True, paths=0):
    decoder = make_depth_adaptive_stack(3, 6, 2, 8, rule(3), paths=paths, seed=1)
    return DepthAdaptiveTransformer(SOURCES, TARGETS, stack("pre_norm", 1), decoder, tied=tied)


def all_depths(model, inputs):
    """What training sees, time first."""
    outputs = model(inputs, training=True)
    return {**outputs, "logits": ops.transpose(outputs["logits"], (0, 2, 1, 3))}


def without_dropout():
    decoder = make_depth_adaptive_stack(3, 6, 2, 8, GeometricExit(3), dropout=0.0)
    encoder = make_stack(1, 6, 2, 8, dropout=0.0)
    return DepthAdaptiveTransformer(SOURCES, TARGETS, encoder, decoder, dropout=0.0, tied=False)


CORE = {("gru", "additive"), ("lstm", "dot"), ("gru_reset_before", None)}
CASES = [
    *(seq2seq(cell, attention, core=(cell, attention) in CORE) for cell in CELLS for attention in (None, *ATTENTIONS)),
    seq2seq("lstm", "additive", num_layers=2),
    seq2seq("gru", None, num_layers=2),
    Case(
        "seq2seq-self-attentive",
        self_attentive,
        batch,
        called,
        core=True,
    ),
    transformer("pre_norm", 2, core=True),
    transformer("post_norm"),
    transformer("macaron"),
    Case("transformer-shared", shared_transformer, shared_batch, called),
    language_model("sinusoidal", core=True),
    language_model("learned", "macaron", lambda: LearnedPositions(11)),
    # In 16 bits a query next to the border of two buckets falls into the other one, and meets other keys.
    Case("reformer", reformer, batch, called, without=("bfloat16",)),
    Case("reformer-language-model", reformer_language_model, causal_text, called),
    Case("classifier", lambda: Classifier(TARGETS, 3, stack("pre_norm", 1)), text, called, core=True),
    # In 16 bits a position may halt a step earlier or later, and so be another one.
    Case("universal-transformer", universal_transformer, batch, called, without=("bfloat16",)),
    Case("universal-language-model", lambda: LanguageModel(TARGETS, universal_stack(rule=None)), causal_text, called),
    # In 16 bits a token may leave a block earlier or later. Who leaves where has no gradient.
    Case(
        "depth-adaptive",
        lambda: depth_adaptive(MultinomialExit, tied=False),
        batch,
        called,
        without=("bfloat16", "gradients"),
    ),
    Case(
        "depth-adaptive-confidence",
        lambda: depth_adaptive(lambda depths: ConfidenceExit(depths, 0.3)),
        batch,
        called,
        without=("bfloat16", "gradients"),
    ),
    Case("depth-adaptive-fixed", lambda: depth_adaptive(FixedExit, paths=2), batch, called, without=("gradients",)),
    Case("depth-adaptive-training", without_dropout, batch, all_depths, without=("symbolic", "elsewhere")),
    Case(
        "star-classifier", lambda: Classifier(TARGETS, 3, make_star_stack(2, 6, 2)), text, called, without=("bfloat16",)
    ),
    Case("star-tagger", star_tagger, text, called, without=("bfloat16",)),
    Case(
        "recurrent-classifier",
        lambda: recurrent(Classifier, RecurrentEncoder(4, "lstm", 2)),
        text,
        called,
        core=True,
    ),
    Case("recurrent-tagger", lambda: recurrent(Tagger, self_attentive_reader()), text, called),
    Case(
        "recurrent-pair-classifier",
        lambda: recurrent(PairClassifier, RecurrentEncoder(4, "simple_rnn", bidirectional=False)),
        texts,
        called,
    ),
    Case("ensemble", ensemble, batch, called),
    Case("sentence-classifier", reader_of_sentences, text, called),
    Case("pair-classifier", lambda: PairClassifier(TARGETS, 3, stack("pre_norm", 1)), texts, called),
    Case("encoder", lambda: Encoder(TARGETS, stack("post_norm", 1), normalize=True), text, called),
    Case("tagger", lambda: Tagger(TARGETS, 5, stack("post_norm", 1), ConvolutionalPositions(3)), text, called),
]


def mixed_language_model(blocks, stack=Stack, positions=None):
    return LanguageModel(TARGETS, stack(blocks), positions)


def remembering_the_near():
    """Spans and a memory of slots, in one block of the plain kind and one that is a Macaron."""
    attentions = [AdaptiveSpanAttention(6, 2, max_span=8, ramp=3, window=window) for window in (4, None)]
    memory = ProductKeyMemory(6, num_keys=2, num_heads=2, k=4, query_dim=4)
    macaron = Macaron(FeedForward(6, 8), attentions[1], FeedForward(6, 8))
    return mixed_language_model([PreNorm(attentions[0], memory), macaron])


def reversible_memory():
    memory = ProductKeyMemory(6, 2, 2, 4, 4, query_norm="layer")
    attention = AdaptiveSpanAttention(6, 2, max_span=8, ramp=3, penalty=0.0)
    return mixed_language_model([PreNorm(attention, memory)], ReversibleStack)


def tensorized():
    attention = MultiLinearAttention(6, 5, max_time=11)
    return mixed_language_model([PreNorm(attention, FeedForward(6, 8))], positions=LearnedPositions(11))


CASES += [
    Case("language-model-span-memory", remembering_the_near, causal_text, called),
    Case("language-model-reversible-memory", reversible_memory, causal_text, called),
    Case("language-model-tensorized", tensorized, causal_text, called),
]
