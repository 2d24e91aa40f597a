"""Names the systems, measures one, writes the results to files, and compares hashes; imports no framework by itself.

`DIR/SYSTEM.json` holds `system`, `title`, `claims`, `seconds` (of processor time), `weights` (the SHA-256 of each
trained model, a row a seed), `processor`, `versions`, `sizes` and `found`, which the claims and the figure are made
of. The figure is `DIR/SYSTEM.png`, which holds the SHA-256 of the results that it shows.
"""

import difflib
import hashlib
import importlib
import json
import re
import time
from pathlib import Path

from zoo.core import processor as processors
from zoo.core.later import installed_version, later
from zoo.core.storage import json_text, write_bytes, write_text

findings = later("zoo.reproduce.findings")
keras = later("keras")

SYSTEMS = {  # name -> title, other names; the module of this package has the name, too
    "recurrent": ("SimpleRNN, GRU and LSTM", ("rnn", "simple rnn", "gru", "lstm")),
    "attention": ("Sequence to sequence with attention", ("seq2seq", "additive", "dot", "bahdanau")),
    "transformer": ("Transformer, post-LN and pre-LN", ("post-ln", "pre-ln", "post-norm", "pre-norm")),
    "macaron": ("Macaron Net", ("macaron net",)),
    "product-key": ("Product-key memory", ("product-key memory", "pkm")),
    "tensorized": ("Tensorized Transformer", ("tensorized transformer", "tensorised", "multi-linear")),
    "adaptive-span": ("Adaptive attention span", ("adaptive attention span",)),
    "universal": ("Universal Transformer", ("universal transformer", "act")),
    "depth-adaptive": ("Depth-Adaptive Transformer", ("depth-adaptive transformer",)),
    "star": ("Star-Transformer", ("star-transformer",)),
    "reformer": ("Reformer", ("lsh", "reversible", "revnet")),
}
WIDEST = ("avx512f", "avx2", "avx", "asimd")  # what compiled arithmetic depends on, the widest first
PACKAGES = {"jax": ("keras", "numpy", "jax", "jaxlib"), "tensorflow": ("keras", "numpy", "tensorflow")}


def find(name):
    """The name of a system as `SYSTEMS` has it; case, spaces, hyphens and underscores do not matter.

    Raises:
        ValueError: there is no such system; the message names those that are spelled alike.
    """
    systems = {_normalize(alias): system for system, (_, names) in SYSTEMS.items() for alias in (system, *names)}
    if _normalize(name) in systems:
        return systems[_normalize(name)]
    near = [systems[each] for each in difflib.get_close_matches(_normalize(name), systems, n=2, cutoff=0.7)]
    hint = f"Did you mean {' or '.join(dict.fromkeys(near))}? " if near else ""
    raise ValueError(f"There is no system {name!r}. {hint}Expected one of {', '.join(SYSTEMS)}; or give --all.")


def _normalize(name):
    return re.sub(r"[\s_-]+", "", name.lower())


def measure(system, quick=False, log=print):
    """Train and measure a system.

    Args:
        system: a name of `SYSTEMS`.
        quick: whether only to try the code: sizes at which the claims say nothing.
        log: called with a line of progress now and then.

    Returns: what `DIR/SYSTEM.json` holds.
    """
    module = load_module(system)
    sizes = module.QUICK if quick else module.FULL
    started = time.process_time()
    results = json.loads(json_text(module.measure(log, **sizes)))
    seconds = round(time.process_time() - started, 1)
    return {
        "system": system,
        "title": SYSTEMS[system][0],
        "claims": module.claims(results),
        "seconds": seconds,
        "quick": quick,
        "weights": results.pop("weights", {}),
        "processor": processor(),
        "versions": versions(),
        "sizes": sizes,
        "found": results,
    }


def load_module(system):
    return importlib.import_module(f"zoo.reproduce.{system.replace('-', '_')}")


def processor():
    """The name of the processor and the widest of its vector instructions, which decide how sums are rounded."""
    name, sets = processors.name(), processors.instruction_sets()
    widest = next((each for each in WIDEST if each in sets), "")
    return f"{name}, {widest}" if widest else name


def versions():
    """The name of the backend, and the versions of the packages that compute with it."""
    backend = keras.backend.backend()
    packages = PACKAGES.get(backend, ("keras", "numpy", backend))
    return {"backend": backend} | {name: installed_version(name) or "unknown" for name in packages}


def write(report, folder):
    """Write `SYSTEM.json` and then `SYSTEM.png`, each whole or not at all."""
    write_text(result_path(folder, report["system"]), json_text(report, indent=1) + "\n")
    draw(report["system"], folder)


def draw(system, folder):
    """Draw the figure of the results that are in a folder, and return its path."""
    path = result_path(folder, system).with_suffix(".png")
    content = png(system, folder)
    write_bytes(path, content)
    return path


def png(system, folder):
    """The bytes of the figure of the results that are in a folder."""
    report = read(system, folder)
    return findings.png(lambda: load_module(system).draw(report["found"]), digest(system, folder))


def result_path(folder, system):
    return Path(folder) / f"{system}.json"


def digest(system, folder):
    """The SHA-256 of the file of results, by which a figure knows what it shows."""
    return hashlib.sha256(result_path(folder, system).read_bytes()).hexdigest()


def read(system, folder):
    """What was measured.

    Raises:
        ValueError: there are no results, or the file is damaged.
    """
    path = result_path(folder, system)
    if not path.is_file():
        raise ValueError(
            f"There are no results of {system} at {path}: measure them first with `seqzoo reproduce {system} --out "
            f"{folder}`."
        )
    try:
        report = json.loads(path.read_text("utf-8"))
        missing = {"system", "claims", "seconds", "weights", "processor", "versions", "found"} - report.keys()
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{path} is damaged: {error}. Measure it again.") from None
    if missing or report["system"] != system:
        what = f"lacks {', '.join(sorted(missing))}" if missing else f"is of {report['system']}"
        raise ValueError(f"{path} {what}: expected the results of {system}. Measure it again.")
    return report


def comparison_obstacles(report):
    """Why hashes of results cannot be compared with those of this machine: a list of reasons, empty if they can."""
    here = {"processor": processor(), **versions()}
    there = {"processor": report["processor"], **report["versions"]}
    names = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    reasons = [
        f"{name} was {there.get(name, 'not there')}, and here is {here.get(name, 'not there')}" for name in names
    ]
    module = load_module(report["system"])
    sizes = json.loads(json_text(module.QUICK if report.get("quick") else module.FULL))
    if report.get("sizes") != sizes:
        reasons.append(f"sizes were {report.get('sizes', 'not there')}, and here are {sizes}")
    return reasons


def changed_models(report, again):
    """The models, as `NAME, seed S`, whose hashes differ between two reports of one system."""
    return [
        f"{name}, seed {seed}"
        for name, hashes in report["weights"].items()
        for seed, (one, other) in enumerate(zip(hashes, again["weights"].get(name, [""] * len(hashes)), strict=True))
        if one != other
    ]
