"""Batches for a language model that continues a prompt: only the continuation counts in the loss."""

import numpy as np

from zoo.data.epochs import Bucketed
from zoo.text.special import BOS


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
