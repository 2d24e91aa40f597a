"""Plain text, which has no columns: lines of one file or of several, folders of files, and running text."""

import re
from pathlib import Path

from zoo.core.wording import quantity
from zoo.data.formats.base import Format, Layout, Request, quote
from zoo.data.formats.opening import first_lines, inner_suffix, lines_of

TABLES = (".dict", ".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".json", ".tmx", ".parquet", ".conll", ".conllu")
_END = object()
PREFIX = "__label__"
_LABEL = re.compile(rf"(?:^|(?<=\s)){PREFIX}(\S*)\s*")
_LOOKED_AT = 200
_VARIANT = re.compile(r"(.+)\(\d+\)")
_VOWELS = "AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW"
_CONSONANTS = "B CH D DH F G HH JH K L M N NG P R S SH T TH V W Y Z ZH"
_ARPABET = re.compile(f"(?:{'|'.join(_VOWELS.split())})[0-2]?|{'|'.join(_CONSONANTS.split())}")
_NUMBER = re.compile(r"\d+\.\d+")
_SPLITS = {"train", "valid", "validation", "val", "dev", "test", "unsup"}


class Lines(Format):
    """As many files as an example has parts: sentences and translations, texts and labels, words and tags."""

    name, kinds = "lines", ("pairs", "labelled", "compared", "rated", "scored", "tagged")

    def claims(self, files, request):
        return len(files) == len(request.roles) and not any(inner_suffix(path) in TABLES for path in files)

    def groups(self, files):
        return [files]

    def layout(self, files, request):
        if len(files) != len(request.roles):
            raise ValueError(
                f"{request.kind} as lines of text are {len(request.roles)} files, one each for "
                f"{', '.join(request.roles)}; received {len(files)}: {', '.join(files)}."
            )
        columns = {role: request.columns.get(role, number) for number, role in enumerate(request.roles, 1)}
        if sorted(map(str, columns.values())) != [str(number) for number in range(1, len(files) + 1)]:
            raise ValueError(
                f"{', '.join(files)}: the columns of line-aligned files are the files, numbered from 1 in their order; "
                f"received {columns}. Name each of them once."
            )
        columns = {role: int(number) for role, number in columns.items()}
        return Layout(columns, f"line i of each file belongs together: {', '.join(files)}", {})

    def rows(self, files, request, layout, problems):
        files = [files[layout.columns[role] - 1] for role in request.roles]
        streams = [lines_of(path, request) for path in files]
        line = int(request.columns.get("header", False))
        for stream in streams if line else ():
            next(stream, None)
        while True:
            current = [next(stream, _END) for stream in streams]
            if _END in current:
                break
            line += 1
            values = [text for _, text in current]
            blank = next((at for at, text in enumerate(values) if not text.strip()), None)
            if blank is None:
                yield line, tuple(values)
            else:
                what = f"a {request.roles[blank]}"
                message = (
                    f"the {request.roles[blank]} line is empty; expected text. Remove the line from all files, so "
                )
                problems.lack(what, f"{message}that they stay aligned.", files[blank], line)
        behind = [[] if last is _END else [last, *stream] for last, stream in zip(current, streams, strict=True)]
        if any(text.strip() or not problems.mends("blank_rows") for rest in behind for _, text in rest):
            counts = [line + len(rest) for rest in behind]
            counted = ", ".join(
                f"{path} has {quantity(count, 'line')}" for path, count in zip(files, counts, strict=True)
            )
            problems.add(
                files[counts.index(min(counts))],
                min(counts) + 1,
                f"the files are not aligned: {counted}. Line i of one must belong to line i of the other.",
            )
        for path, rest in zip(files, behind, strict=True):
            if rest:
                problems.note("blank lines behind the last line of the other file, left out", len(rest), f"in {path}")


class Text(Format):
    """Running text: a file as it is. Lines end in LF."""

    name, kinds = "text", ("running",)

    def claims(self, files, request):
        return inner_suffix(files[0]) not in TABLES

    def layout(self, files, request):
        _no_columns(files[0], self.name, request)
        first_lines(files[0], request, 1)
        return Layout({}, "running text, the whole file", {})

    def rows(self, files, request, layout, problems):
        lines = [text for _, text in lines_of(files[0], request)]
        if any(line.strip() for line in lines):
            yield 1, ("\n".join(lines) + "\n",)


class FastText(Format):
    """One text a line, with its label before it, as fastText reads it: `__label__pos a good film`.

    A word that begins with `__label__` is a label, wherever it stands; the others are the text.

    Joulin et al. (2017), "Bag of Tricks for Efficient Text Classification",
    https://fasttext.cc/docs/en/supervised-tutorial.html
    """

    name, kinds = "fasttext", ("labelled",)

    def claims(self, files, request):
        """Most lines have a label; of a table with commas it is no word by itself."""
        lines = [line for _, line in first_lines(files[0], request, _LOOKED_AT) if line.strip()]
        labels = [label for line in lines for label in _LABEL.findall(line)[:1]]
        return 2 * len(labels) > len(lines) and not all(each.strip(",") != each.replace(",", "") for each in labels)

    def layout(self, files, request):
        _no_columns(files[0], self.name, request)
        return Layout({}, f"a text on each line, and its label as {PREFIX}NAME", {})

    def rows(self, files, request, layout, problems):
        for line, text in lines_of(files[0], request):
            if not text.strip():
                problems.blank(files[0], line)
                continue
            labels, rest = _LABEL.findall(text), _LABEL.sub("", text).strip()
            if len(labels) > 1:
                message = f"{len(labels)} labels in {quote(text)}; expected one. Keep the one that matters most."
                problems.add(files[0], line, message)
            elif not any(labels):
                message = (
                    f"no label in {quote(text)}; expected {PREFIX}NAME before the text. Add it, or delete the line."
                )
                problems.lack("a label", message, files[0], line)
            elif not rest:
                message = f"no text behind the label in {quote(text)}; expected some. Add it, or delete the line."
                problems.lack("a text", message, files[0], line)
            else:
                yield line, (rest, labels[0])


class CmuDict(Format):
    """Pronouncing dictionaries as CMU writes them: a word and its phones on a line, white space between all of them.

    `word(2)` is another pronunciation of `word`; so is the word itself, written again. What begins with `;;;` or,
    behind white space, with `#` is a comment. Numbers between the word and the phones, the probabilities of the
    Montreal Forced Aligner, are no phones. Of an example one space separates the phones.

    Weide (1998), "The Carnegie Mellon Pronouncing Dictionary", http://www.speech.cs.cmu.edu/cgi-bin/cmudict
    """

    name, kinds = "cmudict", ("pairs",)

    def claims(self, files, request):
        """By the suffix .dict; or every line is a word, spaces, and phones of ARPAbet, but not phones alone."""
        if inner_suffix(files[0]) == ".dict":
            return True
        if inner_suffix(files[0]) in TABLES:
            return False
        lines = [text for _, text in first_lines(files[0], request, _LOOKED_AT)]
        entries = [entry for entry in map(_entry, lines) if entry]
        return (
            not any("\t" in text for text in lines)
            and any(phones for _, phones in entries)
            and all(_are_arpabet(phones) for _, phones in entries)
            and not all(_are_arpabet([word]) for word, _ in entries)
        )

    def layout(self, files, request):
        _no_columns(files[0], self.name, request)
        return Layout({}, "a word and its phones on each line; word(2) is another pronunciation of word", {})

    def rows(self, files, request, layout, problems):
        for line, text in lines_of(files[0], request):
            entry = _entry(text)
            if entry is None:
                continue
            word, phones = entry
            if phones:
                yield line, (word, " ".join(phones))
            else:
                message = f"no phones behind the word in {quote(text)}; expected some. Add them, or delete the line."
                problems.lack("phones", message, files[0], line)


def _entry(text):
    """(the word, its phones) of a line; None of a comment and of a blank line."""
    if text.startswith(";;;"):
        return None
    word, *rest = text.split() or [""]
    phones = []
    for token in rest:
        if token.startswith("#"):
            break
        phones.append(token)
    while len(phones) > 1 and _NUMBER.fullmatch(phones[0]):
        del phones[0]
    if not word or word.startswith("#") and not (len(word) > 1 and phones and _are_arpabet(phones)):
        return None  # but "#SHARP-SIGN  SH AA1 R P S AY1 N" is an entry
    variant = _VARIANT.fullmatch(word)
    return variant[1] if variant else word, phones


def _are_arpabet(phones):
    return all(map(_ARPABET.fullmatch, phones))


class OfAFolder(Format):
    """A format whose path is a folder."""

    def claims(self, files, request):
        return Path(files[0]).is_dir()

    def root(self, files, request):
        """The folder, which is there; it has no columns."""
        _no_columns(files[0], self.name, request)
        root = Path(files[0])
        if not root.is_dir():
            what = f"{root} is a file, and no folder" if root.exists() else f"There is no folder {root}"
            raise ValueError(f"{what}. Expected a folder of text files.")
        return root


class Folders(OfAFolder):
    """`FOLDER/LABEL/*`: each file is one text, and the folder in which it lies is its label."""

    name, kinds = "folders", ("labelled",)

    def layout(self, files, request):
        root = self.root(files, request)
        labels = sorted(each.name for each in _visible(root) if each.is_dir())
        if not labels:
            there = [each.name for each in _visible(root)]
            raise ValueError(
                f"{root} holds no folders; expected one folder of text files for each label. It holds "
                f"{', '.join(there[:5]) or 'nothing'}."
            )
        splits = [label for label in labels if label in _SPLITS]
        if len(splits) > 1 and any(each.is_dir() for each in _visible(root / splits[0])):
            raise ValueError(
                f"{root} holds {', '.join(splits)}, which are splits and not labels. Name one of them: "
                f"{root / splits[0]}."
            )
        return Layout({}, f"one folder a label: {', '.join(labels)}", {})

    def rows(self, files, request, layout, problems):
        root, beside = Path(files[0]), 0
        for folder in _visible(root):
            if not folder.is_dir():
                if problems.mends("stray_files"):
                    beside += 1
                else:
                    problems.add(str(folder), None, "a file beside the folders of the labels. Move it, or delete it.")
                continue
            texts = [each for each in _visible(folder) if each.is_file()]
            if not texts or any(each.is_dir() for each in _visible(folder)):
                problems.add(
                    str(folder),
                    None,
                    "the folder of a label holds "
                    + ("a folder" if texts or any(True for _ in _visible(folder)) else "no files")
                    + "; expected text files alone. Move the files right into it, or delete it.",
                )
            for path in texts:
                if request.omits(path):
                    problems.leave_out("files that data.encodings leaves out", str(path), None)
                else:
                    yield str(path), (whole(path, request), folder.name)
        if beside:
            problems.note("files beside the folders of the labels, left out", beside)


class TextFolder(OfAFolder):
    """Running text: every file of a folder and the folders in it, in the order of their names."""

    name, kinds = "text-folder", ("running",)

    def layout(self, files, request):
        root = self.root(files, request)
        paths = _texts(root)
        if not paths:
            raise ValueError(f"{root} holds no files; expected text files.")
        names = [each.relative_to(root).as_posix() for each in paths]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return Layout({}, f"{quantity(len(names), 'file')}, {', '.join(names[:3])}{more}, one after another", {})

    def rows(self, files, request, layout, problems):
        for path in _texts(Path(files[0])):
            text = "" if request.omits(path) else whole(path, request)
            if text.strip():
                yield str(path), (text,)
            else:
                what = "files that data.encodings leaves out" if request.omits(path) else "empty files, left out"
                problems.leave_out(what, str(path), None)


def whole(path: Path, request) -> str:
    """The text of a file, without the newlines at its end."""
    return "\n".join(text for _, text in lines_of(str(path), request)).rstrip("\n")


def _texts(root):
    names = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    return [names[name] for name in sorted(names) if not any(part[0] == "." for part in name.split("/"))]


def _visible(folder):
    """What a folder holds, in the order of the names, without hidden files such as .DS_Store."""
    return sorted(each for each in folder.iterdir() if not each.name.startswith("."))


def _no_columns(path: str, form: str, request: Request):
    """Refuses columns where the format has none."""
    if request.columns:
        raise ValueError(
            f"{path}: the format {form!r} has no columns; received columns={request.columns}. Leave them out, or name "
            "the format that the file has."
        )
