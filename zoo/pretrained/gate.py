"""Compares the answers of an imported network with those of its source's framework.

A folder may keep such answers in `answers.npz`: `token_ids` and `lengths` (of a translator `source_ids`,
`source_lengths` and `target_ids`), in the ids of the source, and what its framework makes of them: `logits`, or
`states`. Without them `transformers` answers random ids, where it is installed.
"""

import importlib.util

import numpy as np

from zoo.core.later import later
from zoo.pretrained.files import ANSWERS, read_tensors
from zoo.pretrained.vocabulary import to_our_ids

torch = later("torch")
transformers = later("transformers")

ALLOWED = 1e-4  # of the largest number
TEXTS, LONGEST = 8, 24


def compare(opened, source):
    """{"with", "what", "largest", "texts"}: the largest difference, as a share of the largest number.

    The result is None where there are no answers to compare with.

    Raises:
        ValueError: they differ by more than `ALLOWED`.
    """
    reference = read_answers(source) or _ask_transformers(opened, source)
    if reference is None:
        return None
    whom, answers = reference
    _check_answers(whom, answers, opened.network)
    what, largest = measure(opened.model, opened.network, answers)
    if not largest <= ALLOWED:
        raise ValueError(
            f"{source.address}: the {what} of the imported network differ from those of {whom} by {largest:.2g} of "
            f"their largest; allowed is {ALLOWED}. So it is not the same network, and nothing was written."
        )
    texts = len(answers["lengths" if "lengths" in answers else "source_lengths"])
    return {"with": whom, "what": what, "largest": float(largest), "texts": texts}


def read_answers(source):
    """(the name of the answers that the folder keeps, their arrays), or None without such."""
    if not source.has(ANSWERS):
        return None
    arrays = {name: each.read() for name, each in read_tensors([source.path(ANSWERS)]).items()}
    return f"the answers that its folder keeps ({ANSWERS})", arrays


def _check_answers(whom, answers, network):
    """Refuse arrays that are no answers of the network: some are missing, or have another form."""
    names = sorted(name for name in answers if name.endswith("_ids"))
    lengths = answers.get("source_lengths" if len(names) == 2 else "lengths", np.zeros(0))
    most = {name: network.ids_of(name.partition("_")[0]).max() for name in names}
    valid = names in (["token_ids"], ["source_ids", "target_ids"]) and answers.keys() & {"logits", "states"}
    valid = valid and all(_has_whole_numbers(answers[name], 2, 0, most[name]) for name in names)
    valid = valid and {len(answers[name]) for name in names} == {len(lengths)}
    if not valid or not _has_whole_numbers(lengths, 1, 1, answers[names[0]].shape[1]):
        raise ValueError(
            f"{whom} are no answers of this network: expected token_ids and lengths, or source_ids, source_lengths and "
            f"target_ids, of its vocabulary, and logits or states; received {', '.join(answers) or 'nothing'}."
        )


def _has_whole_numbers(array, axes, least, most):
    """Whether an array has whole numbers between two bounds, and so many axes."""
    whole = array.dtype.kind in "iu" and array.ndim == axes and array.size
    return whole and least <= array.min() <= array.max() <= most


def measure(model, network, answers):
    """(what was compared, the largest difference as a share of the largest number), padding left out."""
    batch = {
        name: to_our_ids(value, network.ids_of(name.partition("_")[0])) if name.endswith("ids") else value
        for name, value in answers.items()
    }
    batch = {name: value.astype("int32") for name, value in batch.items() if name not in ("logits", "states")}
    what = "states" if "states" in answers else "logits"
    outputs = np.asarray(model.states(batch) if what == "states" else model(batch))
    expected = answers[what]
    if what == "logits" and (not network.labels or expected.shape[-1] != outputs.shape[-1]):
        expected = expected[..., network.ids]
    if what == "logits" and not network.labels:
        compared = ~np.isin(np.arange(len(network.ids)), network.barred)
        outputs, expected = outputs[..., compared], expected[..., compared]
    if outputs.shape != expected.shape:
        raise ValueError(
            f"the {what} of the answers have the shape {expected.shape}, those of the network {outputs.shape}."
        )
    difference = np.abs(outputs - expected)
    if "lengths" in answers and difference.ndim == 3:
        difference = difference[np.arange(difference.shape[1])[None, :] < answers["lengths"][:, None]]
    return what, difference.max() / np.abs(expected).max()


def _ask_transformers(opened, source):
    """(the framework's name, random ids and its outputs), or None where it is not installed, or cannot answer."""
    if not opened.family.reference or importlib.util.find_spec("transformers") is None:
        return None
    generator, ids = np.random.default_rng(1), opened.network.ids
    longest = _longest_text(opened.network.recipe)
    lengths = generator.integers(1, longest, TEXTS, endpoint=True)
    lengths[0] = longest
    token_ids = generator.choice(ids[4:], (TEXTS, longest))
    token_ids[np.arange(longest)[None, :] >= lengths[:, None]] = ids[0]
    target_ids = generator.choice(ids[4:], (TEXTS, min(10, longest)))
    target_ids[:, 0] = ids[2]
    answers = []
    try:
        name = source.config.words("architectures")[0] if opened.network.labels else opened.family.reference
        model = getattr(transformers, name).from_pretrained(source.folder, local_files_only=True)
        model, writes = model.eval().float(), model.config.is_encoder_decoder
        for row, length in enumerate(lengths):  # one by one, for some networks answer otherwise beside longer texts
            inputs = {"input_ids": torch.tensor(token_ids[row : row + 1, :length])}
            inputs |= {"decoder_input_ids": torch.tensor(target_ids[row : row + 1])} if writes else {}
            with torch.no_grad():
                answers.append(model(**inputs))
    except Exception:  # of a framework that reads other sources than we do, or no text of this length
        return None
    what = "logits" if "logits" in answers[0] else "states"
    rows = [(each.logits if what == "logits" else each.last_hidden_state).numpy()[0] for each in answers]
    outputs = np.zeros((TEXTS, *max(each.shape for each in rows)), "float32")
    for row, each in enumerate(rows):
        outputs[(row, *map(slice, each.shape))] = each
    asked = {"token_ids": token_ids, "lengths": lengths}
    if writes:
        asked = {"source_ids": token_ids, "source_lengths": lengths, "target_ids": target_ids}
    return f"transformers {transformers.__version__}", asked | {what: outputs}


def _longest_text(recipe):
    """The length of the longest random text, for which the network has positions."""
    tables = {"text": "max_input_length", "model": "context", "positions": "max_positions"}
    bounds = [recipe[table].get(name) for table, name in tables.items() if isinstance(recipe.get(table), dict)]
    return min([LONGEST, *filter(None, bounds)])
