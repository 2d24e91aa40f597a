"""Labels that a model was not trained on, and the likely cause: the same label, written otherwise."""

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable

from zoo.core.wording import quantity
from zoo.data.formats.base import quote

FEW = 5
_YES, _NO = {"true", "yes", "y", "t", "1"}, {"false", "no", "n", "f", "0"}
_SCHEME = re.compile(r"[BIESLUM]-(.+)")


def unknown_labels(known: Iterable[str], labels: Iterable[str]) -> list[dict]:
    """[{"label", "count", "nearest", "cause"}] of the labels that are not known, the commonest first.

    `nearest` is the known label that is likely meant, "" if none is, and `cause` says how the two differ.

    Example:
        >>> from zoo.data.formats.unknown import unknown_labels
        >>> unknown_labels(["0.0", "1.0"], ["1", "1", "0.0"])
        [{'label': '1', 'count': 2, 'nearest': '1.0', 'cause': 'the same number'}]
    """
    known = list(known)
    counts = Counter(labels)
    for label in known:
        counts.pop(label, None)
    return [
        {"label": label, "count": count, **dict(zip(("nearest", "cause"), _nearest(label, known), strict=True))}
        for label, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]


def mended_labels(known: Iterable[str], labels: Iterable[str]) -> dict[str, tuple[str, str]]:
    """{label: (the known label that it is, written otherwise, how the two differ)}, of labels that are not known.

    Only where the two differ by number, capitals, spaces, quotation marks, or the form or marks of letters, and where
    one known label alone has that form; what else is likely is told and not mended.

    Example:
        >>> from zoo.data.formats.unknown import mended_labels
        >>> mended_labels(["0.0", "1.0", "yes"], ["1", "1.0", "true"])
        {'1': ('1.0', 'the same number')}
    """
    known, mended = sorted(set(known)), {}
    for label in sorted(set(labels) - set(known)):
        for cause, form in MENDED.items():
            same = [] if form(label) in (None, "") else [other for other in known if form(other) == form(label)]
            if len(same) == 1:
                mended[label] = same[0], cause
            if same:
                break
    return mended


def main_labels(labels: Iterable[str]) -> list[str]:
    """The labels of a training, of which several that are surely one are the commonest of them without such marks.

    Those are 1 and 1.0, and what differs by a mark that nobody sees or by the form of a letter.

    Example:
        >>> from zoo.data.formats.unknown import main_labels
        >>> main_labels(["1", "1", "1.0", "1.1", "1.10", "pos", "pos\\u200b"])
        ['1', '1.1', '1.10', 'pos']
    """
    main, seen = [], set()
    for label, _ in sorted(Counter(labels).items(), key=lambda item: (item[0] != _visible(item[0]), -item[1], item[0])):
        forms = {(form, form(label)) for form in (_integer, _visible, _width)}
        if not forms & seen:
            main.append(label)
        seen |= forms
    return main


def alike_labels(labels: Iterable[str]) -> list[tuple[list[str], str]]:
    """[(labels of a training that may be one, how they differ)], which are told and not mended."""
    causes = {}
    for cause, form in list(_FORMS.items())[:-1]:
        groups = {}
        for label in sorted(set(labels)):
            groups.setdefault(form(label), []).append(label)
        groups = {form: group for form, group in groups.items() if form not in (None, "")}
        for group in groups.values():
            if len(group) > 1:
                causes.setdefault(tuple(group), cause)
    return [(list(group), cause) for group, cause in causes.items()]


def say_unknown(unknown: list[dict], known: Iterable[str], who: str = "the model") -> str:
    """The labels, how often each comes, and what is likely the cause, in words."""
    parts = [
        f"{quote(each['label'])} ({quantity(each['count'], 'time')}"
        + (f"; {who} has {quote(each['nearest'])}, {each['cause']}" if each["nearest"] else "")
        + ")"
        for each in unknown[:FEW]
    ]
    more = f" and {len(unknown) - FEW:,} more" if len(unknown) > FEW else ""
    known = list(known)
    others = "" if not known or all(each["nearest"] for each in unknown) else f"; {who} has {_list_known(known)}"
    return f"{', '.join(parts)}{more}{others}"


def _list_known(known):
    return ", ".join(map(quote, known[:FEW])) + (f" and {len(known) - FEW:,} more" if len(known) > FEW else "")


def _nearest(label, known):
    for cause, form in _FORMS.items():
        own = form(label)
        for other in known if own is not None else ():
            if form(other) == own:
                return other, cause
    near = difflib.get_close_matches(label, known, 1, 0.8)
    return (near[0], "which is written much alike") if near else ("", "")


def _number(label):
    try:
        number = float(_plain(label).replace(",", "."))
    except ValueError:
        return None
    return number if number == number else None


def _integer(label):
    """The whole number that 1 and 1.0 are; other labels as they are, such as versions and codes."""
    return label.removesuffix(".0") if re.fullmatch(r"-?(0|[1-9]\d*)\.0", label) else label


def _visible(label):
    """Without marks that have no width, such as a byte order mark or a zero width space."""
    return "".join(one for one in label if unicodedata.category(one) not in ("Cf", "Cc") or one in "\t\n")


def _spaced(label):
    return re.sub(r"[\s_-]+", " ", label).strip()


def _width(label):
    return unicodedata.normalize("NFKC", label)


def _unquoted(label):
    return label.strip(" \"'`\u2018\u2019\u201c\u201d")


def _plain(label):
    return _unquoted(_spaced(_width(_visible(label)))).casefold()


def _truth(label):
    word = _plain(label).removesuffix(".0")
    return "yes" if word in _YES else "no" if word in _NO else None


def _kind(label):
    match = _SCHEME.fullmatch(label)
    return match[1] if match else label


MENDED: dict[str, Callable] = {  # how a label and a known one may differ that are the same all the same -> their form
    "the same number": _number,
    "which differs by a mark that nobody sees": _visible,
    "which differs by spaces, _ or -": _spaced,
    "which differs by capitals": str.casefold,
    "which differs by the width or form of its letters": _width,
    "which differs by quotation marks": _unquoted,
}
_FORMS = MENDED | {  # how two labels differ that have one form, the likelier first
    "which differs by spaces, capitals or marks": _plain,
    "another word for yes or no": _truth,
    "the same kind in another scheme of tags": _kind,
}
