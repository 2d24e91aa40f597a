"""Reads files of any format into examples, and looks at files to say how they would be read."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from zoo.core.wording import quantity
from zoo.data.formats.base import KINDS, ROLES, RULES, Format, Lacking, Layout, Problems, Request, Wrong
from zoo.data.formats.columns import check_roles, say_nearest
from zoo.data.formats.conll import Conll
from zoo.data.formats.delimited import Csv, Tsv
from zoo.data.formats.encodings import advice
from zoo.data.formats.examples import Examples, Places, make_example
from zoo.data.formats.hugging_face import HuggingFace
from zoo.data.formats.jsonl import Jsonl, JsonRows
from zoo.data.formats.opening import Undecodable, first_lines, inner_suffix
from zoo.data.formats.plain_text import CmuDict, FastText, Folders, Lines, Text, TextFolder
from zoo.data.formats.spans import Spans
from zoo.data.formats.tmx import Tmx

FORMATS: tuple[Format, ...] = (  # a new one has a line here; of several that a file may be, the first that claims it
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
_SAMPLES = 3
_MANY_LABELS = 20  # of so few examples, each may have a label of its own
Files = str | os.PathLike | list[str | os.PathLike] | tuple[str | os.PathLike, ...]


@dataclass(frozen=True)
class Detected:
    """How files would be read.

    Attributes:
        format: the name of the format, for `format=`.
        columns: the column of each role, a name or a number counted from 1, for `columns=`.
        samples: the first few examples.
        why: what told, in words.
        details: the format's own, such as the delimiter and whether there is a header.
    """

    format: str
    columns: dict
    samples: Examples
    why: str
    details: dict


def read(
    files: Files,
    kind: str,
    *,
    format: str | None = None,
    columns: dict | None = None,
    encoding: str = "utf-8",
    encodings: dict | None = None,
    rules_off: Iterable[str] = (),
    fewest_labels: int = 2,
) -> Examples:
    """Reads the examples of one split.

    Args:
        files: a path, or several: of parallel text two, else files whose examples follow one another. A name may end in
            .gz or .xz. `hf://NAME[/CONFIG][:SPLIT]` is a dataset of Hugging Face.
        kind: "pairs" (source, target), "labelled" (text, label), "compared" (first, second, label), "rated" (text,
            score), "scored" (first, second, score), "tagged" (words, tags) or "running" (text).
        format: the name of a format of `FORMATS`; by default the suffix tells, or the first lines.
        columns: role -> name of the column, or its number counted from 1, as `cut` and spreadsheets count; for the
            roles that are left out the names of the header tell, or the content. `header` = true or false says
            whether the first line holds names.
        encoding: of the files; a byte order mark is dropped.
        encodings: of single files, by the end of their paths or a pattern of it, such as {"neg/30.txt": "cp1252"};
            "omit" leaves a file out.
        rules_off: rules of mending that are not applied, of `zoo.data.formats.base.RULES`: ["empty"] refuses examples
            without a text or a label, which are left out, counted and noted else.
        fewest_labels: so many different labels or tags are expected; 1 for a part that is only evaluated.

    Raises:
        ValueError: something cannot be read; the message names the file and the line, what was found, what was expected
            and how to mend it, of the first few places.
    """
    files, request = _request(files, kind, columns, encoding, encodings, rules_off)
    problems, places, inputs, answers = Problems(request.rules_off), Places(files), [], []
    try:
        form = choose(files, request, format)
        for group in form.groups(files):
            before, errors_before, problems.left_out = len(inputs), problems.count, ""
            for example, at in _make_examples(form, group, request, form.layout(group, request), problems):
                inputs.append(example[0])
                answers.append(example[1])
                places.add(*at)
            if len(inputs) == before and problems.count == errors_before:
                _report_none(group, problems)
    except Undecodable as error:
        raise ValueError(advice(str(error), files, request)) from error
    problems.check()
    if kind == "running":
        inputs, answers = ["".join(text if text.endswith("\n") else text + "\n" for text in inputs)], [""]
    _check_labels(kind, files, answers, fewest_labels, problems.notes)
    return Examples(kind, inputs, answers, tuple(places.files), places.numbers[: len(inputs)], problems.notes)


def detect(
    files: Files,
    kind: str,
    *,
    format: str | None = None,
    columns: dict | None = None,
    encoding: str = "utf-8",
    encodings: dict | None = None,
    rules_off: Iterable[str] = (),
) -> Detected:
    """Looks at the beginning of the files and says how `read` would read them, with the same arguments.

    Raises:
        ValueError: as `read`, as far as it looks.
    """
    files, request = _request(files, kind, columns, encoding, encodings, rules_off)
    problems, samples = Problems(request.rules_off), Examples(kind, [], [])
    try:
        form = choose(files, request, format)
        group = form.groups(files)[0]
        layout: Layout = form.layout(group, request)
        for (text, answer), _ in islice(_make_examples(form, group, request, layout, problems), _SAMPLES):
            samples.inputs.append(text)
            samples.answers.append(answer)
    except Undecodable as error:
        raise ValueError(advice(str(error), files, request)) from error
    problems.check()
    if not len(samples):
        _report_none([path for group in form.groups(files)[:1] for path in group], problems)
        problems.check()
    details = {name: value for name, value in layout.details.items() if isinstance(value, str | bool | int)}
    return Detected(form.name, layout.columns, samples, layout.why, details)


def choose(files: list[str], request: Request, name: str | None = None) -> Format:
    """The format of that name, else the one that the suffix and, where it does not tell, the first lines tell.

    Raises:
        ValueError: there is no such format, or none for these files and this kind.
    """
    fitting = {each.name: each for each in FORMATS if request.kind in each.kinds}
    if name is not None:
        if name not in fitting:
            expected = f"expected one of {', '.join(fitting)}.{say_nearest(name, fitting)}"
            raise ValueError(f"There is no format {name!r} for {KINDS[request.kind]}; {expected}")
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


def _make_examples(form, group, request, layout, problems):
    """((input, answer), its place) of every example that is whole; what the others are is told or counted."""
    for at, values in form.rows(group, request, layout, problems):
        place = (group[0], at) if isinstance(at, int) else (at, None)
        try:
            yield make_example(request.kind, values, problems), place
        except Lacking as lacking:
            problems.lack(lacking.what, str(lacking), *place)
        except Wrong as wrong:
            problems.add(*place, str(wrong))


def _report_none(group, problems):
    """Say that no example is left."""
    all_out = f"all are left out: {'; '.join((*problems.notes, problems.left_out)).removesuffix('.')}"
    why = all_out if problems.left_out else "the file is empty, or holds a header alone"
    problems.add(" and ".join(group), None, f"no examples: {why}.")


def _paths(files):
    files = [files] if isinstance(files, str | os.PathLike) else list(files)
    if not files:
        raise ValueError("No files were given; expected a path, or a list of them.")
    # A Path makes one slash of the two of hf://.
    return [re.sub(r"^hf:/(?!/)", "hf://", os.fspath(path)) for path in files]


def _request(files, kind, columns, encoding, encodings, rules_off):
    """The paths of the files that are read, and what was asked for."""
    unknown = [rule for rule in rules_off if rule not in RULES]
    if unknown:
        raise ValueError(f"rules_off names rules of mending, {', '.join(RULES)}; received {unknown[0]!r}.")
    columns = check_roles(kind, dict(columns or {}))
    request = Request(kind, columns, encoding, dict(encodings or {}), tuple(rules_off))
    paths = _paths(files)
    readable = [path for path in paths if not request.omits(path)]
    if not readable:
        raise ValueError(f"{', '.join(paths)}: encodings leaves every file out; expected one to read.")
    return readable, request


def _check_labels(kind, files, answers, fewest, notes):
    word = ROLES[kind][-1].removesuffix("s")
    if word not in ("label", "tag", "score"):
        return
    if word == "label" and fewest > 1 and len(set(answers)) > max(_MANY_LABELS, len(answers) / 2):
        several = " Of a file for each label make one, with the label behind a TAB on each line." * (len(files) > 1)
        raise ValueError(
            f"{', '.join(files)}: {len(set(answers))} different labels in {len(answers)} examples, such as "
            f"{', '.join(sorted(set(answers))[:3])}; expected labels that come again. Check which column is the label; "
            f"texts as answers are pairs, and numbers are for the tasks rate and rate_pairs.{several}"
        )
    labels = {tag for tags in answers for tag in tags.split(" ")} if word == "tag" else set(answers)
    if len(labels) < fewest:
        raise ValueError(
            f"{', '.join(files)}: {quantity(len(labels), word)} in {quantity(len(answers), 'example')} "
            f"({', '.join(sorted(labels))}); expected at least {fewest}, or there is nothing to tell apart. Check "
            f"which column is the {word}.{' Read so: ' * bool(notes)}{'; '.join(notes)}"
        )
