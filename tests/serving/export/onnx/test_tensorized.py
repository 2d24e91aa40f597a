"""Multi-linear attention in one ONNX graph and one SavedModel for all lengths up to its bound."""

import pytest

from serving.export.onnx.convert import convert, load
from tests.serving.export.onnx.twins import ATTEND, VECTORS, check_attention, saved
from zoo.attention import MultiLinearAttention


@pytest.mark.parametrize("mode", ["split_concat", "reconstruct"])
def test_one_graph_serves_all_lengths(mode, tmp_path):
    layer = MultiLinearAttention(8, 5, max_time=23, mode=mode)
    layer.build((None, None, 8))

    def attend(x, mask):
        return {"y": layer(x, value_mask=mask, causal=True)}

    session = load(convert(attend, ATTEND))
    loaded = saved(attend, layer, VECTORS, tmp_path)
    check_attention(attend, session, loaded, 23, 1e-5)
