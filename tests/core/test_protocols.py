"""What a layer says of itself is read in one place, with defaults for those that say nothing."""

import dataclasses

import keras
import numpy as np
import pytest

from zoo.attention import AdaptiveSpanAttention, AdditiveAttention, LSHAttention, MultiHeadAttention
from zoo.blocks import PostNorm, PreNorm
from zoo.core import protocols
from zoo.core.protocols import Attention, Depth, Loss, Positions, find_declaring
from zoo.depth import Stack, StarStack, UniversalStack, make_stack, make_star_stack
from zoo.embeddings import ConvolutionalPositions, LearnedPositions
from zoo.feedforward import ChunkedFeedForward, FeedForward, ProductKeyMemory
from zoo.models import Classifier, LanguageModel, Transformer
from zoo.training import ChunkedCrossEntropy, SpanSteps, make_steps

KINDS = [cls for cls in vars(protocols).values() if isinstance(cls, type) and issubclass(cls, protocols.Traits)]


class Silent(keras.layers.Layer):
    """An attention of somebody who has never heard of traits."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def call(self, query, value=None, *, query_mask=None, value_mask=None, causal=False, cache=None, training=None):
        return query


class Causal(Silent):
    traits = Attention(causal=True)


class Broken(Silent):
    @property
    def traits(self):
        return self.not_there


def stack(attention):
    return Stack([PreNorm(attention, FeedForward(8, 16))])


def test_silence_is_the_defaults():
    assert Attention.of(Silent(8)) == Attention() and Loss.of("mean_squared_error") == Loss() == Loss.of(None)
    assert not any([Attention().causal, Attention().steps, Attention().crosses]) and Attention().both_ways


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_flag_has_its_meaning_and_default(kind):
    documented = "".join(cls.__doc__ for cls in kind.__mro__[:-1])
    for field in dataclasses.fields(kind):
        assert f"{field.name}:" in documented or f"{field.name}, " in documented, f"{kind.__name__}.{field.name}"
        assert field.default is not dataclasses.MISSING


def test_a_layer_of_another_slot_is_refused():
    with pytest.raises(ValueError, match="FeedForward stands where a layer of the kind Attention is expected"):
        Attention.of(FeedForward(8, 16))


def test_an_error_in_a_property_is_no_silence():
    with pytest.raises(AttributeError, match="not_there"):
        Attention.of(Broken(8))


def test_a_block_can_what_its_attentions_can():
    span = AdaptiveSpanAttention(8, 2, max_span=4, ramp=3)
    found = Depth.of(Stack([PreNorm(MultiHeadAttention(8, 2), FeedForward(8, 16)), PreNorm(span, FeedForward(8, 16))]))
    assert found == Depth(causal=True, both_ways=False, steps=True)
    assert Depth.of(stack(LSHAttention(8, 2))) == Depth(causal=True, steps=True, approximate=True)
    assert Depth.of(stack(Causal(8))) == Depth(causal=True)
    remembering = PreNorm(MultiHeadAttention(8, 2), FeedForward(8, 16), AdditiveAttention(8))
    assert not protocols.Block.of(remembering).steps, "its cross-attention has none"
    universal = UniversalStack(PostNorm(MultiHeadAttention(8, 2), FeedForward(8, 16)), 2)
    assert Depth.of(universal) == Depth(causal=True, steps=True, places_itself=True)
    assert isinstance(make_star_stack(1, 8, 2), StarStack) and Depth.of(make_star_stack(1, 8, 2)).summarises


def test_settings_reach_traits():
    assert Positions.of(LearnedPositions(7)) == Positions(by_place=True, longest=7)
    assert not Positions.of(ConvolutionalPositions(3)).by_place
    memory = ProductKeyMemory(8, num_keys=3, num_heads=2, k=2, query_dim=4)
    assert protocols.FeedForward.of(ChunkedFeedForward(memory, 2)) == protocols.FeedForward(uses_mask=True)
    assert protocols.FeedForward.of(ChunkedFeedForward(FeedForward(8, 16), 2)).hidden_units == 16
    assert Loss.of(ChunkedCrossEntropy(2)) == Loss(of_outputs=True, of_states=True)


def test_layers_are_found_in_a_model():
    model = LanguageModel(11, make_stack(2, 8, 2, 16), LearnedPositions(9))
    assert [type(each).__name__ for each in find_declaring(model, Attention)] == ["MultiHeadAttention"] * 2
    assert [each.traits.longest for each in find_declaring(model, Positions)] == [9]


def test_models_refuse_what_does_not_fit():
    back = stack(AdaptiveSpanAttention(8, 2, max_span=4, ramp=3))
    with pytest.raises(ValueError, match="Classifier cannot have Stack.*looks back alone.*both_ways=True"):
        Classifier(11, 3, back)
    with pytest.raises(ValueError, match="Transformer cannot have Stack.*looks back alone"):
        Transformer(11, 11, back, make_stack(1, 8, 2, 16, cross=True))
    with pytest.raises(ValueError, match="LanguageModel cannot have Stack.*still to be written.*causal=True"):
        LanguageModel(11, stack(Silent(8)))
    with pytest.raises(ValueError, match="Transformer cannot have StarStack.*still to be written"):
        Transformer(11, 11, make_stack(1, 8, 2, 16), make_star_stack(1, 8, 2))
    with pytest.raises(ValueError, match="needs a cross_attention that attends over a memory.*LSHAttention"):
        PreNorm(MultiHeadAttention(8, 2), FeedForward(8, 16), LSHAttention(8, 2))


def test_without_steps_a_model_trains_and_does_not_write():
    model = LanguageModel(11, stack(Causal(8)))
    assert model({"token_ids": np.ones((1, 3), "int32")}).shape == (1, 3, 11)
    with pytest.raises(ValueError, match=r"cannot write one position after the other.*have no cache.*steps=True"):
        model.encode(np.ones((1, 3), "int32"), np.array([3]))
    decoder = Stack([PreNorm(Causal(8), FeedForward(8, 16), MultiHeadAttention(8, 2))])
    model = Transformer(11, 11, make_stack(1, 8, 2, 16), decoder)
    memory = model.encode(np.ones((1, 3), "int32"), np.array([3]))
    with pytest.raises(ValueError, match="cannot write one position after the other"):
        model.start(memory)


def test_every_kind_of_compiled_steps_has_the_protocol():
    model = stack(AdaptiveSpanAttention(8, 2, max_span=16, ramp=3))
    model.build((None, None, 8))
    rest = keras.optimizers.Adam(), keras.losses.MeanSquaredError()
    for make in (make_steps, SpanSteps):
        assert isinstance(make(model, *rest), protocols.CompiledSteps)
