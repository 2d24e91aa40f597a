"""What is measured of an artefact that was written: the effects of int8, and what is usual for the model.

The effects of int8 are those on size, speed, answers and scores. What is usual are the bounds of
`serving.runtime.usual`, by the texts that validate the model.
"""

import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from serving.export.sizes import TOKENS
from serving.kinds import KINDS
from serving.kinds.rate import Rating
from serving.runtime import Runtime, own
from serving.runtime.errors import ServingError
from serving.runtime.loaded import Loaded
from serving.runtime.manifest_format import graph_bytes, weight_files
from serving.runtime.reading import is_answered
from serving.runtime.sessions import PRECISIONS, graph_file
from serving.runtime.usual import bounds, familiarity

BATCH = 32
ROUNDS = 5
READ, ENOUGH = 2000, 100  # texts: the most that are read, and the fewest that tell a share of them
ANSWERED, LARGE = 500, 100  # texts that are answered; of a large network
PROMPTS = (8, 16, 32, 64)  # characters


def report(directory, texts, trial=None, large=False):
    """`{"texts", "modes": [..], "scores": {mode: {name: pair}}}`; a pair is the number for float32 and for int8.

    Of a large network answers have at most `sizes.TOKENS` tokens, which "tokens" says, unless a trial scores them, and
    times are those of one run.

    Each mode is a dict: `mode` is its name; `megabytes` is a pair; `milliseconds` has a pair for each batch size;
    `identical` is the share of answers that are the same in int8 (for a tagger, of tags; for
    vectors, their mean cosine).

    Args:
        directory: the artefact.
        texts: its examples.
        trial: a `serving.export.Trial`, whose texts are used instead and scored. The score of a language model, nats
            per token, does not need one.
        large: measure in a new process, whose memory does not come on top of what this one holds.

    Raises:
        ServingError: that process failed; the message has what it said.
    """
    arguments = {"directory": str(directory), "texts": list(trial.texts if trial else texts), "whole": bool(trial)}
    comparison, answers = (_measure_apart if large else measure)(**arguments)
    if trial and trial.score:
        for mode, pair in answers.items():
            one, other = (trial.score(each, list(trial.references)) for each in pair)
            comparison["scores"][mode] = {name: [round(one[name], 3), round(other[name], 3)] for name in one}
    return comparison


def _measure_apart(**arguments):
    """As `measure`, in a new process."""
    with tempfile.TemporaryDirectory() as work:
        file = Path(work, "measured.json")
        command, pipe = own.command("serving.export.measuring", file), subprocess.PIPE
        process = subprocess.run(command, input=json.dumps(arguments), text=True, errors="replace", stderr=pipe)
        if process.returncode:
            raise ServingError(f"int8 of {arguments['directory']} could not be measured:\n{process.stderr[-2000:]}")
        return json.loads(file.read_text(encoding="utf-8"))


def measure(directory, texts, whole):
    """(what `report` tells without the scores of a trial, `{mode: (answers of float32, of int8)}`).

    Args:
        directory, texts: as of `report`.
        whole: whether answers are as long as they may be, because they are scored.
    """
    runtimes = {name: Runtime(Path(directory), precision=name, threads=1) for name in PRECISIONS}
    runtime, some = runtimes["float32"], [texts[index % len(texts)] for index in range(BATCH)]
    kind, bytes_of = KINDS[runtime.kind], graph_bytes(runtime.manifest)
    large = any(weight_files(runtime.manifest, mode.graph) for mode in runtime.modes)
    short = {"max_length": TOKENS} if large and "max_length" in runtime.options else {}
    modes, answers = [], {}
    for mode in runtime.modes:
        quick = replace(mode, options=mode.options | short)
        options = mode.options if whole else quick.options
        pair = [[result.answer for result in each.run(texts, **options)] for each in runtimes.values()]
        sizes = [bytes_of[graph_file(mode.graph, name)] for name in PRECISIONS]
        seconds = {batch: medians(runtimes, some[:batch], quick, 1 if large else ROUNDS) for batch in (1, BATCH)}
        modes.append(
            {
                "mode": mode.name,
                "megabytes": [round(size / 1e6, 2) for size in sizes],
                "milliseconds": {
                    str(batch): [round(1e3 * each, 3) for each in times.values()] for batch, times in seconds.items()
                },
                "identical": round(kind.agreement(*pair), 6),
            }
        )
        answers[mode.name] = pair
    scores = {}
    if kind.prompts:
        scores["score"] = {"nats_per_token": [_nats_per_token(each.score(texts)) for each in runtimes.values()]}
    bound = {"tokens": TOKENS} if short else {}
    return {"texts": len(texts), "modes": modes, "scores": scores} | bound, answers


def medians(runtimes, texts, mode, rounds=ROUNDS):
    """The median time in seconds of each runtime for `texts`. The runtimes are measured in turn in each round."""
    seconds = {name: [] for name in runtimes}
    for number in range(rounds + 1):
        for name, runtime in runtimes.items():
            start = time.perf_counter()
            runtime.run(texts, **mode.options)
            if number:  # the first round warms up
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def _nats_per_token(scored):
    log_probs, tokens = map(sum, zip(*scored, strict=True))
    return round(-log_probs / max(1, tokens), 5)


def measure_usual(directory, texts, large=False):
    """The bounds of the manifest.

    Args:
        directory: an artefact, whose manifest has no bounds yet.
        texts: those that validate, a line each.
        large: whether the network is so large that few texts are answered.
    """
    loaded = Loaded(directory, None, "float32", verify=False)
    kind, common = loaded.kind, loaded.source.log_probabilities
    sides = len(kind.sides(loaded.manifest))
    parts = [part for text in texts for part in text.split("\t", sides - 1)]
    parts += beginnings(texts) if kind.prompts else []
    cut = {"words": "spaces"} if kind.by_words else {}  # data have their words cut
    all_readings = loaded.read_words(parts, *cut.values()) if kind.by_words else loaded.read(parts, not kind.prompts)
    readings = [each for each in all_readings if is_answered(each)]
    familiarities = [familiarity(each, common) for each in readings]
    pieces = [len(each.ids) - each.around for each in readings]
    if kind.prompts:  # what goes on from them is written by chance
        return bounds(familiarities, pieces) | {"texts": len(texts)}
    answers = Runtime(directory, precision="float32", verify=False).run(
        spread(texts, LARGE if large else ANSWERED), **cut
    )
    confidences = [each.confidence for each in answers if each.confidence is not None and not each.error]
    ratings = [each.rating for each in answers if isinstance(each, Rating) and each.rating is not None]
    return bounds(familiarities, pieces, confidences) | ({"ratings": [min(ratings), max(ratings)]} if ratings else {})


def beginnings(texts):
    """What a prompt may be: the first pieces of a line, whose names and headings are rarer than what is within."""
    lines = [text[place.end() :] for text in texts for place in re.finditer("\n+", text)]
    return [line[:size] for line in lines for size in PROMPTS if len(line) >= size]


def spread(texts, most):
    """At most so many of the texts, from the beginning to the end, for a file may be sorted."""
    return texts[:: -(-len(texts) // most) or 1]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(measure(**json.load(sys.stdin)), default=float), encoding="utf-8")
