"""Writes an imported network as a run, which is there as a whole or not at all."""

from pathlib import Path

import numpy as np

from zoo.core.storage import folder_beside, save_model, write_json, write_text
from zoo.recipes.files import dumps
from zoo.recipes.folder import LABELS, SHORTLIST, tokenizer_names
from zoo.recipes.recipe import make, plain

RECORD, CARD = "import.json", "card.md"


def write_run(opened, source, parity, out, name, force=False):
    """Write the folder `out`, and return its record.

    Args:
        opened: a `zoo.pretrained.opening.Opened` with tokenizers.
        source: the `Source`.
        parity: what `zoo.pretrained.gate.compare` found.
        out: the folder.
        name: of the recipe.
        force: take the place of a run that is there.

    Raises:
        ValueError: `out` is there already.
    """
    out = Path(out)
    check_place(out, force)
    recipe = make(plain(opened.recipe) | {"name": name, "description": f"imported from {source.address}"})
    record = describe(opened, source, parity)
    with folder_beside(out) as beside:  # which takes the place of a run that is there, with --force
        write_text(beside / "recipe.toml", dumps(recipe))
        for each, tokenizer in zip(tokenizer_names(recipe), opened.tokenizers, strict=True):
            tokenizer.save(beside / each)
        if recipe.job.labelled:
            write_json(beside / LABELS, opened.network.labels)
        write_json(beside / "data.json", {"licence": record["licence"], "splits": {}, "unseen": {}, "duplicates": {}})
        write_json(beside / RECORD, record)
        write_text(beside / CARD, card(name, recipe, record))
        if opened.network.shortlist:
            np.savez_compressed(beside / SHORTLIST, **opened.network.shortlist)
        save_model(opened.model, beside / "model.keras")
    return record


def check_place(out, force):
    """Refuse a place that is taken.

    Raises:
        ValueError: there is something else than a run, or a run and no `force`.
    """
    if out.is_dir() and (out / RECORD).is_file() and force:
        return
    if out.exists() and (out.is_file() or any(out.iterdir())):
        if (out / RECORD).is_file():
            raise ValueError(f"{out} is an imported run already. Choose another --out, or write over it with --force.")
        raise ValueError(
            f"{out} is there already, and is no imported run; those alone are written over with --force. Choose "
            "another --out."
        )


def describe(opened, source, parity):
    """The content of import.json."""
    return {
        "family": opened.family.name,
        "languages": list(opened.network.languages),
        "source": source.address,
        "revision": source.revision,
        "licence": source.licence(),
        "files": source.hashes(),
        "folds": opened.folds,
        "unneeded": opened.spare,
        "notes": list(opened.network.notes),
        "parity": parity,
        "parameters": opened.model.count_params(),
    }


def card(name, recipe, record):
    """card.md: where the network comes from, what was done to it, and whether it says the same as there."""
    revision = f" at revision {record['revision']}" if record["revision"] else ""
    files = "\n".join(f"- `{file}` {digest}" for file, digest in record["files"].items())
    verbs = zip(("reads", "writes"), record["languages"], strict=False)
    directions = " and ".join(f"{verb} {language}" for verb, language in verbs if language)
    pair = f"It {directions}.\n" if directions else ""
    changes = [f"- {each}" for each in record["folds"]]
    changes += [f"- `{tensor}` left out: {why}" for tensor, why in record["unneeded"].items()]
    return f"""# {name}

{recipe.title}; {record["parameters"]:,} parameters of the family {record["family"]}.
{pair}Imported from {record["source"]}{revision}.
Licence, as stated there: {record["licence"] or "none is stated"}.

## Compared with its source
{describe_parity(record["parity"])}

## What was done to its weights
{chr(10).join(changes) or "- nothing"}
{"".join(f"{chr(10)}{each}{chr(10)}" for each in record["notes"])}
## SHA-256 of the files that were read
{files}
"""


def describe_parity(parity):
    """A sentence about what was compared."""
    if parity is None:
        return "Not compared: its folder holds no answers, and its framework is not installed, or gave none."
    return (
        f"With {parity['with']}, {parity['texts']} texts: the largest difference of {parity['what']} is "
        f"{parity['largest']:.2g} of their largest."
    )
