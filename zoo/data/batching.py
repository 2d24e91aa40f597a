"""Padding, and batches: of parallel texts, of labels for texts, words or pairs, and of prompts and completions."""

from collections.abc import Callable

import numpy as np

from zoo.data.epochs import Bucketed
from zoo.text.base import AROUND, BOS, PAD, Around

Sentence = list[list[int]]  # the token ids of each word
Noise = Callable[[Sentence, int, np.random.Generator], Sentence]  # at most so many tokens, drawn with this


def pad(sequences: list[list[int]], length: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Pads sequences on the right with PAD.

    Args:
        sequences: token ids, any lengths.
        length: length of the result; the longest sequence's by default.

    Returns:
        token_ids (batch, length) int32 and lengths (batch,) int32.

    Raises:
        ValueError: if a sequence is longer than `length`.
    """
    lengths = np.array([len(sequence) for sequence in sequences], "int32")
    longest = int(lengths.max(initial=0))
    if length is not None and longest > length:
        raise ValueError(f"A sequence of {longest} tokens does not fit a length of {length}.")
    token_ids = np.full((len(sequences), longest if length is None else length), PAD, "int32")
    for row, sequence in zip(token_ids, sequences, strict=True):
        row[: len(sequence)] = sequence
    return token_ids, lengths


class Batches(Bucketed):
    """Teacher-forcing batches of a parallel corpus, in static shapes `(S, T)`.

    A pair takes as many positions as its source and its target have with what stands around them.

    A batch has source_ids (B, S) int32, source_lengths (B,) int32, target_ids (B, T) int32 (BOS first), labels (B, T)
    int32 (EOS last, as around every text) and weights (B, T) float32, 1 on labels and 0 elsewhere.

    Args:
        sources: token ids of each source, without special ids.
        targets: token ids of each target, without special ids.
        around: the ids before and behind every source, and every target.
        **plan: `batch_size` and the other settings of `Bucketed`.

    Raises:
        ValueError: if the sides differ in number, no pair is left, or a count is not positive.
    """

    def __init__(
        self,
        sources: list[list[int]],
        targets: list[list[int]],
        *,
        around: tuple[Around, Around] = (AROUND, AROUND),
        **plan,
    ):
        if len(sources) != len(targets):
            raise ValueError(
                f"Expected as many targets as sources; received {len(sources)} sources and {len(targets)} targets."
            )
        sizes = [each.size for each in around]
        self._sources, self._targets, self._around = sources, targets, around
        lengths = [
            [len(side) + size for side, size in zip(pair, sizes, strict=True)]
            for pair in zip(sources, targets, strict=True)
        ]
        super().__init__(np.array(lengths, int).reshape(-1, 2), **plan)

    def assemble(self, examples, shape, step):
        source_length, target_length = shape
        fill = [[]] * (self.batch_size - len(examples))
        source, target = self._around
        sources = [source.put(self._sources[example]) for example in examples]
        targets = [target.put(self._targets[example]) for example in examples]
        source_ids, source_lengths = pad(sources + fill, source_length)
        target_ids, lengths = pad([[BOS, *ids][: len(ids)] for ids in targets] + fill, target_length)
        labels, _ = pad(targets + fill, target_length)
        weights = np.arange(target_length) < lengths[:, None]
        return {
            "source_ids": source_ids,
            "source_lengths": source_lengths,
            "target_ids": target_ids,
            "labels": labels,
            "weights": weights.astype("float32"),
        }


class _Sentences(Bucketed):
    """What batches of labels share: words of token ids to `token_ids` (B, T) int32 and `lengths` (B,) int32."""

    def __init__(
        self,
        sentences: list[Sentence],
        labels: list,
        *,
        noise: Noise | None = None,
        around: Around = AROUND,
        **plan,
    ):
        if len(sentences) != len(labels):
            raise ValueError(
                f"Expected labels for every sentence; received {len(sentences)} sentences and {len(labels)} labels."
            )
        self._sentences, self._labels, self._noise, self._around = sentences, labels, noise, around
        growth = 1.0 if noise is None else noise.growth
        lengths = [growth * sum(map(len, sentence)) + around.size for sentence in sentences]
        super().__init__(np.ceil(lengths).astype(int).reshape(-1, 1), **plan)

    def _read(self, examples, shape, step):
        """(the words' ids of each text, token_ids, lengths) of a batch."""
        sentences = [self._sentences[example] for example in examples]
        if self._noise is not None:
            random = np.random.default_rng((self.seed, step, 1))  # a stream of its own beside the epochs'
            sentences = [self._noise(sentence, shape[0] - self._around.size, random) for sentence in sentences]
        texts = [self._around.put(sum(sentence, [])) for sentence in sentences]
        return sentences, *pad(texts + [[]] * (self.batch_size - len(examples)), shape[0])


class LabelledBatches(_Sentences):
    """Texts with one label each: `token_ids` (B, T), `lengths` (B,), `labels` (B,) int32, `weights` (B,) float32.

    Args:
        sentences: of each text, the token ids of each of its words.
        labels: the id of each text's label; or its number, a float, and `labels` of a batch are float32.
        noise: draws another form of a sentence for every batch, see `zoo.text.SubwordNoise`; a batch stays a pure
            function of the seed and the step.
        around: the ids before and behind every text.
        **plan: `batch_size` and the other settings of `Bucketed`.

    Raises:
        ValueError: if labels and sentences differ in number, none is left, or a count is not positive.
    """

    def __init__(self, sentences: list[Sentence], labels: list, **kwargs):
        super().__init__(sentences, _numbers(labels), **kwargs)

    def assemble(self, examples, shape, step):
        _, token_ids, lengths = self._read(examples, shape, step)
        return {"token_ids": token_ids, "lengths": lengths, **_filled(self._labels[list(examples)], self.batch_size)}


class TaggedBatches(_Sentences):
    """Words with one label each, which stands at the word's first piece.

    A batch has `token_ids` (B, T), `lengths` (B,), `labels` (B, T) int32 and `weights` (B, T) float32: 1 at the first
    piece of each word, 0 elsewhere.

    Args: as of `LabelledBatches`, but `labels` holds a list for each sentence, one id a word, and no word is empty.
    """

    def __init__(self, sentences: list[Sentence], labels: list[list[int]], **kwargs):
        for number, (sentence, tags) in enumerate(zip(sentences, labels, strict=False)):
            if len(sentence) != len(tags) or not all(sentence):
                empty = sum(not word for word in sentence)
                raise ValueError(
                    f"Sentence {number} has {len(sentence)} words, {empty} of them without tokens, and {len(tags)} "
                    "labels: expected a label and at least one token for each word."
                )
        super().__init__(sentences, labels, **kwargs)

    def assemble(self, examples, shape, step):
        sentences, token_ids, lengths = self._read(examples, shape, step)
        labels, weights = np.zeros(token_ids.shape, "int32"), np.zeros(token_ids.shape, "float32")
        for index, (example, sentence) in enumerate(zip(examples, sentences, strict=True)):
            first = first_pieces(sentence) + len(self._around.before)
            labels[index, first] = self._labels[example]
            weights[index, first] = 1.0
        return {"token_ids": token_ids, "lengths": lengths, "labels": labels, "weights": weights}


class PairBatches(Bucketed):
    """Two texts with one label for the pair: `first_ids` (B, S), `first_lengths` (B,), `second_ids` (B, T),
    `second_lengths` (B,), `labels` (B,) int32, or float32 where they are numbers, and `weights` (B,) float32.

    Args:
        pairs: of each pair, the token ids of each word of the first text, and those of the second.
        labels: the id of each pair's label, or its number, a float.
        around: the ids before and behind every text.
        **plan: `batch_size` and the other settings of `Bucketed`.

    Raises:
        ValueError: if labels and pairs differ in number, none is left, or a count is not positive.
    """

    def __init__(self, pairs: list[tuple[Sentence, Sentence]], labels: list, *, around: Around = AROUND, **plan):
        if len(pairs) != len(labels):
            raise ValueError(f"Expected a label for every pair; received {len(pairs)} pairs and {len(labels)} labels.")
        self._sides = [[around.put(sum(sentence, [])) for sentence in side] for side in zip(*pairs, strict=True)]
        self._labels = _numbers(labels)
        lengths = [[len(text) for text in side] for side in self._sides] or [[], []]
        super().__init__(np.array(lengths, int).T, **plan)

    def assemble(self, examples, shape, step):
        batch, fill = {}, [[]] * (self.batch_size - len(examples))
        for name, side, length in zip(("first", "second"), self._sides, shape, strict=True):
            ids, lengths = pad([side[example] for example in examples] + fill, length)
            batch |= {f"{name}_ids": ids, f"{name}_lengths": lengths}
        return batch | _filled(self._labels[list(examples)], self.batch_size)


class PartnerBatches(PairBatches):
    """Pairs of texts that belong together: the label of a row is its own place, where its partner stands.

    A batch has `scale` (B,) float32, too, by which a row's cosines are multiplied, so that a model of
    `zoo.models.Encoder` gives logits of which text of the batch is the partner.

    Args:
        pairs: as of `PairBatches`.
        scale: a number above 0.
        **plan: as of `PairBatches`.
    """

    def __init__(self, pairs: list[tuple[Sentence, Sentence]], scale: float, **plan):
        super().__init__(pairs, [0] * len(pairs), **plan)
        self._scale = scale

    def assemble(self, examples, shape, step):
        places, scale = np.arange(self.batch_size, dtype="int32"), np.full(self.batch_size, self._scale, "float32")
        return super().assemble(examples, shape, step) | {"labels": places, "scale": scale}


class Completions(Bucketed):
    """`token_ids` (B, T): BOS and the text but for its last token; `labels` (B, T): the text; `weights` (B, T) float32.

    A text is a prompt and its completion; weights are 1 where the label belongs to a completion, 0 elsewhere.

    Args:
        prompts: token ids of each prompt.
        completions: token ids of what follows each, at least one token.
        **plan: `batch_size` and the other settings of `Bucketed`.

    Raises:
        ValueError: if prompts and completions differ in number, a completion is empty, or a count is not positive.
    """

    def __init__(self, prompts: list[list[int]], completions: list[list[int]], **plan):
        empty = sum(not completion for completion in completions)
        if len(prompts) != len(completions) or empty:
            raise ValueError(
                "Expected a completion of at least one token for every prompt; received "
                f"{len(prompts)} prompts, {len(completions)} completions and {empty} empty ones."
            )
        self._prompts, self._completions = prompts, completions
        lengths = [len(one) + len(other) for one, other in zip(prompts, completions, strict=True)]
        super().__init__(np.array(lengths, int).reshape(-1, 1), **plan)

    def assemble(self, examples, shape, step):
        token_ids, labels = (np.zeros((self.batch_size, shape[0]), "int32") for _ in range(2))
        weights = np.zeros(labels.shape, "float32")
        token_ids[: len(examples), 0] = BOS
        for index, example in enumerate(examples):
            prompt, text = self._prompts[example], self._prompts[example] + self._completions[example]
            labels[index, : len(text)] = text
            token_ids[index, 1 : len(text)] = text[:-1]
            weights[index, len(prompt) : len(text)] = 1.0
        return {"token_ids": token_ids, "labels": labels, "weights": weights}


def _numbers(labels):
    """Ids of labels as int32, and numbers, of which one has a fraction, as float32."""
    labels = np.asarray(labels)
    return labels.astype("float32" if labels.dtype.kind == "f" else "int32")


def _filled(labels, batch_size):
    """`labels` and `weights` of a batch: 0 behind those that there are."""
    whole, weights = np.zeros(batch_size, labels.dtype), np.zeros(batch_size, "float32")
    whole[: len(labels)], weights[: len(labels)] = labels, 1.0
    return {"labels": whole, "weights": weights}


def first_pieces(sentence: Sentence) -> np.ndarray:
    """The position of each word's first token in the joined sentence: (words,) integers."""
    counts = np.array([len(word) for word in sentence], int)
    return np.cumsum(counts) - counts
