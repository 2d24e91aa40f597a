"""What a family makes of a source: a recipe, the ids, a table of rules, and tokenizers."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Network:
    """The description of a network before its weights are read.

    Attributes:
        recipe: the tables of its recipe: `task`, `model`, the slots.
        ids: for each id of ours the id that it has in the source (`zoo.pretrained.vocabulary.our_ids`).
        rules: from its tensors to our weights (`zoo.pretrained.rules`).
        unneeded: `{pattern: why}` of tensors that no weight needs.
        constants: `{path: numbers}` of weights that no tensor gives.
        tokenizers: a function that makes one for each side of the task.
        generation: settings of `zoo.pretrained.generation` that take the place of the source's, in its ids.
        languages: (source, target), of a network for many of them.
        labels: the names of the classes, by their ids.
        barred: ids of ours that are never written, and whose logits are compared with nothing.
        notes: what the card says of the family's ways.
        source_ids: `ids` of the source's vocabulary, where the target has another one.
        shortlist: `{"table", "always"}` of `serving.export.shortlist.Shortlist`, where the source searches over one.
    """

    recipe: dict[str, Any]
    ids: np.ndarray
    rules: tuple
    unneeded: dict[str, str] = dataclasses.field(default_factory=dict)
    constants: dict[str, Any] = dataclasses.field(default_factory=dict)
    tokenizers: Callable[[], tuple] = tuple
    generation: dict[str, Any] = dataclasses.field(default_factory=dict)
    languages: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    barred: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    source_ids: np.ndarray | None = None
    shortlist: dict[str, Any] = dataclasses.field(default_factory=dict)

    def ids_of(self, side):
        """`ids` of a side of the task."""
        return self.ids if self.source_ids is None or side != "source" else self.source_ids


@dataclasses.dataclass(frozen=True)
class Family:
    """Networks of one kind.

    Attributes:
        name: what the card calls it.
        knows: `knows(source)` says whether a source is of this family.
        network: `network(source)` is the `Network`; what it cannot carry it tells `source.config` (`Reading.refuse`).
        reference: the class of `transformers` to compare with, where that is installed and a network has no classes.
    """

    name: str
    knows: Callable[[Any], bool]
    network: Callable[[Any], Network]
    reference: str = ""


_families: dict[str, Family] = {}  # as the registry of layers, it lives as long as the process


def register(family):
    """Make a family known; its module is brought by an entry point of the group `seqzoo.families`, or by `--import`.

    Raises:
        ValueError: another family has its name.
    """
    if _families.setdefault(family.name, family) is not family:
        raise ValueError(f"There is a family {family.name!r} already. Give this one another name.")
    return family


def families():
    """The registered families, the newest first."""
    return list(_families.values())[::-1]


def of_type(*types):
    """A function that knows the sources whose config.json has one of these `model_type`s."""
    return lambda source: source.json("config.json").get("model_type") in types
