"""The training step of recurrent models against PyTorch's, on both backends: a translator, and an encoder alone."""

from harness.engine import Engine

MODULE = "cases.recurrent_engines"
VOCABULARY = 1000
BACKENDS = ("tensorflow", "jax")
PEER = "torch eager"


def cells(quick):
    if quick:
        return [_translator("gru", 32, 4, 5, 50), _encoder("lstm", 32, 4, 5)]
    translators = [(units, batch, time) for units, batch, time in ((256, 64, 16), (512, 32, 32))]
    found = [_translator(cell, *sizes, VOCABULARY) for cell in ("gru", "lstm") for sizes in translators]
    return found + [_encoder(cell, 256, 64, 64) for cell in ("gru", "lstm")]


def _translator(cell, units, batch, time, vocabulary):
    sizes = {"cell": cell, "units": units, "batch": batch, "time": time}
    name = f"{cell}, additive attention, {units} units, {batch} x {time}"
    return _cell(name, "ours", "torch", sizes | {"vocabulary": vocabulary}, sizes)


def _encoder(cell, units, batch, time):
    sizes = {"cell": cell, "units": units, "batch": batch, "time": time}
    return _cell(
        f"{cell}, encoder alone, {units} units, {batch} x {time}", "our_encoder", "torch_encoder", sizes, sizes
    )


def _cell(name, ours, peer, settings, about):
    own = [
        Engine(f"ours, {backend}", MODULE, ours, settings, variables={"KERAS_BACKEND": backend}) for backend in BACKENDS
    ]
    engines = [*own, Engine(PEER, MODULE, peer, settings, environment="torch")]
    return {
        "name": name,
        "engines": engines,
        "pairs": [(each.name, PEER) for each in own],
        "equal": [[PEER, *(each.name for each in own)]],
        "tolerance": 1e-3,
        "about": {name: value for name, value in about.items() if name != "cell"}
        | {"recurrence": about["cell"], "kind": "encoder" if peer == "torch_encoder" else "translator"},
    }
