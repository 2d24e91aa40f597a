"""The table of several runs of one recipe, which `seqzoo train --seeds` and `--sweep` print."""

from .screen import aligned


def table(summary):
    """A row for each run of a series (`zoo.runs.repeats`), and the means of repeated ones; * marks the best one."""
    rows = summary["runs"]
    scores = [row["valid"] for row in rows if "valid" in row]
    names = [name for name in scores[0] if all(isinstance(each[name], float) for each in scores)]
    lines = [["run", "steps", *names]]
    for row in rows:
        mark = " *" if row["run"] == summary.get("best") else ""
        cells = ["", "failed"] if "failed" in row else [f"{row['steps']:,}", *_numbers(row["valid"], names)]
        lines.append([row["run"] + mark, *cells])
    if "valid" in summary:
        for what in ("mean", "deviation"):
            lines.append([what, "", *_numbers({name: each[what] for name, each in summary["valid"].items()}, names)])
    return "\n".join(aligned(lines, right=range(1, len(lines[0]))))


def _numbers(values, names):
    return ["-" if values[name] is None else f"{values[name]:,.4f}" for name in names]
