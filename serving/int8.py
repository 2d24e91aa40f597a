"""What quantisation changes: size, speed, answers, scores, and how far answers depend on their batch mates."""

import statistics
import time
from pathlib import Path

from serving.runtime import Runtime
from serving.sessions import PRECISIONS, graph_file

BATCH = 32
ROUNDS = 5


def report(directory, texts, trial=None):
    """`{"texts", "modes": [..], "scores": {mode: {name: pair}}}`; a pair is float32 and int8.

    A mode has `mode`, its name; `megabytes`, a pair; `milliseconds`, for each batch size a pair; `identical`, the share
    of answers that are the same in int8 (of words, where they get tags); `batch_mates`, the share of int8 answers that
    are others in a batch than alone.

    Args:
        directory: the artefact.
        texts: its examples.
        trial: `serving.settings.Trial`, measured on instead of them, and scored. A language model's score, nats per
            token, needs none.
    """
    directory, texts = Path(directory), list(trial.texts if trial else texts)
    runtimes = {name: Runtime(directory, precision=name, threads=1) for name in PRECISIONS}
    some = [texts[index % len(texts)] for index in range(BATCH)]
    found, scores = [], {}
    for mode in runtimes["float32"].modes:
        pair = [_predictor(runtimes[name], texts, mode) for name in PRECISIONS]
        alone = [_predictor(runtimes["int8"], [text], mode, number)[0] for number, text in enumerate(texts[:BATCH])]
        together = _predictor(runtimes["int8"], some, mode)[: len(alone)]
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
                "batch_mates": round(1 - _same(alone, together), 6),
            }
        )
        if trial and trial.score:
            one, other = (trial.score(answers, list(trial.references)) for answers in pair)
            scores[mode.name] = {name: [round(one[name], 3), round(other[name], 3)] for name in one}
    if runtimes["float32"].kind == "continue":
        scores["score"] = {"nats_per_token": [_nats(runtime.score(texts)) for runtime in runtimes.values()]}
    return {"texts": len(texts), "modes": found, "scores": scores}


def medians(runtimes, texts, mode, rounds=ROUNDS):
    """Median seconds that each of the runtimes takes for `texts`; in every round they take turns."""
    taken = {name: [] for name in runtimes}
    for number in range(rounds + 1):
        for name, runtime in runtimes.items():
            start = time.perf_counter()
            runtime.run(texts, **mode.options)
            if number:  # the first round warms up
                taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in taken.items()}


def _predictor(runtime, texts, mode, first=0):
    return [result.answer for result in runtime.run(texts, **mode.at(first))]


def _nats(scored):
    log_probs, tokens = map(sum, zip(*scored, strict=True))
    return round(-log_probs / max(1, tokens), 5)


def _same(one, other):
    """The share of answers, or of the words of answers that are lists, that are the same."""
    pairs = list(zip(one, other, strict=True))
    if isinstance(one[0], list):
        pairs = [words for answers in pairs for words in zip(*answers, strict=True)]
    return round(sum(a == b for a, b in pairs) / max(1, len(pairs)), 6)
