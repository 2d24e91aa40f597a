"""What a Reformer of others brings besides its tensors: numbers that PyTorch draws by a seed, and what is refused."""

import json

import numpy as np
import pytest

from tests.pretrained.tiny import changed, opened
from zoo.core.storage import write_json
from zoo.pretrained.families.reformer import buckets_for, draw_normals, draw_rotations


@pytest.mark.parametrize(
    ("seed", "count", "first", "last", "total"),
    [
        (3, 7, (0.803276, 0.174833, 0.088978), (0.046182, -1.368259, 0.337495), -0.53121),
        (5, 16, (1.84233, 0.518887, -1.711921), (-0.419408, -0.584896, -0.782335), -3.37983),
        (7, 200, (-0.820135, 0.395631, 0.898908), (-0.052584, -1.087773, 0.537633), -12.99091),
        (2, 37, (-1.040801, 0.916604, -1.30419), (-1.572009, -1.321074, -1.047099), -14.30764),
    ],
)
def test_normal_numbers_are_those_of_torch(seed, count, first, last, total):
    """What torch draws: first and last three, and their sum."""
    made = draw_normals(seed, count)
    assert made.shape == (count,) and made.dtype == "float32"
    np.testing.assert_allclose([*made[:3], *made[-3:]], [*first, *last], atol=2e-6)
    np.testing.assert_allclose(made.sum(dtype="float64"), total, atol=2e-5)


def test_rotations_of_several_factors_are_drawn_together():
    first, second = draw_rotations(3, (2, 5, 3), [4, 6])
    assert (first.shape, second.shape) == ((2, 5, 3, 2), (2, 5, 3, 3))
    np.testing.assert_array_equal(np.concatenate([first, second], -1).reshape(-1), draw_normals(3, 150))


@pytest.mark.parametrize(
    ("time", "longest", "chunk", "expected"),
    [(64, 4096, 64, 2), (4096, 4096, 64, 128), (65536, 65536, 8, [128, 128]), (20, 24, 4, 8)],
)
def test_buckets_are_those_that_transformers_takes(time, longest, chunk, expected):
    assert buckets_for(time, longest, chunk) == expected


def reformer(folder, **settings):
    """The network with another configuration; None is null."""
    path = changed(folder, "reformer") / "config.json"
    write_json(path, json.loads(path.read_text()) | settings)
    return opened(path.parent, tokenizers=False)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"attn_layers": ["lsh", "full"]}, 'attn_layers is .*expected a list of "lsh" and "local"'),
        ({"axial_pos_embds_dim": [6, 9]}, "together hidden_size = 16"),
        ({"axial_pos_shape": [2, 3, 4]}, "expected two sizes each"),
        ({"architectures": ["ReformerModel"]}, "is_decoder true; a decoder is known here as ReformerModelWithLMHead"),
        ({"num_buckets": 7}, "num_buckets is 7; expected an even number"),
        ({"lsh_attn_chunk_length": None}, "lsh_attn_chunk_length is null"),
    ],
)
def test_what_cannot_be_carried_is_refused_by_name(settings, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        reformer(tmp_path / "source", **settings)


def test_a_chunked_feed_forward_changes_no_number(tmp_path):
    one, other = (reformer(tmp_path / str(size), chunk_size_feed_forward=size).model.get_weights() for size in (0, 1))
    for first, second in zip(one, other, strict=True):
        np.testing.assert_array_equal(first, second)


def test_the_bias_of_an_output_is_read_where_its_version_added_it(tmp_path):
    """transformers 5 keeps it in its files and does not add it."""
    new = reformer(tmp_path / "new").model.embedding.bias
    old = reformer(tmp_path / "old", transformers_version="4.30.0").model.embedding.bias
    assert np.ptp(np.asarray(new)[4:]) == 0 and np.ptp(np.asarray(old)[4:]) > 0.1
