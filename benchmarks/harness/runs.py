"""Trainings by the command line: a run that is there is not trained again, and one that was broken off goes on."""

import json
import os
import resource
import subprocess
import sys

ONE_THREAD = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"} | dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"), "1"
)


def seqzoo(*arguments):
    """What a command prints, on JAX and one thread unless the environment says otherwise."""
    environment = {"KERAS_BACKEND": "jax", **os.environ, **ONE_THREAD}
    command = [sys.executable, "-m", "seqzoo", *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    return done.stdout


def trained(recipe, run, settings=(), data=None):
    """The run's directory, trained if it is not there; beside it, the seconds of processor time that it took."""
    clock = run.with_name(run.name + ".seconds")
    if not clock.exists():
        print(f"training {run.name}", flush=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        changes = [part for setting in settings for part in ("--set", setting)]
        changes += ["--data", data] if data else []
        seqzoo("train", recipe, *changes, "--out", run, *(["--resume"] if run.exists() else []))
        clock.write_text(f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before:.0f}")
    return run


def seconds(run):
    """Of one core, that the training of a run took, validations with it."""
    return int(run.with_name(run.name + ".seconds").read_text())


def scored(run, *others, data=None):
    """The scores of one run on its test part, or of several that answer together."""
    saved = run.with_name(f"{run.name}{'-ensemble' if others else ''}.json")
    if not saved.exists():
        together = [part for other in others for part in ("--ensemble", other)]
        together += ["--data", data] if data else []
        saved.write_text(seqzoo("evaluate", run, *together, "--json"))
    return json.loads(saved.read_text())
