"""Texts that are written: from a source, or on from a prompt."""

from serving.predictors.results import Hypothesis, Mode, Result, Sampling

EMPTY = -1e9  # the score of a slot without a hypothesis, as the decoding graphs write it


class Generate:
    """An output for every source; a blank source has a blank one, with score 0."""

    options = ("beam", "n_best", "sampling")

    def __init__(self, loaded):
        self.loaded = loaded
        manifest = loaded.manifest
        self.graphs = {int(beams): graph for beams, graph in manifest["generation"].items()}
        self.beams, self.default_beam = tuple(sorted(self.graphs)), manifest["default_beam"]
        self.max_length = manifest["max_length"]

    @property
    def modes(self):
        return [Mode(f"beam {beam}", self.graphs[beam], {"beam": beam}) for beam in self.beams]

    def run(self, texts, beam=None, n_best=1, sampling=None):
        self.check(beam, n_best, sampling)
        sources = self.loaded.encode(texts)
        spoken = [number for number, ids in enumerate(sources) if ids]
        sequences = {number: [*sources[number], *self.loaded.end] for number in spoken}
        results = [self.result([("", 0.0)])] * len(sources)
        for number, found in self.write(sequences, beam, n_best, sampling).items():
            texts_ = self.loaded.decode([ids for ids, _ in found])
            results[number] = self.result([(text, score) for text, (_, score) in zip(texts_, found, strict=True)])
        return results

    @staticmethod
    def result(pairs):
        return Result(*pairs[0], tuple(Hypothesis(*pair) for pair in pairs))

    def write(self, sequences, beam, n_best, sampling):
        """Up to `n_best` pairs `(ids, score)` for each of `sequences`, a dict by the number of the text."""
        if sampling is None:
            return dict(zip(sequences, self.search(list(sequences.values()), beam, n_best), strict=True))
        keys = [(number, sample) for number in sequences for sample in range(n_best)]
        drawn = self.draw([sequences[number] for number, _ in keys], keys, sampling)
        groups = (drawn[first : first + n_best] for first in range(0, len(drawn), n_best))
        return dict(zip(sequences, groups, strict=True))

    def search(self, sequences, beam, n_best):
        graph = self.graphs[self.default_beam if beam is None else beam]
        return [_hypotheses(row)[:n_best] for row in self.loaded.run_all(graph, sequences)]

    def draw(self, sequences, keys, sampling, start=0):
        """A sample for each sequence, its tokens counted from `start`; see `Sampling.inputs`."""
        if not sequences:
            return []
        inputs = sampling.inputs(keys, start, self.max_length)
        return [_hypotheses(row)[0] for row in self.loaded.run_all(self.sampler, sequences, **inputs)]

    @property
    def sampler(self):
        return self.loaded.graph("sample")

    def check(self, beam, n_best, sampling):
        name = self.loaded.name
        if sampling is not None and beam is not None:
            raise ValueError(f"{name} either samples or searches: received sampling and beam={beam}. Leave one out.")
        if beam is not None and beam not in self.beams:
            raise ValueError(
                f"{name} has no graph for beam {beam}; it has {list(self.beams)}. "
                f"Write one with `seqzoo export RUN --beam {self.default_beam} --beam {beam}`."
            )
        width = self.default_beam if beam is None else beam
        if sampling is None and not 1 <= n_best <= width:
            raise ValueError(
                f"n_best must lie between 1 and the beam width {width}; received {n_best}. "
                f"Beam widths of {name}: {list(self.beams)}."
            )
        if n_best < 1:
            raise ValueError(f"n_best must be at least 1; received {n_best}.")


class Continue(Generate):
    """How each prompt goes on, for `length` tokens; a blank prompt is the beginning of a text.

    A graph writes `max_length` tokens at most. For more, it is asked again with what there is now as the prompt; the
    score is then the sum over the parts.
    """

    options = (*Generate.options, "length")

    @property
    def modes(self):
        return [*super().modes, Mode("sample", self.sampler, {"sampling": Sampling()})]

    def run(self, texts, beam=None, n_best=1, sampling=None, length=None):
        self.check(beam, n_best, sampling)
        if length is not None and length < 1:
            raise ValueError(f"length must be at least 1 token; received {length}.")
        prompts = dict(enumerate(self.loaded.encode(texts)))
        found = self.write(prompts, beam, n_best, sampling)
        tracks = {(number, rank): pair for number, pairs in found.items() for rank, pair in enumerate(pairs)}
        for start in range(self.max_length, length or 0, self.max_length):
            keys = [key for key, (ids, _) in tracks.items() if len(ids) == start]  # the others met EOS
            sequences = [prompts[key[0]] + tracks[key][0] for key in keys]
            if sampling is None:
                more = [pairs[0] for pairs in self.search(sequences, beam, 1)]
            else:
                more = self.draw(sequences, keys, sampling, start)
            for key, (ids, score) in zip(keys, more, strict=True):
                tracks[key] = tracks[key][0] + ids, tracks[key][1] + score
        return [
            self.result([self._read(prompts[number], *tracks[number, rank], length) for rank in range(len(pairs))])
            for number, pairs in found.items()
        ]

    def score(self, texts):
        """`(log p, number of tokens)` of each text, which EOS does not end; of a long one, of what the model reads."""
        most = self.loaded.manifest.get("longest_text")
        sequences = [ids[:most] for ids in self.loaded.encode(texts)]
        found = self.loaded.run_all(self.loaded.graph("score"), sequences)
        return [(float(row["log_probs"]), len(ids)) for row, ids in zip(found, sequences, strict=True)]

    def _read(self, prompt, ids, score, length):
        before, whole = self.loaded.decode([prompt, prompt + ids[:length]])
        return whole[len(before) :], score


def _hypotheses(row):
    """`(ids, score)` of a row's outputs, best first: the first, and of the others those that there are."""
    found = zip(row["output_ids"], row["output_lengths"], row["scores"], strict=True)
    return [
        (ids[:length].tolist(), float(score))
        for rank, (ids, length, score) in enumerate(found)
        if rank == 0 or score > EMPTY
    ]
