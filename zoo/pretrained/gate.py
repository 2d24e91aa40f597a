"""Whether an imported network says what it says in its source's framework.

Answers are taken that the folder keeps in `answers.npz`: `token_ids` and `lengths` (of a translator `source_ids`,
`source_lengths` and `target_ids`), with the ids of the source, and what it makes of them: `logits`, or `states`. Else
`transformers` answers random ids, where it is installed.
"""

import importlib.util

import numpy as np

from zoo.core.later import later
from zoo.pretrained.files import ANSWERS as KEPT, read_tensors
from zoo.pretrained.vocabulary import ours

torch = later("torch")
transformers = later("transformers")

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
    _refuse_odd(whom, answers, opened.network)
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
    arrays = {name: each.read() for name, each in read_tensors([source.path(KEPT)]).items()}
    return f"the answers that its folder keeps ({KEPT})", arrays


def _refuse_odd(whom, answers, network):
    """Refuse what are no answers.

    Raises:
        ValueError: arrays are missing, or have another form.
    """
    names = sorted(name for name in answers if name.endswith("_ids"))
    lengths = answers.get("source_lengths" if len(names) == 2 else "lengths", np.zeros(0))
    most = {name: network.ids_of(name.partition("_")[0]).max() for name in names}
    right = names in (["token_ids"], ["source_ids", "target_ids"]) and answers.keys() & {"logits", "states"}
    right = right and all(_whole(answers[name], 2, 0, most[name]) for name in names)
    right = right and {len(answers[name]) for name in names} == {len(lengths)}
    if not right or not _whole(lengths, 1, 1, answers[names[0]].shape[1]):
        raise ValueError(
            f"{whom} are no answers of this network: expected token_ids and lengths, or source_ids, source_lengths and "
            f"target_ids, of its vocabulary, and logits or states; received {', '.join(answers) or 'nothing'}."
        )


def _whole(array, axes, least, most):
    """Whether an array has whole numbers between two bounds, and so many axes."""
    right = array.dtype.kind in "iu" and array.ndim == axes and array.size
    return right and least <= array.min() <= array.max() <= most


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
    if what == "logits" and not network.labels:
        compared = ~np.isin(np.arange(len(network.ids)), network.barred)
        made, theirs = made[..., compared], theirs[..., compared]
    if made.shape != theirs.shape:
        raise ValueError(f"the answers' {what} have the shape {theirs.shape}, and those of the network {made.shape}.")
    difference = np.abs(made - theirs)
    if "lengths" in answers and difference.ndim == 3:
        difference = difference[np.arange(difference.shape[1])[None, :] < answers["lengths"][:, None]]
    return what, difference.max() / np.abs(theirs).max()


def _asked(opened, source):
    """(what answered, random ids and what it made of them), or None where it is not installed, or cannot answer."""
    if not opened.family.reference or importlib.util.find_spec("transformers") is None:
        return None
    generator, ids = np.random.default_rng(1), opened.network.ids
    longest = _longest(opened.network.recipe)
    lengths = generator.integers(1, longest, TEXTS, endpoint=True)
    lengths[0] = longest
    token_ids = generator.choice(ids[4:], (TEXTS, longest))
    token_ids[np.arange(longest)[None, :] >= lengths[:, None]] = ids[0]
    target_ids = generator.choice(ids[4:], (TEXTS, min(10, longest)))
    target_ids[:, 0] = ids[2]
    answers = []
    try:
        name = source.config.words("architectures")[0] if opened.network.labels else opened.family.reference
        made = getattr(transformers, name).from_pretrained(source.folder, local_files_only=True)
        made, writes = made.eval().float(), made.config.is_encoder_decoder
        for row, length in enumerate(lengths):  # one by one, for some networks answer otherwise beside longer texts
            given = {"input_ids": torch.tensor(token_ids[row : row + 1, :length])}
            given |= {"decoder_input_ids": torch.tensor(target_ids[row : row + 1])} if writes else {}
            with torch.no_grad():
                answers.append(made(**given))
    except Exception:  # of a framework that reads other sources than we do, or no text of this length
        return None
    what = "logits" if "logits" in answers[0] else "states"
    rows = [(each.logits if what == "logits" else each.last_hidden_state).numpy()[0] for each in answers]
    found = np.zeros((TEXTS, *max(each.shape for each in rows)), "float32")
    for row, each in enumerate(rows):
        found[(row, *map(slice, each.shape))] = each
    kept = {"token_ids": token_ids, "lengths": lengths}
    if writes:
        kept = {"source_ids": token_ids, "source_lengths": lengths, "target_ids": target_ids}
    return f"transformers {transformers.__version__}", kept | {what: found}


def _longest(recipe):
    """How long the random texts may be: no longer than the network has positions."""
    tables = {"text": "max_input_length", "model": "context", "positions": "max_positions"}
    held = (recipe.get(table) for table in tables)
    bounds = [each.get(name) for each, name in zip(held, tables.values(), strict=True) if isinstance(each, dict)]
    return min([LONGEST, *filter(None, bounds)])
