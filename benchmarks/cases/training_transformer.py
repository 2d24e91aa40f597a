"""The training step of a Transformer against PyTorch's nn.Transformer, eager and compiled, and KerasHub's layers."""

from harness.engine import Engine

MODULE = "cases.transformer_engines"
SIZES = {
    "small": dict(layers=3, units=256, hidden_units=1024, heads=4, vocabulary=8192, batch=32, time=32),
    "base": dict(layers=6, units=512, hidden_units=2048, heads=8, vocabulary=8192, batch=8, time=32),
}
TINY = dict(layers=1, units=32, hidden_units=64, heads=2, vocabulary=64, batch=4, time=8)
DROPOUT = 0.1
PEERS = {  # name -> (function, environment)
    "torch eager": ("torch_eager", "torch"),
    "torch compiled": ("torch_compiled", "torch"),
    "KerasHub": ("keras_hub", "keras_hub"),
}


def cells(quick):
    """First one without dropout, in which all engines must agree; of the others the losses are drawn differently."""
    if quick:
        return [_cell("tiny, no dropout", TINY, 0.0, "float32", ("torch eager",))]
    dtypes = ("float32", "mixed_bfloat16")
    return [_cell(f"{name}, {dtype}", size, DROPOUT, dtype, PEERS) for name, size in SIZES.items() for dtype in dtypes]


def _cell(name, size, dropout, dtype, peers):
    settings = {"size": size, "dropout": dropout, "dtype": dtype}
    own = [
        Engine(f"ours, {backend}", MODULE, "ours", settings, variables={"KERAS_BACKEND": backend})
        for backend in ("tensorflow", "jax")
    ]
    others = [_peer(peer, settings) for peer in peers]
    names = [each.name for each in (*own, *others)]
    return {
        "name": name,
        "engines": [*own, *others],
        "pairs": [(one.name, peer.name) for one in own for peer in others],
        "equal": [names],
        # With dropout the masks differ, and with them the losses of the first updates, by a little.
        "tolerance": 1e-4 if dropout == 0 else 0.05,
        "about": {"dtype": dtype},
    }


def _peer(name, settings):
    function, environment = PEERS[name]
    variables = {"KERAS_BACKEND": "tensorflow"} if environment == "keras_hub" else {}
    return Engine(name, MODULE, function, settings, environment, variables)
