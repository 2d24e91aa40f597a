"""Whether an imported network says what it says in its source's framework.

Where `transformers` is installed, it answers random ids. Else the answers are taken that the folder keeps in
`answers.npz`: `token_ids` and `lengths` (of a translator `source_ids`, `source_lengths` and `target_ids`), with the ids
of the source, and what it makes of them: `logits`, or `states`.
"""

import importlib.util

import numpy as np

from zoo.pretrained.files import ANSWERS as KEPT

ALLOWED = 1e-4  # of the largest number
TEXTS, LONGEST = 8, 24


def compare(opened, source):
    """{"with", "what", "largest", "texts"}: the largest difference, as a share of the largest number; or None.

    Raises:
        ValueError: they differ by more than `ALLOWED`.
    """
    found = kept(source) or _asked(opened, source)
    if found is None:
        return None
    whom, answers = found
    what, largest = measure(opened.model, opened.network, answers)
    if not largest <= ALLOWED:
        raise ValueError(
            f"{source.address}: the {what} of the imported network differ from those of {whom} by {largest:.2g} of "
            f"their largest; allowed is {ALLOWED}. So it is not the same network, and nothing was written."
        )
    texts = len(answers["lengths" if "lengths" in answers else "source_lengths"])
    return {"with": whom, "what": what, "largest": float(largest), "texts": texts}


def kept(source):
    """("answers.npz", its arrays), or None."""
    if not source.has(KEPT):
        return None
    with np.load(source.path(KEPT), allow_pickle=False) as arrays:
        return f"the answers that its folder keeps ({KEPT})", dict(arrays)


def measure(model, network, answers):
    """(what was compared, the largest difference as a share of the largest number), padding left out."""
    batch = {
        name: ours(value, network.ids_of(name.partition("_")[0])) if name.endswith("ids") else value
        for name, value in answers.items()
    }
    batch = {name: value.astype("int32") for name, value in batch.items() if name not in ("logits", "states")}
    what = "states" if "states" in answers else "logits"
    made = np.asarray(model.states(batch) if what == "states" else model(batch))
    theirs = answers[what]
    if what == "logits" and theirs.shape[-1] != made.shape[-1] or what == "logits" and not network.labels:
        theirs = theirs[..., network.ids]
    difference = np.abs(made - theirs)
    if what == "logits" and not network.labels:
        difference[..., list(network.barred)] = 0
    if "lengths" in answers and difference.ndim == 3:
        difference = difference[np.arange(difference.shape[1])[None, :] < answers["lengths"][:, None]]
    return what, difference.max() / np.abs(theirs).max()


def ours(ids, theirs):
    """Ids of the source as ours, of `theirs` for each of ours; what begins a target is our BOS."""
    new = np.zeros(theirs.max() + 1, int)
    new[theirs[::-1]] = np.arange(len(theirs))[::-1]
    return new[ids]


def _asked(opened, source):
    """(what answered, random ids and what it made of them), or None where it is not installed."""
    if not opened.family.reference or importlib.util.find_spec("transformers") is None:
        return None
    import torch
    import transformers

    model = getattr(transformers, opened.family.reference).from_pretrained(source.folder, local_files_only=True).eval()
    generator = np.random.default_rng(1)
    ordinary = opened.network.ids[4:]
    lengths = generator.integers(3, LONGEST, TEXTS)
    lengths[0] = LONGEST
    ids = generator.choice(ordinary, (TEXTS, LONGEST))
    there = np.arange(LONGEST)[None, :] < lengths[:, None]
    ids = np.where(there, ids, opened.network.ids[0])
    tensors = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(there.astype(int))}
    given = {"token_ids": ids, "lengths": lengths}
    if model.config.is_encoder_decoder:
        target = np.concatenate([np.full((TEXTS, 1), opened.network.ids[2]), generator.choice(ordinary, (TEXTS, 9))], 1)
        tensors["decoder_input_ids"] = torch.tensor(target)
        given = {"source_ids": ids, "source_lengths": lengths, "target_ids": target}
    with torch.no_grad():
        answers = model(**tensors)
    what = "logits" if "logits" in answers else "states"
    found = (answers.logits if what == "logits" else answers.last_hidden_state).numpy()
    return f"transformers {transformers.__version__}", given | {what: found}
