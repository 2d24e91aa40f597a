"""What a layer in its slot may be used for: each check raises an AssertionError, or `NotApplicable` with the reason."""

import tempfile
from pathlib import Path

import numpy as np
from keras import tree

from zoo.attention import MultiHeadAttention
from zoo.blocks import PreNorm
from zoo.check import elsewhere, laws
from zoo.check.of_keras import hidden_names, hiding_attributes
from zoo.check.slots import HEADS, UNITS, VOCABULARY, causally
from zoo.check.steps import check_steps
from zoo.core.later import later
from zoo.depth import ReversibleStack, Stack
from zoo.feedforward import FeedForward
from zoo.models import LanguageModel, Transformer
from zoo.settings.occupants import arguments, find_method_problems

tf = later("tensorflow")

LONG = 67  # longer than the windows, chunks and tables at which a layer may begin to do something else


class NotApplicable(Exception):
    """The slot or the traits do not have the layer used so."""


def needs(traits, *names):
    """Whether a layer declares all of these traits."""
    without = [name for name in names if not vars(traits).get(name, False)]
    if without:
        raise NotApplicable(f"its traits do not say {', '.join(f'{name}=True' for name in without)}")


def check_arguments(subject):
    """Each argument of the constructor is an attribute of the same value, and in the config."""
    layer = subject.make()
    config = layer.get_config()
    for name in arguments(subject.cls):
        assert name in vars(layer) or name in dir(layer), f"the layer has no attribute {name!r}"
        assert name in config, f"get_config lacks {name!r}"
    for name, given in subject.settings.items():
        kept = vars(layer)[name] if name in vars(layer) else given
        alike = tree.lists_to_tuples(kept) == tree.lists_to_tuples(given)  # `--set` has lists alone
        assert alike, f"given was {name}={given!r}, and the attribute is {kept!r}"


OTHERS = {"units": 12, "num_heads": 3, "dropout": 0.25, "seed": 5, "hidden_units": 12, "activation": "gelu"}


def check_settings(subject):
    """Each setting, given another value, is kept: by the attribute, in the config, and by a copy."""
    before = subject.make()
    for name, parameter in arguments(subject.cls).items():
        for value in _other_values(name, subject.settings.get(name, parameter.default)):
            try:
                layer = subject.make(**{name: value})
            except Exception:  # noqa: BLE001, S112  a value that the layer does not take
                continue
            kept, was = layer.get_config().get(name), before.get_config().get(name)
            assert kept != was, f"made with {name}={value!r}, its get_config still says {name}={kept!r}"
            copy = type(layer).from_config(layer.get_config())
            assert vars(copy).get(name, kept) == vars(layer).get(name, kept), (
                f"a copy of a layer with {name}={value!r} has {name}={vars(copy).get(name)!r}"
            )
            break


def _other_values(name, default):
    """Values that a setting may have beside its default, the likeliest first."""
    if name in OTHERS:
        return [OTHERS[name]]
    if isinstance(default, bool):
        return [not default]
    if isinstance(default, int):
        return [default + 1, default + 2, 2 * default, default - 1]
    if isinstance(default, float):
        return [default / 2 + 0.1, default / 2, 2 * default, default + 1.0]
    return {"relu": ["gelu"], "gelu": ["relu"]}.get(default, []) if isinstance(default, str) else []


def check_long(subject, built):
    """In texts longer than any window padding changes no valid position, and if causal no later one an earlier one."""
    traits = vars(subject.traits())
    time = min(LONG, traits.get("longest") or LONG)
    rows = tuple((seed, max(1, time * share // 8)) for seed, share in ((71, 8), (72, 5), (73, 2)))
    for each in built:
        first, other = each.run(rows, time), each.run(rows, time, noise=6)
        for index, (_, length) in enumerate(rows):
            for one, two in zip(laws.valid(other, index, length), laws.valid(first, index, length), strict=True):
                told = f"in a text of {time} positions padding changes a valid position"
                assert not np.any(laws.changed(one, two, -1)), told
        if each.case.name == "causal" and not traits.get("approximate"):  # what hashing finds depends on all positions
            _check_long_causal(subject, each, rows, time)


def _check_long_causal(subject, built, rows, time):
    name = "query" if subject.slot == "attention" else "x"
    x, run = built.case.arguments(rows, time, 0)[name], lambda x: np.asarray(causally(built.layer, {name: x}))
    before = run(x)
    for place in sorted({*range(1, time, 11), 16, 17, 32, 33, 64} & set(range(1, time))):
        after = run(np.concatenate([x[:, :place], -x[:, place:] + 1.0], axis=1))
        earlier = laws.changed(after[:, :place], before[:, :place], (0, 2))
        assert not np.any(earlier), f"position {int(np.argmax(earlier))} of {time} sees position {place} or a later one"


def check_protocol(subject):
    """`call` takes what the slot gives it, and the methods that the traits promise are there."""
    wrong = find_method_problems(subject.slot, subject.make(), subject.traits())
    assert not wrong, "; ".join(wrong)


def check_names(subject):
    """What Keras has is not hidden by something else of that name."""
    hidden = {**hidden_names(subject.cls), **dict.fromkeys(hiding_attributes(subject.make()), subject.cls)}
    told = ", ".join(f"{cls.__name__}.{name}" for name, cls in hidden.items())
    assert not hidden, f"Keras' own are hidden by {told}: give them other names"


def check_causal(subject):
    """Position j sees positions up to j alone, by gradients."""
    needs(subject.traits(), "causal")
    layer = subject.make()
    inputs = laws.sequences(((41, 5), (42, 5)), 5, UNITS)
    laws.check_causal(lambda x: causally(layer, {("query" if subject.slot == "attention" else "x"): x}), inputs)


def blocks(subject, cross=None, **others):
    """Two blocks with the layer in its slot, without dropout; the zoo's own where it stands in none of a block."""
    others = {**others, **({"dropout": 0.0} if "dropout" in arguments(subject.cls) else {})}

    def make_block():
        parts = {"attention": MultiHeadAttention(UNITS, HEADS), "feedforward": FeedForward(UNITS, 8)}
        if subject.slot == "block":
            own = {"cross_attention": cross()} if cross and "cross_attention" in arguments(subject.cls) else {}
            return subject.make(**own, **others)
        if subject.slot in parts:
            parts[subject.slot] = subject.make(**others)
        return PreNorm(**parts, cross_attention=cross() if cross else None)

    return [make_block() for _ in range(2)]


def stack(subject, cross=None):
    if subject.slot != "depth":
        return Stack(blocks(subject, cross))
    return subject.make(blocks=blocks(subject, cross)) if cross else subject.make()


def positions(subject):
    """As a model takes them: the layer, or None for the model's own."""
    return subject.make() if subject.slot == "positions" else None


def randomised(model):
    """Built, if it is a model, and with random weights."""
    if not model.built:
        model.build()
    generator = np.random.default_rng(7)
    for weight in model.trainable_weights:
        weight.assign(generator.normal(0.0, 0.3, weight.shape))
    return model


PARENTS = np.array([[[1, 0, 0], [0, 0, 1]], [[0, 1, 1], [1, 1, 0]]])
PROMPTS, LENGTHS = laws.token_ids(((51, 4), (52, 2)), 4, VOCABULARY), np.array([4, 2], "int32")
FOLLOWING = laws.token_ids(((53, 6), (54, 6)), 6, VOCABULARY).reshape(2, 2, 3)


def _can_write(subject):
    """Whether a model that writes may hold the layer; the feed-forward slot asks for nothing."""
    traits = subject.traits()
    if subject.slot == "embedding":
        raise NotApplicable("a model that writes has an embedding of its own, whose matrix is its output's, too")
    needs(traits, *{"feedforward": (), "positions": ("by_place",)}.get(subject.slot, ("causal", "steps")))
    if vars(traits).get("approximate"):
        raise NotApplicable("its traits say that a pass approximates the steps")


def check_generation(subject):
    """A language model writes with growing and with static caches, and its beams change parents: all is the full pass.

    Prompts are of different lengths.
    """
    _can_write(subject)
    model = randomised(LanguageModel(VOCABULARY, stack(subject), positions(subject), dropout=0.0))
    longest = model.longest_text
    steps = 4 if longest is None else min(4, longest - model.longest_prompt)  # what fits behind a prompt
    for most in (None, steps):
        check_steps(model, PROMPTS, LENGTHS, FOLLOWING[:, :, : steps - 1], PARENTS, most)


def check_memory_steps(subject):
    """In a translator, a decoder that writes step by step computes what its full pass does over an encoder's outputs.

    An attention layer is the one over those outputs; a layer of another slot stands beside the zoo's own.
    """
    if subject.slot == "attention":
        needs(subject.traits(), "crosses", "steps")
        others = {"dropout": 0.0} if "dropout" in arguments(subject.cls) else {}
        parts = lambda: (MultiHeadAttention(UNITS, HEADS), FeedForward(UNITS, 8), subject.make(**others))  # noqa: E731
        decoder = Stack([PreNorm(*parts()) for _ in range(2)])
    else:
        _can_write(subject)
        needed = {"block": "cross_attention", "depth": "blocks"}.get(subject.slot)
        if needed and needed not in arguments(subject.cls):
            raise NotApplicable(f"its constructor takes no {needed} that could look at a memory")
        decoder = stack(subject, lambda: MultiHeadAttention(UNITS, HEADS))
    encoder = Stack([PreNorm(MultiHeadAttention(UNITS, HEADS), FeedForward(UNITS, 8))])
    sizes = VOCABULARY, VOCABULARY
    model = randomised(Transformer(*sizes, encoder, decoder, dropout=0.0, positions=positions(subject)))
    check_steps(model, PROMPTS, LENGTHS, FOLLOWING, PARENTS)


def check_reversible(subject):
    """In a reversible stack the gradients are those of the stack that keeps all its activations."""
    if subject.slot in ("positions", "embedding", "depth"):
        raise NotApplicable("it stands in no branch of a block")
    causal = subject.slot != "feedforward" and not subject.traits().both_ways
    x, both = laws.sequences(((61, 4), (62, 4)), 4, UNITS), []
    plain = ReversibleStack(blocks(subject), "plain")
    plain(x, causal=causal)
    randomised(plain)
    for activations in ("plain", "reversible"):
        twin = ReversibleStack(blocks(subject), activations)
        twin(x, causal=causal)
        twin.set_weights(plain.get_weights())
        with tf.GradientTape() as tape:
            outputs = twin(x, causal=causal, training=True)
            loss = tf.reduce_sum(outputs * laws.sequences(((63, 4), (64, 4)), 4, UNITS)) + sum(twin.losses)
        gradients = tape.gradient(loss, [weight.value for weight in twin.trainable_weights])
        both.append([np.asarray(tf.convert_to_tensor(each)) for each in (outputs, *gradients) if each is not None])
    laws.assert_close(both[1], both[0], 1e-4, 1e-3)


def check_elsewhere(subject, built, backend):
    """A file of it loads in a fresh process of this backend, and answers alike."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for each in built:
            elsewhere.pack(each, folder)
        elsewhere.run_elsewhere(folder, backend, modules=(subject.cls.__module__,))
        for each in built:
            elsewhere.check(each, folder, backend)
