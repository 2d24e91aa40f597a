"""The effects of int8 quantisation on size, speed, answers and scores."""

import statistics
import time
from pathlib import Path

from serving.runtime import Runtime
from serving.runtime.sessions import PRECISIONS, graph_file

BATCH = 32
ROUNDS = 5


def report(directory, texts, trial=None):
    """`{"texts", "modes": [..], "scores": {mode: {name: pair}}}`; a pair is the number for float32 and for int8.

    Each mode is a dict: `mode` is its name; `megabytes` is a pair; `milliseconds` has a pair for each batch size;
    `identical` is the share of answers that are the same in int8 (for a tagger, of tags).

    Args:
        directory: the artefact.
        texts: its examples.
        trial: a `serving.export.Trial`, whose texts are used instead and scored. The score of a language model, nats
            per token, does not need one.
    """
    directory, texts = Path(directory), list(trial.texts if trial else texts)
    runtimes = {name: Runtime(directory, precision=name, threads=1) for name in PRECISIONS}
    some = [texts[index % len(texts)] for index in range(BATCH)]
    found, scores = [], {}
    for mode in runtimes["float32"].modes:
        pair = [[result.answer for result in runtimes[name].run(texts, **mode.options)] for name in PRECISIONS]
        sizes = [(directory / graph_file(mode.graph, name)).stat().st_size for name in PRECISIONS]
        found.append(
            {
                "mode": mode.name,
                "megabytes": [round(size / 1e6, 2) for size in sizes],
                "milliseconds": {
                    str(batch): [round(1e3 * seconds, 3) for seconds in medians(runtimes, some[:batch], mode).values()]
                    for batch in (1, BATCH)
                },
                "identical": _same(*pair),
            }
        )
        if trial and trial.score:
            one, other = (trial.score(answers, list(trial.references)) for answers in pair)
            scores[mode.name] = {name: [round(one[name], 3), round(other[name], 3)] for name in one}
    if runtimes["float32"].kind == "continue":
        scores["score"] = {"nats_per_token": [_nats(runtime.score(texts)) for runtime in runtimes.values()]}
    return {"texts": len(texts), "modes": found, "scores": scores}


def medians(runtimes, texts, mode, rounds=ROUNDS):
    """The median time in seconds of each runtime for `texts`. The runtimes are measured in turn in each round."""
    taken = {name: [] for name in runtimes}
    for number in range(rounds + 1):
        for name, runtime in runtimes.items():
            start = time.perf_counter()
            runtime.run(texts, **mode.options)
            if number:  # the first round warms up
                taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in taken.items()}


def _nats(scored):
    log_probs, tokens = map(sum, zip(*scored, strict=True))
    return round(-log_probs / max(1, tokens), 5)


def _same(one, other):
    """The share of equal answers; if answers are lists of tags, the share of equal tags."""
    pairs = list(zip(one, other, strict=True))
    if isinstance(one[0], list):
        pairs = [words for answers in pairs for words in zip(*answers, strict=True)]
    return round(sum(a == b for a, b in pairs) / max(1, len(pairs)), 6)
