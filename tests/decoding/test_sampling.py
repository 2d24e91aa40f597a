"""Greedy decoding is the argmax of every step; sampling, from a filtered distribution, has one source of randomness."""

import numpy as np
import pytest
from keras import ops

from tests.decoding.table import EOS, Table, assert_same, log_prob, rows_of
from zoo.decoding import greedy, sample, uniforms

LONG = Table(vocabulary=5, max_length=5)
WIDE = Table(vocabulary=13, max_length=1)
FILTERS = [
    {},
    {"temperature": 0.5},
    {"temperature": 3.0},
    {"top_k": 1},
    {"top_k": 5},
    {"top_k": 100},
    {"top_p": 0.6},
    {"top_p": 0.95},
    {"top_p": 1e-6},
    {"top_k": 4, "top_p": 0.7, "temperature": 1.7},
]


def filtered(log_probs, temperature=1.0, top_k=0, top_p=1.0):
    """The distribution that is left: the k most probable tokens, and of all the fewest that make up `top_p`."""
    heated = np.exp(log_probs / temperature)
    heated /= heated.sum()
    order = np.argsort(-heated, kind="stable")
    kept, total = [], 0.0
    for rank, token in enumerate(order):
        if total >= top_p or (top_k and rank >= top_k):
            break
        kept.append(token)
        total += heated[token]
    left = np.zeros_like(heated)
    left[kept] = heated[kept]
    return left / left.sum()


def first_tokens(memory, draws, **settings):
    """The one token of each sample; EOS leaves an empty one."""
    found = rows_of(sample(WIDE, memory, 1, draws, **settings))
    return [np.array([tokens[0] if tokens else EOS for tokens, _ in row]) for row in found]


def frequencies(tokens):
    return np.bincount(tokens, minlength=13) / len(tokens)


@pytest.mark.slow(but=9)
@pytest.mark.parametrize("settings", FILTERS, ids=str)
def test_tokens_come_as_often_as_they_should(settings):
    """Evenly spaced numbers in place of random ones: frequencies are exact up to one part in their count."""
    memory, count = WIDE.random(batch=2, seed=3), 2003
    draws = np.broadcast_to(((np.arange(count, dtype="float32") + 0.5) / count)[:, None], (2, count, 1))
    for row, tokens in zip(memory["logits"], first_tokens(memory, draws, **settings), strict=True):
        expected = filtered(WIDE.log_probs(row, ()), **settings)
        np.testing.assert_allclose(frequencies(tokens), expected, atol=1.5 / count)
        assert not np.any(frequencies(tokens)[expected == 0])


@pytest.mark.slow
def test_random_numbers_give_the_distribution():
    """Chi-square of 20,000 samples, 12 degrees of freedom: below 32.9 with probability 0.999."""
    memory, count = WIDE.random(batch=1, seed=4, scale=1.0), 20_000
    (tokens,) = first_tokens(memory, uniforms(5, 1, count, 1))
    expected = count * filtered(WIDE.log_probs(memory["logits"][0], ()))
    observed = count * frequencies(tokens)
    assert np.sum((observed - expected) ** 2 / expected) < 32.9


def test_each_row_has_its_own_settings():
    memory, draws = WIDE.random(batch=3, seed=6), uniforms(1, 3, 501, 1)
    settings = {"temperature": [1.0, 0.3, 2.0], "top_k": [0, 3, 7], "top_p": [0.5, 1.0, 0.9]}
    together = first_tokens(memory, draws, **{name: np.array(value) for name, value in settings.items()})
    for row in range(3):
        own = {name: value[row] for name, value in settings.items()}
        (alone,) = first_tokens({"logits": memory["logits"][row : row + 1]}, draws[row : row + 1], **own)
        np.testing.assert_array_equal(together[row], alone)


def test_scores_are_the_models_own():
    """Of the whole distribution at temperature 1, whatever the filters; EOS counts where it was written."""
    memory = LONG.random(batch=7, seed=2)
    found = rows_of(sample(LONG, memory, 5, uniforms(3, 7, 4, 5), temperature=2.0, top_k=4, top_p=0.9))
    sizes = set()
    for row, received in zip(memory["logits"], found, strict=True):
        for tokens, score in received:
            whole = tokens if len(tokens) == 5 else (*tokens, EOS)
            sizes.add(len(tokens))
            np.testing.assert_allclose(score, log_prob(LONG, row, whole), atol=1e-4)
    assert len(sizes) > 2


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"top_k": 1}, {"temperature": 0}, {"top_p": 1e-6}], ids=str)
def test_the_narrowest_choice_is_greedy(settings):
    """Also where the greatest uniform number, just below 1, is drawn."""
    memory = LONG.random(batch=50, seed=2)
    draws = uniforms(3, 50, 2, 5)
    draws[:, 1] = np.nextafter(np.float32(1), np.float32(0))
    (expected,) = zip(*rows_of(greedy(LONG, memory, 5)), strict=True)
    for row, received in zip(expected, rows_of(sample(LONG, memory, 5, draws, **settings)), strict=True):
        assert [tokens for tokens, _ in received] == [row[0]] * 2
        np.testing.assert_allclose([score for _, score in received], row[1], atol=1e-4)


def test_temperature_0_breaks_ties_like_greedy():
    memory = {"logits": np.zeros((1, LONG.prefixes, 5), "float32")}
    memory["logits"][:, :, EOS] = -1.0
    draws = np.array([[[0.0] * 5]], "float32")
    assert rows_of(sample(LONG, memory, 5, draws, temperature=0))[0][0][0] == rows_of(greedy(LONG, memory, 5))[0][0][0]


def test_the_ends_of_the_interval():
    """0 is the most probable token and the last number below 1 the least probable candidate, never a dropped one."""
    memory = WIDE.random(batch=1, seed=7)
    draws = np.array([[[0.0], [np.nextafter(np.float32(1), np.float32(0))]]], "float32")
    order = np.argsort(-memory["logits"][0, WIDE.number(())])
    for top_k, last in ((0, order[-1]), (4, order[3])):
        (tokens,) = first_tokens(memory, draws, top_k=top_k)
        np.testing.assert_array_equal(tokens, [order[0], last])


def test_an_impossible_token_never_appears():
    memory = WIDE.random(batch=1, seed=7)
    memory["logits"][:, :, [1, 8]] = -np.inf
    (tokens,) = first_tokens(memory, uniforms(2, 1, 2000, 1), temperature=5.0)
    assert not {1, 8} & set(tokens)


@pytest.mark.parametrize("write", [greedy, pytest.param(sample, marks=pytest.mark.slow)])
def test_rows_do_not_know_each_other(write):
    memory, draws = LONG.random(batch=7, seed=3), uniforms(4, 7, 2, 5)

    def written(rows):
        given = {"uniforms": draws[rows], "top_p": 0.9} if write is sample else {}
        return write(LONG, {"logits": memory["logits"][rows]}, 5, **given)

    together = written(slice(None))
    for row in range(7):
        for one, other in zip(written(slice(row, row + 1)), together, strict=True):
            np.testing.assert_allclose(one[0], other[row], rtol=1e-6)


def test_uniforms_are_those_of_their_row_and_sample():
    drawn = uniforms(5, 3, 2, 11)
    assert drawn.shape == (3, 2, 11) and drawn.dtype == "float32"
    assert drawn.min() >= 0 and drawn.max() < 1
    np.testing.assert_array_equal(uniforms(5, 3, 2, 11), drawn)
    np.testing.assert_array_equal(uniforms(5, 2, 1, 7), drawn[:2, :1, :7])  # fewer and shorter ones begin alike
    assert len(np.unique(drawn)) == drawn.size
    assert not np.any(uniforms(6, 3, 2, 11) == drawn)


def test_a_longer_limit_begins_alike():
    memory = LONG.random(batch=9, seed=8)
    short, long = (rows_of(sample(LONG, memory, size, uniforms(3, 9, 2, size))) for size in (3, 5))
    for few, many in zip(short, long, strict=True):
        assert [tokens for tokens, _ in few] == [tokens[:3] for tokens, _ in many]


@pytest.mark.parametrize("shape", [(2, 5), (2, 1, 4), (2, 1, 6)])
def test_uniforms_of_another_shape_are_refused(shape):
    with pytest.raises(ValueError, match=rf"uniforms must be \(batch, samples, 5\).*Received the shape \({shape[0]}, "):
        sample(LONG, LONG.random(2, 1), 5, np.zeros(shape, "float32"))


@pytest.mark.parametrize(
    "settings",
    [{"temperature": -0.1}, {"top_k": -1}, {"top_k": 1.5}, {"top_p": 0}, {"top_p": 1.1}, {"top_p": -1}],
    ids=str,
)
def test_settings_are_checked(settings):
    ((name, value),) = settings.items()
    with pytest.raises(ValueError, match=f"{name} is out of range.*Received {name}={value!r}"):
        sample(LONG, LONG.random(2, 1), 5, uniforms(1, 2, 1, 5), **settings)


@pytest.mark.parametrize("max_length", [0, -1, 3.0])
def test_max_length_is_checked(max_length):
    with pytest.raises(ValueError, match=f"max_length must be a positive integer.*{max_length}"):
        greedy(LONG, LONG.random(1, 1), max_length)
    with pytest.raises(ValueError, match=f"max_length must be a positive integer.*{max_length}|uniforms must be"):
        sample(LONG, LONG.random(2, 1), max_length, np.zeros((2, 1, max(int(max_length), 0)), "float32"))


def test_a_sample_is_what_it_says_in_low_precision():
    """Logits in bfloat16 are cast before anything is compared."""
    memory = LONG.random(batch=3, seed=3)

    class Low(Table):
        def step(self, *arguments):
            logits, state = super().step(*arguments)
            return ops.cast(logits, "bfloat16"), state

    found = rows_of(sample(Low(5, 5), memory, 5, uniforms(1, 3, 2, 5)))
    assert all(np.isfinite(score) for row in found for _, score in row)


def by_hand(row, max_length):
    tokens = ()
    while len(tokens) < max_length:
        token = int(np.argmax(LONG.log_probs(row, tokens)))
        if token == EOS:
            return tokens, log_prob(LONG, row, (*tokens, EOS))
        tokens += (token,)
    return tokens, log_prob(LONG, row, tokens)


@pytest.mark.parametrize("max_length", [1, 2, 5])
def test_is_the_argmax_of_every_step(max_length):
    memory = LONG.random(batch=100, seed=2)
    found = rows_of(greedy(LONG, memory, max_length))
    expected = [by_hand(row, max_length) for row in memory["logits"]]
    assert_same([received[0] for received in found], expected)
    assert {len(tokens) for tokens, _ in expected} == set(range(max_length + 1)), "lengths vary"


def test_ties_go_to_the_lowest_id():
    memory = {"logits": np.zeros((1, LONG.prefixes, 5), "float32")}
    memory["logits"][:, :, :2] = -1.0
    ((received,),) = rows_of(greedy(LONG, memory, 4))
    assert received[0] == (2, 2, 2, 2)
