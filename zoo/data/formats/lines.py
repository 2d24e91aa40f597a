"""Files whose lines belong together (line i of one to line i of another), and running text."""

from zoo.core.wording import quantity
from zoo.data.formats.base import Format, Layout, no_columns
from zoo.data.formats.opening import inner_suffix, lines_of

TABLES = (".dict", ".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".json", ".tmx", ".parquet", ".conll", ".conllu")
_END = object()


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
        no_columns(files[0], self.name, request)
        for _ in lines_of(files[0], request):
            break
        return Layout({}, "running text, the whole file", {})

    def rows(self, files, request, layout, problems):
        lines = [text for _, text in lines_of(files[0], request)]
        if any(line.strip() for line in lines):
            yield 1, ("\n".join(lines) + "\n",)
