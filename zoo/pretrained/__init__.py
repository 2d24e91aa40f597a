"""Plain: networks of others: their weights, vocabularies and settings become a model of ours, or are refused in words.

`import_network` writes a run, as `seqzoo import` does; `load` gives the model alone. The page is docs/pretrained.md.
"""

from os import PathLike
from pathlib import Path
from typing import Any

from zoo.pretrained.gate import compare
from zoo.pretrained.network import Family, Network, register
from zoo.pretrained.opening import open_source
from zoo.pretrained.source import open_address
from zoo.pretrained.writing import check_place, write_run

__all__ = ["Family", "Network", "import_network", "load", "register"]


def load(
    source: str | PathLike[str],
    tokenizers: bool = False,
    *,
    source_language: str = "",
    target_language: str = "",
    imports: tuple[str, ...] = (),
) -> Any:
    """`(model, ids)` of a source: the Keras model, and for each id of ours the id that it has there.

    Args:
        source: a folder, a zip or tar, or hf://OWNER/NAME[@REVISION].
        tokenizers: whether its tokenizers are made, too; then the result is `(model, ids, tokenizers)`.
        source_language, target_language: of a network for many languages, by its own names; those that it states by
            default.
        imports: modules that bring families, from the working folder, too.

    Raises:
        ValueError: something of it cannot be carried; the message names it.
    """
    with open_address(source, (source_language, target_language)) as origin:
        opened = open_source(origin, tokenizers, imports)
    return (opened.model, opened.network.ids, *((opened.tokenizers,) if tokenizers else ()))


def import_network(
    source: str | PathLike[str],
    out: str | PathLike[str],
    *,
    name: str = "",
    source_language: str = "",
    target_language: str = "",
    imports: tuple[str, ...] = (),
    force: bool = False,
) -> dict[str, Any]:
    """Write a source as the run `out`, as training writes one, and return what its import.json says.

    Args:
        source, source_language, target_language, imports: as of `load`.
        out: the folder of the run.
        name: of its recipe; that of `out` by default.
        force: take the place of an imported run that is there.

    Raises:
        ValueError: something of it cannot be carried, it answers otherwise than its source, or `out` is taken.
    """
    check_place(Path(out), force)
    with open_address(source, (source_language, target_language)) as origin:
        opened = open_source(origin, True, imports)
        return write_run(opened, origin, compare(opened, origin), out, name or Path(out).name, force)
