"""The Star-Transformer's algorithm 1 in NumPy float64, one row without its padding, and not from our code."""

import numpy as np

from tests.oracles import numpy
from tests.transformer_oracles import affine, layer_norm, multi_head


def star(stack, connections="star"):
    """`e (n, units)` -> `(H, s + max H)`."""

    def run(e):
        n = len(e)
        h, s = e.copy(), e.mean(axis=0) if n else np.zeros(e.shape[1])
        for block in stack.blocks:
            attend, norm = multi_head(block.attention), layer_norm(block.norms[0])
            new = np.zeros_like(h)
            for i in range(n):
                context = [] if connections == "radical" else [h[(i - 1) % n], h[(i + 1) % n]]
                context += [h[i], e[i]] + ([] if connections == "ring" else [s])
                new[i] = norm(np.maximum(attend(h[i : i + 1], np.stack(context))[0], 0.0))
            h = new
            if block.relay_attention is not None:
                seen = multi_head(block.relay_attention)(s[None], np.concatenate([s[None], h]))
                s = layer_norm(block.norms[1])(np.maximum(seen[0], 0.0))
        return h, s + (h.max(axis=0) if n else 0.0)

    return run


def concatenated(layer, x):
    """`W [x_t; P_t] + b`."""
    (table,) = numpy(layer.positions.matrix)
    return affine(layer.projection)(np.concatenate([x, table[: len(x)]], axis=1))
