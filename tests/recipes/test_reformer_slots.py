"""Slots of a Reformer as Hugging Face has it: blocks that hash among local ones, and grids of positions."""

import pytest

from tests.recipes.small import recipe
from tests.recipes.test_slots import made, settings


def test_some_blocks_of_local_attention_may_hash():
    own = settings("local") | {"before": 2, "head_units": 3}
    two = {"attention": own, "model": {"num_layers": 2}}
    first, second = (block.attention for block in made(recipe("language_model", **two), 9).decoder.blocks)
    assert (type(first).__name__, first.chunk_length, first.looks) == ("LocalAttention", 2, (2, 0))
    assert (type(second).__name__, second.chunk_length, second.looks) == ("RingLSHAttention", 3, (1, 0))
    assert all(each.padded_to == 6 and each.head_dim == 3 for each in (first, second))
    own["hashed"] = own["hashed"] | {"blocks": [3]}
    with pytest.raises(ValueError, match="local needs hashed.blocks that are numbers of its blocks"):
        recipe("language_model", **two)


def test_rows_of_a_grid_may_have_a_width_of_their_own():
    positions = {"layer": "axial", "columns": 3, "row_units": 1}
    assert made(recipe("language_model", positions=positions), 9).positions.rows.shape[1] == 1
    with pytest.raises(ValueError, match="or row_units below them"):
        recipe("language_model", positions=positions | {"row_units": 4})
