"""The formats that there are. A new one is a file beside this one and a line in `FORMATS`."""

import difflib
from pathlib import Path

from zoo.data.formats.base import KINDS, Format, Request
from zoo.data.formats.cmudict import CmuDict
from zoo.data.formats.conll import Conll
from zoo.data.formats.delimited import Csv, Tsv
from zoo.data.formats.fasttext import FastText
from zoo.data.formats.folders import Folders, TextFolder
from zoo.data.formats.hugging_face import HuggingFace
from zoo.data.formats.jsonl import Jsonl, JsonRows
from zoo.data.formats.lines import Lines, Text
from zoo.data.formats.opening import first_lines, inner_suffix
from zoo.data.formats.spans import Spans
from zoo.data.formats.tmx import Tmx

FORMATS: tuple[Format, ...] = (  # of several that a file may be, the first that claims it
    HuggingFace(),
    Folders(),
    TextFolder(),
    CmuDict(),
    FastText(),
    Lines(),
    Conll(),
    Spans(),
    Csv(),
    Tsv(),
    JsonRows(),
    Jsonl(),
    Tmx(),
    Text(),
)


def choose(files: list[str], request: Request, name: str | None = None) -> Format:
    """The format of that name, else the one that the suffix and, where it does not tell, the first lines tell.

    Raises:
        ValueError: there is no such format, or none for these files and this kind.
    """
    fitting = {each.name: each for each in FORMATS if request.kind in each.kinds}
    if name is not None:
        if name not in fitting:
            near = difflib.get_close_matches(name, fitting, 1)
            raise ValueError(
                f"There is no format {name!r} for {KINDS[request.kind]}; expected one of {', '.join(fitting)}."
                + (f" Did you mean {near[0]!r}?" if near else "")
            )
        return _check_columns(fitting[name], request)
    suffix = inner_suffix(files[0])
    known = suffix if any(suffix in each.suffixes for each in FORMATS) else ".txt"  # eng.train, SMSSpamCollection
    for each in fitting.values():
        if (not each.suffixes or known in each.suffixes) and each.claims(files, request):
            return _check_columns(each, request)
    raise ValueError(_unknown(files, suffix, request, fitting))


def _check_columns(form, request):
    """The format, if it has every column that was asked for."""
    known = (*request.roles, *form.more_roles, "header")
    unknown = [role for role in request.columns if role not in known]
    if unknown:
        raise ValueError(
            f"columns: {unknown[0]!r} is of another format; {form.name!r} has {', '.join(known)}. Leave it out, or "
            "name the format with format=..."
        )
    return form


def _unknown(files, suffix, request, fitting):
    if not Path(files[0]).is_dir():
        first_lines(files[0], request, 1)  # raises where there is no such file, or no text
    known = ", ".join(
        f"{each.name} ({' '.join(each.suffixes)})" if each.suffixes else each.name for each in fitting.values()
    )
    alone = " Line-aligned text needs one file each: " + ", ".join(request.roles) + "." if "lines" in fitting else ""
    return (
        f"{files[0]}: the format is not known from the suffix {suffix!r} and the first lines. Expected one of those "
        f"for {KINDS[request.kind]}: {known}.{alone} Name one with format=..., or "
        "in a recipe data.format (--set data.format=...)."
    )
