"""The law of the step protocol: stepping is the full pass, whatever way the beams go."""

import numpy as np
from keras import ops, tree

from zoo.check.laws import assert_close
from zoo.models import LanguageModel

BOS = 2


def full_pass(model, source_ids, source_lengths):
    """`histories (batch, beams, time) -> logits (batch, beams, vocabulary)` behind them, by the model's call.

    A history begins with the token that `start` gives: BOS, or a language model's last token of the prompt.
    """

    def translate(histories):
        batch, beams, time = histories.shape
        inputs = {
            "source_ids": np.repeat(source_ids, beams, axis=0),
            "source_lengths": np.repeat(source_lengths, beams),
            "target_ids": histories.reshape(-1, time),
        }
        return ops.convert_to_numpy(model(inputs))[:, -1].reshape(batch, beams, -1)

    def go_on(histories):
        batch, beams, _ = histories.shape
        prompts = [row[:length] for row, length in zip(source_ids, source_lengths, strict=True)]
        prompts = [row[-model.longest_prompt :] if model.longest_prompt else row for row in prompts]
        texts = [
            [BOS, *prompt, *history[1:]] for prompt, rows in zip(prompts, histories, strict=True) for history in rows
        ]
        padded = np.full((batch * beams, max(map(len, texts))), 1, "int32")
        for index, text in enumerate(texts):
            padded[index, : len(text)] = text
        logits = ops.convert_to_numpy(model({"token_ids": padded}))
        return np.stack([row[len(text) - 1] for row, text in zip(logits, texts, strict=True)]).reshape(batch, beams, -1)

    return go_on if isinstance(model, LanguageModel) else translate


def check_steps(model, source_ids, source_lengths, following, parents=None, max_length=None):
    """Feed the first tokens and then `following (batch, beams, time)`; every logit is that of the full pass.

    Args:
        parents: of the shape of `following`: the beams whose histories its tokens go on. None: each its own.
        max_length: of static caches, whose shapes then must stay; None: caches that grow.
    """
    memory = model.encode(source_ids, source_lengths)
    full = full_pass(model, source_ids, source_lengths)
    first, state = model.start(memory, following.shape[1], max_length)
    histories, shapes = ops.convert_to_numpy(first)[:, :, None], shapes_of(state)
    for position in range(following.shape[2] + 1):
        if position:
            if parents is not None:
                state = model.reorder(state, parents[:, :, position - 1])
                histories = np.take_along_axis(histories, parents[:, :, position - 1 : position], axis=1)
            histories = np.concatenate([histories, following[:, :, position - 1 : position]], axis=2)
        logits, state = model.step(histories[:, :, -1], state, memory)
        assert_close([ops.convert_to_numpy(logits)], [full(histories)], 2e-5)
        assert max_length is None or shapes_of(state) == shapes


def shapes_of(state):
    return tree.map_structure(lambda leaf: (tuple(leaf.shape), str(leaf.dtype)), state)
