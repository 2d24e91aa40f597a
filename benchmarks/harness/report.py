"""Ratios, their medians and spreads, and the results of each processor."""

import json
import os
import statistics
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "results"


def ratio(ours, peer):
    """`(median, [lower, upper quartile])` of ours / peer over the rounds."""
    found = [a / b for a, b in zip(ours, peer, strict=True)]
    quartiles = statistics.quantiles(found, n=4, method="inclusive") if len(found) > 1 else [found[0]] * 3
    return round(statistics.median(found), 3), [round(quartiles[0], 3), round(quartiles[2], 3)]


def geometric_mean(cells, **where):
    """Of the ratios of those cells that have these values; None if there is none."""
    ratios = [cell["ratio"] for cell in cells if all(cell[key] == value for key, value in where.items())]
    return round(statistics.geometric_mean(ratios), 3) if ratios else None


def table(rows):
    """Rows as a Markdown table; a key that a row lacks stays empty."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [columns, ["---"] * len(columns)]
    lines += [[_text(row.get(column, "")) for column in columns] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(value):
    if isinstance(value, list):
        return "–".join(map(_text, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.1e}" if isinstance(value, float) and 0 < value < 1e-3 else str(value)


def path(slug, name):
    return RESULTS / slug / f"{name}.json"


def write(slug, name, report):
    """Replace the results of a benchmark on a processor; they are whole or not there."""
    target = path(slug, name)
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    beside.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(beside, target)
    return target


def last(slug, name):
    """The results that are there of this processor, or None."""
    found = path(slug, name)
    return json.loads(found.read_text(encoding="utf-8")) if found.is_file() else None


def changes(before, now):
    """A line for each cell whose ratio lies outside of the spread that it had before, and one about the mean."""
    if before is None:
        return ["there are no earlier results of this processor"]
    known = {_key(cell): cell for cell in before["cells"]}
    lines = [f"geometric mean: {before['geometric_mean']} -> {now['geometric_mean']} (at {before['commit']})"]
    for cell in now["cells"]:
        old = known.get(_key(cell))
        if old and not old["spread"][0] <= cell["ratio"] <= old["spread"][1]:
            lines.append(f"{', '.join(_key(cell))}: {old['ratio']} -> {cell['ratio']}")
    return lines


def _key(cell):
    return cell["cell"], cell["engine"], cell["peer"]
