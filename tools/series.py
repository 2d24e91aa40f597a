"""The table of several runs of one recipe, which `seqzoo train --seeds` and `--sweep` print."""


def table(summary):
    """A row for each run of a series (`zoo.runs.repeats`), and the means of repeated ones; * marks the best one."""
    rows = summary["runs"]
    found = [row["valid"] for row in rows if "valid" in row]
    names = [name for name in found[0] if all(isinstance(each[name], float) for each in found)]
    lines = [["run", "steps", *names]]
    for row in rows:
        mark = " *" if row["run"] == summary.get("best") else ""
        scores = ["", "failed"] if "failed" in row else [f"{row['steps']:,}", *_numbers(row["valid"], names)]
        lines.append([row["run"] + mark, *scores])
    if "valid" in summary:
        for what in ("mean", "deviation"):
            lines.append([what, "", *_numbers({name: each[what] for name, each in summary["valid"].items()}, names)])
    widths = [max(len(line[place]) for line in lines if place < len(line)) for place in range(len(lines[0]))]
    return "\n".join(_line(line, widths) for line in lines)


def _numbers(values, names):
    return ["-" if values[name] is None else f"{values[name]:,.4f}" for name in names]


def _line(cells, widths):
    first, *rest = zip(cells, widths, strict=False)
    return "  ".join([f"{first[0]:<{first[1]}}", *(f"{cell:>{width}}" for cell, width in rest)]).rstrip()
