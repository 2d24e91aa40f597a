"""Adaptive span in one ONNX graph and one SavedModel for all lengths: bands are pads and reshapes; trimmed, too."""

import pytest

from serving.export.onnx.convert import convert, load
from tests.serving.export.onnx.twins import ATTEND, VECTORS, check_attention, saved
from zoo.attention import AdaptiveSpanAttention


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("dynamic", [False, True])
def test_one_graph_serves_all_lengths(dynamic, tmp_path):
    layer = AdaptiveSpanAttention(8, 2, max_span=32, ramp=4, dynamic=dynamic)
    layer.build((None, None, 8))

    def attend(x, mask):
        return {"y": layer(x, value_mask=mask, causal=True)}

    if not dynamic:
        layer.fractions.assign([0.05, 0.2])
        assert layer.trim() == 10
    session = load(convert(attend, ATTEND))
    loaded = saved(attend, layer, VECTORS, tmp_path)
    layer.window = layer.max_span
    check_attention(attend, session, loaded, 101, 1e-4)
