"""The file of `seqzoo evaluate --mistakes`: the worst answers as rows, or as a page with figures and a table."""

import base64
import csv
import io
from importlib.util import find_spec
from pathlib import Path

from zoo.core.escaping import in_cell, in_html
from zoo.core.storage import json_text, write_text
from zoo.core.wording import quantity
from zoo.recipes import evaluations
from zoo.scores import plots

SUFFIXES = (".html", ".jsonl", ".json", ".csv", ".tsv")
PAIRS = 10  # confused pairs that a page names
DIGITS = 4


def check(path):
    """Refuse, before anything is computed, a file that cannot be written.

    Raises:
        ValueError: the ending is unknown, the path is a directory, or a page needs matplotlib.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"Expected --mistakes with a name that ends in one of {', '.join(SUFFIXES)}; received {path}.")
    if Path(path).is_dir():
        raise ValueError(f"Expected --mistakes with the name of a file to write; received {path}, a directory.")
    if suffix == ".html" and find_spec("matplotlib") is None:
        raise ValueError(
            "the page of --mistakes has figures of matplotlib, which is not installed here. Install it with: pip "
            "install 'seqzoo[plot]'; or name a file that ends in .jsonl, .json, .csv or .tsv."
        )


def write(path, recipe, evaluation, title, most):
    """Write the file, whole or not at all; returns a line about it.

    Args:
        path: of the file, see `check`.
        recipe: the run's.
        evaluation: see `zoo.runs.evaluation`.
        title: what was evaluated on what.
        most: how many answers are listed.
    """
    worst, wrong = evaluations.mistakes(recipe, evaluation, most)
    rows, suffix = worst["rows"], Path(path).suffix.lower()
    found = quantity(len(wrong), "piece" if recipe.data.windows else "wrong answer")
    kind = f"{len(rows):,} of {found}, the worst first"
    kind = kind if rows else "no answer is wrong"
    if suffix == ".jsonl":
        text = "".join(f"{json_text(row)}\n" for row in rows)
    elif suffix == ".json":
        text = json_text({"evaluated": title} | worst, indent=2) + "\n"
    elif suffix == ".html":
        figures = "".join(_image(*each) for each in _figures(recipe, evaluation, worst, {*wrong}))
        text = _page(title, kind, figures, worst)
    else:
        text = _table(rows, "," if suffix == ".csv" else "\t")
    write_text(path, text)
    return f"{path}: {kind}"


def _table(rows, delimiter):
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    writer.writerow(rows[0] if rows else ("example", "input", "answer", "reference", "confidence"))
    writer.writerows([value if isinstance(value, int | float) else in_cell(_words(value)) for value in row.values()]
                     for row in rows)  # fmt: skip
    return buffer.getvalue()


def _words(value):
    """A cell as a line: both texts of a pair, or all right answers, beside each other."""
    if isinstance(value, list | tuple):
        return " | ".join(value)
    return "" if value is None else f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)


def _page(title, kind, figures, worst):
    rows = worst["rows"]
    columns = [name for name in (rows[0] if rows else ()) if any(row[name] is not None for row in rows)]
    columns = columns[columns[:2] == ["example", "place"] :]  # the place says more than the number
    heads = "".join(f"<th><button>{in_html(name.replace('_', ' '))}</button></th>" for name in columns)
    body = "".join(f"<tr>{''.join(_cell(row[name]) for name in columns)}</tr>\n" for row in rows)
    pairs = "".join(
        f"<li>{in_html('{reference} taken for {answer}: {count:,} of {of:,}'.format(**pair))}</li>"
        for pair in worst.get("confused", ())[:PAIRS]
    )
    confused = f"<h2>Confused most</h2><ol>{pairs}</ol>" if pairs else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{in_html(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>\n'
        f"<body><h1>{in_html(title)}</h1>{figures}{confused}\n<h2>{kind}</h2>\n"
        f"<table><thead><tr>{heads}</tr></thead>\n<tbody>\n{body}</tbody></table>\n<script>{SCRIPT}</script></body></html>\n"
    )


def _cell(value):
    if isinstance(value, int | float):
        return f'<td class="number" data-value="{value}">{in_html(_words(value))}</td>'
    return f'<td dir="auto">{in_html(_words(value))}</td>'


def _figures(recipe, evaluation, worst, wrong):
    """(a name, a figure) of each that there is something to draw of."""
    outputs, references = evaluation.outputs, evaluation.references
    if worst.get("confused"):
        sides = ([label for answer in side for label in recipe.job.split(answer)] for side in (outputs, references))
        yield "which labels are taken for which", plots.draw_confusion(*sides, title="Confusion")
    pairs = [(sure, row not in wrong) for row, sure in enumerate(evaluation.confidences or ()) if sure is not None]
    if pairs:
        sure, right = zip(*pairs, strict=True)
        yield "confidence of right and of wrong answers", plots.draw_confidences(sure, right)
        if worst["measure"] is None:  # one label each, whose confidence is to be the share of right ones
            yield "how often answers of a confidence are right", plots.draw_reliability(sure, right)


def _image(name, figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg")
    return (
        f'<img alt="{in_html(name)}" src="data:image/svg+xml;base64,{base64.b64encode(buffer.getvalue()).decode()}">\n'
    )


STYLE = """
body { font: 16px/1.4 system-ui, sans-serif; color: #222; background: #fff; margin: 2rem auto; max-width: 78rem;
  padding: 0 1rem; }
img { max-width: 100%; height: auto; margin: 0 1rem 1rem 0; vertical-align: top; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.6rem; border-bottom: 1px solid #ddd;
  overflow-wrap: anywhere; }
th { position: sticky; top: 0; background: #fff; overflow-wrap: normal; }
th button { font: inherit; font-weight: 600; border: 0; background: none; padding: 0; cursor: pointer; }
th button::after { content: "\\2195"; margin-left: 0.3em; color: #999; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
"""
SCRIPT = """
document.querySelectorAll("th").forEach((head, column) => {
  let up = 1;
  head.firstChild.onclick = () => {
    const body = document.querySelector("tbody"), cell = row => row.cells[column];
    const compare = (a, b) => cell(a).dataset.value && cell(b).dataset.value
      ? cell(a).dataset.value - cell(b).dataset.value : cell(a).textContent.localeCompare(cell(b).textContent);
    [...body.rows].sort((a, b) => up * compare(a, b)).forEach(row => body.append(row));
    up = -up;
    document.querySelectorAll("th").forEach(each => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up < 0 ? "ascending" : "descending");
  };
});
"""
