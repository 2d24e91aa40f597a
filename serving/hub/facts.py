"""What an entry of a hub says of a model beside its measurements: what people state, and what its recipe says."""

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from serving.export.forms import forms_in
from serving.lazy import later
from zoo.core.later import installed_version

structs = later("msgspec.structs")

CREDITED = re.compile(r"(?:LicenseRef-)?CC-BY|ODC-By", re.IGNORECASE)  # these ask for the names of the authors
LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,8}")  # a tag of BCP 47, as far as its form goes


@dataclass(frozen=True)
class Facts:
    """What only people know.

    Args:
        licence: of the weights, an SPDX expression.
        data: the name of the data that the model was trained on.
        data_licence: of the data, an SPDX expression, or several of them where there are several sources.
        attribution: whom the licence of the data asks to name, and where the data are.
        languages: codes such as "de"; those of the recipe where none are given.
        core_hours: of the training, as far as somebody measured them.

    Raises:
        ValueError: a licence is no SPDX expression, a language no code, core_hours no positive number, or something
            that is needed is missing.
    """

    licence: str
    data: str
    data_licence: tuple[str, ...]
    attribution: str = ""
    languages: tuple[str, ...] = ()
    core_hours: float | None = None

    def __post_init__(self):
        check_licence("the weights", self.licence)
        if not self.data.strip():
            raise ValueError("The name of the training data is missing: --data NAME, such as --data 'Tatoeba, 2024'.")
        if not self.data_licence:
            raise ValueError(
                f"The licence of the data ({self.data}) is missing: --data-licence SPDX. Weights are published only "
                "where it is known that their data let them be."
            )
        for each in self.data_licence:
            check_licence(f"the data ({self.data})", each)
        asking = asks_for_names(self.data_licence)
        if asking and not self.attribution.strip():
            raise ValueError(
                f"{asking[0]} asks to name the authors of the data, and there is no attribution. Say who made "
                f"{self.data}, and where it is: --attribution TEXT."
            )
        for code in self.languages:
            if not LANGUAGE.fullmatch(code):
                raise ValueError(f"A language is a code such as de or zh-Hans; received {code!r}.")
        if self.core_hours is not None and not 0 < self.core_hours < math.inf:
            raise ValueError(f"The core-hours of the training are a number above 0; received {self.core_hours!r}.")


def architecture(recipe):
    """`system`, `cell`, `attention`, `feedforward`, `block` and `depth` of a recipe, as the index has them.

    None says that the model has no such slot; attention is "none" where nothing attends.
    """
    model = recipe.model
    recurrent = model.kind == "recurrent"
    slots = {slot: getattr(recipe, slot) for slot in ("attention", "feedforward", "block", "depth")}
    tags = {slot: None if table is None else table.tag for slot, table in slots.items()}
    return {
        "system": recipe.system or model.kind,
        "cell": model.cell if recurrent else None,
        **tags,
        "attention": tags["attention"] or "none",
    }


def without_places(recipe):
    """The recipe without the folders of the machine that trained it: of files with absolute paths their names stay."""

    def name(value):
        if isinstance(value, list):
            return [name(each) for each in value]
        return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value

    own = {key: getattr(recipe.data, key) for key in ("train", "valid", "test") if key in recipe.data.__struct_fields__}
    return structs.replace(recipe, data=structs.replace(recipe.data, **{key: name(own[key]) for key in own}))


def training(run, facts):
    """What training.json of a run says of its training, and the core-hours that are stated, a dict."""
    path = run / "training.json"
    values = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    values |= {} if facts.core_hours is None else {"core_hours": facts.core_hours}
    names = ("steps", "training_seconds", "core_hours", "backend", "keras", "data_sha256", "lora")
    return {key: values[key] for key in names if values.get(key) is not None}


def licence_of(run):
    """The licence of the data that the data card of a run states, as a list; empty where it states none."""
    path = Path(run) / "data.json"
    licence = json.loads(path.read_text(encoding="utf-8")).get("licence", "") if path.is_file() else ""
    return [licence] if licence else []


def find_requirements(manifest):
    """The oldest versions that are known to run a published artefact, by package."""
    oldest = {"seqzoo": own_version().removeprefix(">=")}
    for form in forms_in(manifest["files"]):
        oldest |= form.find_requirements(manifest)
    numbers = {name: re.findall(r"\d+", version)[:2] for name, version in oldest.items()}
    return {name: ">=" + ".".join(each) for name, each in sorted(numbers.items()) if each}


def own_version():
    """ ">=" and the version of this seqzoo, such as ">=0.1"; "" where it runs from a source tree."""
    numbers = re.findall(r"\d+", installed_version("seqzoo") or "")[:2]
    return f">={'.'.join(numbers)}" if numbers else ""


def check_licence(what, expression):
    """Refuse what is no SPDX expression (https://spdx.github.io/spdx-spec/v3.0.1/annexes/spdx-license-expressions/).

    Args:
        what: of what it is the licence, for the message.
        expression: such as "CC-BY-4.0" or "MIT OR Apache-2.0".

    Raises:
        ValueError: the expression is not well formed, has an unknown identifier, or is spelled otherwise than in SPDX.
    """
    try:
        proper = canonicalize_license_expression(expression or "")
        why = None if "".join(proper.split()) == "".join(expression.split()) else f"SPDX writes {proper}"
    except InvalidLicenseExpression as error:
        why = str(error)
    if why:
        raise ValueError(
            f"The licence of {what} must be an SPDX expression, such as CC-BY-4.0, CC0-1.0 or MIT OR Apache-2.0; "
            f"received {expression!r}: {why}. Write a licence without an identifier as LicenseRef-NAME, and say in "
            "the attribution where its text is."
        )


def asks_for_names(expressions):
    """Those of the expressions that ask for attribution."""
    return [each for each in expressions if CREDITED.search(each)]
