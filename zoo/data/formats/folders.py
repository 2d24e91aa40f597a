"""Folders of text files: one folder a label, or running text over many files."""

from pathlib import Path

from zoo.core.wording import quantity
from zoo.data.formats.base import Format, Layout, no_columns
from zoo.data.formats.opening import lines_of

_SPLITS = {"train", "valid", "validation", "val", "dev", "test", "unsup"}


class OfAFolder(Format):
    """A format whose path is a folder."""

    def claims(self, files, request):
        return Path(files[0]).is_dir()

    def root(self, files, request):
        """The folder, which is there; it has no columns."""
        no_columns(files[0], self.name, request)
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
