"""Predictors that write text: an output for a source, with its attention map, or the continuation of a prompt."""

import math
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from serving.kinds import rules
from serving.kinds.generate import EMPTY, Hypothesis, Result
from serving.lazy import later
from serving.runtime.doubt import add_doubts
from serving.runtime.loaded import padded
from serving.runtime.reading import Bound, as_list, is_answered
from serving.runtime.sampling import Mode, Sampling, Samplings

searching = later("zoo.core.searching")

EOS = 3  # the end of every text that is written


class Writer:
    """Writes an output for each source. A blank source has a blank output with score 0."""

    def __init__(self, kind, loaded):
        self.loaded, self.options = loaded, kind.options
        manifest = loaded.manifest
        self.graphs = {int(beams): graph for beams, graph in loaded.generation.items()}
        self.beams, self.default_beam = tuple(sorted(self.graphs)), manifest["default_beam"]
        self.max_length = manifest["max_length"]

    @property
    def modes(self):
        return [Mode(f"beam {beam}", self.graphs[beam], {"beam": beam}) for beam in self.beams]

    def run(self, texts, beam=None, n_best=1, sampling=None, **values):
        self.check(beam, n_best, sampling)
        values = self._drop_ranking(rules.checked(values), beam, sampling)
        readings, all_values = self.loaded.read(texts), self.loaded.manifest.get("rules", {}) | values
        sequences = {number: reading.ids for number, reading in enumerate(readings) if is_answered(reading)}
        hypotheses, confidences = {number: [("", 0.0)] for number in range(len(readings))}, {}
        for number, pairs in self.write(sequences, beam, n_best, sampling, values).items():
            outputs = self.loaded.decode([ids for ids, _ in pairs])
            most = rules.length_bound(all_values, self.max_length, len(sequences[number]))
            readings[number] = add_doubts(readings[number], pairs[0][0], most)
            hypotheses[number] = [(text, score) for text, (_, score) in zip(outputs, pairs, strict=True)]
            confidences[number] = self._confidence(*pairs[0], sampling is None and (beam or self.default_beam) > 1)
        return [
            self.make_result(hypotheses[number], reading, confidences.get(number))
            for number, reading in enumerate(readings)
        ]

    @staticmethod
    def make_result(pairs, reading, confidence=None):
        hypotheses = tuple(Hypothesis(*pair) for pair in pairs)
        return Result(*pairs[0], hypotheses, confidence, error=reading.error, warning=reading.warning)

    def _confidence(self, ids, score, ranked):
        """The geometric mean of the probabilities of an output's pieces, its end among them."""
        manifest = self.loaded.manifest
        alpha, kind = manifest["alpha"] if ranked else 0.0, manifest.get("search", {}).get("penalty", "gnmt")
        return min(1.0, math.exp(searching.mean_log_probability(score, len(ids) + 1, alpha, kind)))

    def write(self, sequences, beam, n_best, sampling, values):
        """Up to `n_best` pairs `(ids, score)` for each of `sequences`; both are dicts by the number of the text."""
        if sampling is None:
            return dict(zip(sequences, self.search(list(sequences.values()), beam, n_best, values), strict=True))
        keys = [(number, sample) for number in sequences for sample in range(n_best)]
        samples = self.draw([sequences[number] for number, _ in keys], keys, sampling, values)
        groups = (samples[first : first + n_best] for first in range(0, len(samples), n_best))
        return dict(zip(sequences, groups, strict=True))

    def search(self, sequences, beam, n_best, values=()):
        beam = self.default_beam if beam is None else beam
        inputs = self._inputs(values, len(sequences)) | {"n_best": np.full(len(sequences), n_best, "int32")}
        rows = self.loaded.run_all(self.graphs[beam], sequences, beam, **inputs)
        return [_hypotheses(row)[:n_best] for row in rows]

    def _inputs(self, values, rows):
        """The inputs of a graph for checked rules, the same for each of so many rows."""
        one = rules.inputs(dict(values), lambda text: self.loaded.target.encode([text])[0])
        return {name: np.repeat(value, rows, axis=0) for name, value in one.items()}

    def _drop_ranking(self, values, beam, sampling):
        """The rules without those that rank hypotheses where a graph has no input for them; they must be off there."""
        searches = sampling is None and (beam or self.default_beam) > 1
        exported = self.loaded.manifest.get("rules", {}) if searches else {}
        lacking = [name for name in values if rules.RULES[name].ranks and name not in exported]
        for name in lacking:
            if values[name] != rules.RULES[name].off and not searches:
                raise ValueError(
                    f"{name} ranks the hypotheses of a beam search; received it with "
                    f"{'beam=1' if sampling is None else 'sampling'}, which has none to rank. Leave one out."
                )
            if values[name] != rules.RULES[name].off:
                flag = f"--{name.replace('_', '-')}"
                raise ValueError(
                    f"{self.loaded.name} was exported without {name}, which its graphs would have to compute in each "
                    f"step. Leave it out, or write an artefact that takes it, if its model attends to its source, with "
                    f"`{self.loaded.artefact.export_command(flag, values[name])}`."
                )
        return {name: value for name, value in values.items() if name not in lacking}

    def draw(self, sequences, keys, sampling, values=(), start=0):
        """One sample for each sequence; its first token has the number `start`, see `Sampling.inputs`."""
        if not sequences:
            return []
        inputs = sampling.inputs(keys, start, self.max_length) | self._inputs(values, len(sequences))
        return [_hypotheses(row)[0] for row in self.loaded.run_all(self.sampler, sequences, **inputs)]

    @property
    def sampler(self):
        return self.loaded.graph("sample")

    def check(self, beam, n_best, sampling, length=None):
        name = self.loaded.name
        for option, value in {"beam": beam, "n_best": n_best, "length": length}.items():
            if (value is not None or option == "n_best") and (
                isinstance(value, bool) or not isinstance(value, Integral)
            ):
                raise TypeError(f"{option} must be a whole number; received {value!r}.")
        if not isinstance(sampling, Sampling | Samplings | None):
            raise TypeError(f"sampling must be a serving.runtime.Sampling, such as Sampling(); received {sampling!r}.")
        if sampling is not None and beam is not None:
            raise ValueError(f"{name} either samples or searches: received sampling and beam={beam}. Leave one out.")
        if sampling is not None and self.loaded.uses_shortlist:
            raise ValueError(
                f"{name} was opened with its shortlist, over which it searches; received sampling. Leave one out."
            )
        if beam is not None and beam < 1:
            raise ValueError(f"beam must be at least 1; received {beam}. Beam widths of {name}: {list(self.beams)}.")
        if beam is not None and beam not in self.beams:
            command = self.loaded.artefact.export_command("--beam", self.default_beam, "--beam", beam)
            raise ValueError(
                f"{name} has no graph for beam {beam}; it has {list(self.beams)}. Write an artefact that has one with "
                f"`{command}`."
            )
        width = self.default_beam if beam is None else beam
        if sampling is None and not 1 <= n_best <= width:
            raise ValueError(
                f"n_best must lie between 1 and the beam width {width}; received {n_best}. "
                f"Beam widths of {name}: {list(self.beams)}."
            )
        if n_best < 1:
            raise ValueError(f"n_best must be at least 1; received {n_best}.")


class Continuer(Writer):
    """Continues each prompt for up to `length` tokens. A blank prompt begins a new text.

    One run of a graph writes at most `max_length` tokens. For more tokens it runs again, with the prompt and the tokens
    so far as the new prompt; the score is then the sum over these runs. The best of a search comes first; samples stay
    in the order of their numbers.
    """

    @property
    def modes(self):
        return [*super().modes, Mode("sample", self.sampler, {"sampling": Sampling()})]

    def run(self, texts, beam=None, n_best=1, sampling=None, length=None, **values):
        self.check(beam, n_best, sampling, length)
        values = rules.checked(values)
        if length is not None and length < 1:
            raise ValueError(f"length must be at least 1 token; received {length}.")
        readings, most = self.loaded.read(texts, end=False), self.loaded.bound.max_input
        prompts = {number: list(reading.ids) for number, reading in enumerate(readings) if not reading.error}
        beams = self.write(prompts, beam, n_best, sampling, values)
        tracks = {(number, rank): pair for number, pairs in beams.items() for rank, pair in enumerate(pairs)}
        for start in range(self.max_length, length or 0, self.max_length):
            if all(len(ids) < start for ids, _ in tracks.values()):
                break
            keys = [key for key, (ids, _) in tracks.items() if len(ids) == start]  # the others ended with EOS
            sequences = [(prompts[key[0]] + tracks[key][0])[-most:] for key in keys]
            if "min_length" in values:
                values = values | {"min_length": max(0, values["min_length"] - self.max_length)}
            if sampling is None:
                more = [pairs[0] for pairs in self.search(sequences, beam, 1, values)]
            else:
                more = self.draw(sequences, keys, sampling, values, start)
            for key, (ids, score) in zip(keys, more, strict=True):
                tracks[key] = tracks[key][0] + ids, tracks[key][1] + score
        if sampling is None:  # later runs may have changed which one is the best; what was cut comes behind
            most = -(-(length or 1) // self.max_length) * self.max_length
            for number, pairs in beams.items():
                ranked = [tracks[number, rank] for rank in range(len(pairs))]
                ranked.sort(key=lambda track: (len(track[0]) >= most, -track[1]))
                tracks |= {(number, rank): track for rank, track in enumerate(ranked)}
        written = {
            number: [self._decode_written(prompts[number], *tracks[number, rank], length) for rank in range(len(pairs))]
            for number, pairs in beams.items()
        }
        for number in written:
            readings[number] = add_doubts(readings[number], tracks[number, 0][0][:length])
        return [self.make_result(written.get(number, [("", 0.0)]), reading) for number, reading in enumerate(readings)]

    def score(self, texts):
        """`(log p, number of tokens)` of each text, without EOS at its end; of a long text only the part that is read.

        A string that UTF-8 cannot encode has no probability: `(nan, 0)`.
        """
        most = self.loaded.manifest.get("longest_text") or self.loaded.bound.max_input
        readings = Bound(max(2, most), "truncate").read(
            as_list(texts), self.loaded.ids, (self.loaded.source.before, ())
        )
        sequences = {number: reading.ids[:most] for number, reading in enumerate(readings) if not reading.error}
        rows = self.loaded.run_all(self.loaded.graph("score"), list(sequences.values()))
        scores = {
            number: (float(row["log_probs"]), len(sequences[number]))
            for number, row in zip(sequences, rows, strict=True)
        }
        return [scores.get(number, (math.nan, 0)) for number in range(len(readings))]

    def _decode_written(self, prompt, ids, score, length):
        before, whole = self.loaded.decode([prompt, prompt + ids[:length]])
        return whole[len(before) :], score


def _hypotheses(row):
    """`(ids, score)` of the outputs of a row, the best first. Empty slots, except for the first, are left out."""
    outputs = zip(row["output_ids"], row["output_lengths"], row["scores"], strict=True)
    return [
        (ids[:length].tolist(), float(score))
        for rank, (ids, length, score) in enumerate(outputs)
        if rank == 0 or score > EMPTY
    ]


@dataclass(frozen=True)
class Attention:
    """An attention map: `weights[j, i]` is the weight of source piece i for output piece j."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: np.ndarray  # (target, source)


def attention(predictor, text, beam=None):
    """The `Attention` of the best output for `text`: the weights with which each of its pieces was written.

    The output is the one that `run` finds. `encoder.onnx` and `step.onnx` then process this output piece by piece, in
    float32 whatever the precision of the search.

    Args:
        predictor: the `Writer` of an artefact that writes an output for a text.
        text: a string.
        beam: as of `run`.

    Raises:
        TypeError: text is not a string.
        ValueError: text is blank or refused, or the model of the artefact keeps no attention weights.
    """
    loaded = predictor.loaded
    if not isinstance(text, str):
        raise TypeError(f"attention expects one string; received {type(text).__name__}.")
    predictor.check(beam, 1, None)
    (reading,) = loaded.read([text])
    if reading.error:
        raise ValueError(f"attention cannot read the text: {reading.error}.")
    if not is_answered(reading):
        raise ValueError(f"attention expects a text with content; received {text!r}.")
    source = list(reading.ids)
    ((output, _),) = predictor.search([source], beam, 1)[0]
    pieces = [*output, EOS][: predictor.max_length]
    names = [tokenizer.pieces for tokenizer in (loaded.source, loaded.target)]
    return Attention(
        *(tuple(side[token] for token in ids) for side, ids in zip(names, (source, pieces), strict=True)),
        _weights(loaded, source, pieces[:-1]),
    )


def _weights(loaded, source, output_ids):
    """Attention weights (written + 1, source time) of the steps that read the first id and the ids `output_ids`."""
    token_ids, lengths = padded([source])
    inputs = loaded.run(loaded.graph("encode"), {"token_ids": token_ids, "lengths": lengths}, "float32")
    rows = []
    for token in (inputs.pop("first_ids"), *np.array(output_ids, "int32").reshape(-1, 1, 1)):
        outputs = loaded.run(loaded.graph("step"), inputs | {"token_ids": token}, "float32")
        if "next_state.attention" not in outputs:
            raise ValueError(
                f"{loaded.name} keeps no attention weights. Choose a recurrent system with attention, which has one "
                "map: a Transformer has one for each head and layer, and a system without attention has none."
            )
        inputs |= {name.removeprefix("next_"): value for name, value in outputs.items()}
        rows.append(inputs["state.attention"][0, 0])
    return np.stack(rows).astype("float32")
