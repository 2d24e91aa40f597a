"""`seqzoo train --plan`: what a training would need on an accelerator that is not here."""

import os
from importlib.util import find_spec

from serving.lazy import later
from zoo.core.storage import json_text

from .screen import aligned, log

forecasting = later("zoo.runs.forecast")

NAMES = ("h100", "a100", "l4", "tpu-v5e")  # of `zoo.runs.forecast`, which needs Keras; a test compares
SMALL = 2e-3  # seconds of a step below which other things than its products decide


def main(args, recipe):
    """Print what the training would need; nothing is trained, and nothing is written."""
    options = {"--out": args.out, "--resume": args.resume, "--seeds": args.seeds, "--sweep": args.sweep}
    options |= {"--devices": args.devices}
    if names := [name for name, value in options.items() if value]:
        raise ValueError(f"--plan trains nothing, so it takes no {' and no '.join(names)}.")
    os.environ.setdefault("KERAS_BACKEND", "jax")
    if find_spec("jax") is None:
        raise ValueError("--plan needs JAX, which traces the step: pip install 'seqzoo[jax]'.")
    forecast = forecasting.forecast(recipe, args.plan, args.data, log=log)
    print(json_text(forecast) if args.json else describe(forecast))
    return 0


def describe(forecast):
    """The forecast as lines of a table."""
    memory, capacity = sum(forecast["memory"].values()), forecast["device_memory"]
    parts = ", ".join(f"{name} {_bytes(size)}" for name, size in forecast["memory"].items())
    fits = "it fits" if forecast["fits"] else "it does not fit: lower training.batch_size, or raise training.parts"
    reached = f"if matrix products reach {forecast['utilisation']:.0%} of the peak"
    if forecast["step_seconds"] < SMALL:
        reached += "; so small a step takes longer to start than to compute, rather some milliseconds"
    whole = forecast["trained"] == forecast["parameters"]
    trained = "" if whole else f", of which {forecast['trained']:,} are trained"
    rows = [
        ("parameters", f"{forecast['parameters']:,}{trained}, computed in {forecast['precision']}"),
        *((f"step of {_lengths(forecast, each)}", _cost(each)) for each in forecast["shapes"]),
        ("memory", f"about {_bytes(memory)} of {_bytes(capacity)}, so {fits} ({parts})"),
        ("one step", f"{_seconds(forecast['step_seconds'])}, {reached}"),
        (f"{forecast['steps']:,} steps", f"{_seconds(forecast['training_seconds'])} of computing, without validations"),
    ]
    if forecast["assumed"]:
        rows.append(("assumed", "; ".join(forecast["assumed"])))
    recipe, device, source = (forecast[name] for name in ("recipe", "device", "source"))
    title = f"{recipe} on one {device} ({source}). Its steps lower for it; none was run."
    return "\n".join([title, *(f"  {line}" for line in aligned(rows))])


def _lengths(forecast, shape):
    return f"{forecast['batch_size']} x {' + '.join(map(str, shape['lengths']))} tokens"


def _cost(shape):
    share = "" if shape["share"] == 1 else f"{shape['share']:.0%} of the steps: "
    part = shape["matrix"] / max(1, shape["operations"])
    return f"{share}{_count(shape['operations'])} floating-point operations, {part:.0%} of them in matrix products"


def _count(number):
    for unit, size in (("tera", 1e12), ("giga", 1e9), ("mega", 1e6)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:,}"


def _bytes(size):
    for unit, least in (("GiB", 2**30), ("MiB", 2**20)):
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return f"{size / 2**10:.0f} KiB"


def _seconds(seconds):
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("s", 1)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{1e3 * seconds:.3g} ms"
