"""Batches for a language model: windows of a running text, or prompts of whose completions alone the loss is."""

from collections.abc import Iterator

import numpy as np

from zoo.data.epochs import Bucketed, check_step
from zoo.text.base import BOS, PAD


class Windows:
    """`token_ids` (B, C): BOS and then C - 1 tokens; `labels` (B, C): C tokens; `weights` (B, C) float32.

    If shuffled, the windows of a step begin at random places, drawn from (seed, step) alone. Otherwise they follow each
    other: every token of the text is predicted exactly once an epoch, and the last batch is filled up with weight 0.

    Args:
        ids: token ids of the whole text.
        context: C, the number of tokens of a window.
        batch_size: B, the number of windows of every batch.
        seed: of the places.
        shuffle: random windows, or with False consecutive ones.

    Attributes:
        shapes, dropped: as of `zoo.data.Batches`: `[(C,)]` and 0.
        steps_per_epoch: number of batches that hold as many tokens as the text.

    Raises:
        ValueError: if a count is not positive, or the text is shorter than a window.
    """

    dropped = 0

    def __init__(self, ids: list[int], *, context: int, batch_size: int, seed: int = 0, shuffle: bool = True):
        if context < 1 or batch_size < 1:
            raise ValueError(f"context and batch_size must be positive; received {context} and {batch_size}.")
        if len(ids) < context:
            raise ValueError(
                f"The text has {len(ids)} tokens and is shorter than a window of context={context}: "
                "give more text, or a shorter context."
            )
        self._ids = np.asarray(ids, "int32")
        self.context, self.batch_size, self.seed, self.shuffle = context, batch_size, seed, shuffle
        self.shapes = [(context,)]
        self.steps_per_epoch = -(-len(ids) // (context * batch_size))

    def batch(self, step: int) -> dict[str, np.ndarray]:
        """The batch of a global step >= 0."""
        check_step(step)
        places = self._starts(step)[:, None] + np.arange(self.context)
        there = places < len(self._ids)
        labels = np.where(there, self._ids[np.minimum(places, len(self._ids) - 1)], PAD)
        begins = np.full((self.batch_size, 1), BOS, "int32")
        return {
            "token_ids": np.concatenate([begins, labels[:, :-1]], axis=1),
            "labels": labels,
            "weights": there.astype("float32"),
        }

    def longest(self) -> dict[str, np.ndarray]:
        """A batch of the only shape: for whoever asks what a step will cost."""
        return self.batch(0)

    def by_shape(self) -> list[tuple[int, dict[str, np.ndarray]]]:
        """How many batches of an epoch have each shape, and one of them: there is one shape."""
        return [(self.steps_per_epoch, self.longest())]

    def _starts(self, step: int) -> np.ndarray:
        """Where each window begins: (batch_size,)."""
        if self.shuffle:
            random = np.random.default_rng((self.seed, step))
            return random.integers(len(self._ids) - self.context + 1, size=self.batch_size)
        first = step % self.steps_per_epoch * self.batch_size
        return (first + np.arange(self.batch_size)) * self.context

    def __len__(self) -> int:
        return self.steps_per_epoch

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        """The batches of epoch 0."""
        return (self.batch(step) for step in range(self.steps_per_epoch))


class Completions(Bucketed):
    """`token_ids` (B, T): BOS and the text but for its last token; `labels` (B, T): the text; `weights` (B, T) float32.

    A text is a prompt and its completion; weights are 1 where the label belongs to a completion, 0 elsewhere.

    Args:
        prompts: token ids of each prompt.
        completions: token ids of what follows each, at least one token.
        **plan: `batch_size` and the other settings of `zoo.data.epochs.Bucketed`.

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
