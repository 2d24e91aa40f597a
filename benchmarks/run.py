"""Measures how fast we are, beside peers in the same run, and keeps the results by processor.

    python benchmarks/run.py generation             # writes benchmarks/results/PROCESSOR/generation.json
    python benchmarks/run.py training_recurrent --quick     # small cells, in training_recurrent.quick.json

The engines of a cell live in processes of their own and take turns, the peers in environments of their own
(`build/peers`, made at the first use). A cell is the median over the rounds of the ratio ours / peer: below 1 is
faster. Before anything is timed, the engines of a cell must agree on what they compute. Seconds are those that a
process spent on its cores, divided by its threads, so that other work on the machine is not counted; `--clock wall`
takes the clock's.
"""

import argparse
import importlib
import json
import math
import statistics
import sys
from datetime import UTC, datetime
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

from harness import processor, report  # noqa: E402
from harness.engine import running  # noqa: E402
from harness.environments import versions  # noqa: E402

NAMES = (
    "generation",
    "training_transformer",
    "training_recurrent",
    "fine_tuning",
    "reformer",
    "start",
    "energy",
    "captions",
    "imported",
)


def log(line):
    print(line, file=sys.stderr, flush=True)


def near(one, other, tolerance):
    """Whether two values of JSON are equal; numbers that are not whole within a tolerance."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(near(a, b, tolerance) for a, b in zip(one, other, strict=True))
    if isinstance(one, float) or isinstance(other, float):
        return math.isclose(one, other, abs_tol=tolerance, rel_tol=tolerance)
    return one == other


def unequal(one, other, tolerance=0.0):
    """The share of entries that differ, of two engines' values step by step; a value that is no list is one entry."""
    shares = []
    for a, b in zip(one, other, strict=True):
        lists = isinstance(a, list) and isinstance(b, list) and len(a) == len(b) > 0
        entries = list(zip(a, b, strict=True)) if lists else [(a, b)]
        shares.append(sum(not near(*entry, tolerance) for entry in entries) / len(entries))
    return max(shares)


def agree(cell, values):
    """Refuse engines that compute different things.

    Raises:
        ValueError: the message has both values.
    """
    for names in cell.get("equal", ()):
        for name in names[1:]:
            share = unequal(values[names[0]], values[name], cell.get("tolerance", 0.0))
            if share > cell.get("unequal", 0.0):
                shown = {key: str(values[key])[:200] for key in (names[0], name)}
                raise ValueError(f"{cell['name']}: expected equal results, received {shown}; {share:.1%} differ.")


def measure(cell, options):
    """The rows of one cell: one for each pair of an engine and its peer."""
    log(cell["name"])
    taken = {engine.name: [] for engine in cell["engines"]}
    with running(cell["engines"], options.threads, log) as ready:
        values = {each.engine.name: [each.step()[0] for _ in range(cell.get("before", 2))] for each in ready}
        agree(cell, values)
        for _ in range(options.rounds):
            for each in ready:
                _, busy, clock = each.step()
                taken[each.engine.name].append(clock if options.clock == "wall" else busy)
        memory = {each.engine.name: round(each.megabytes) for each in ready}
    rows = []
    for ours, peer in cell["pairs"]:
        ratio, spread = report.ratio(taken[ours], taken[peer])
        times = {
            f"{side}_ms": round(1e3 * statistics.median(taken[name]), 2)
            for side, name in (("ours", ours), ("peer", peer))
        }
        used = {"ours_mb": memory[ours], "peer_mb": memory[peer]}
        row = {"cell": cell["name"], "engine": ours, "peer": peer, "ratio": ratio, "spread": spread, **times, **used}
        told = {"unequal": round(unequal(values[ours], values[peer]), 4)} if "unequal" in cell else {}
        rows.append(row | told | cell.get("about", {}))
    return rows


def summed_up(options, here, commit, cells, rows):
    """The result of the rows that were measured on the processor `here`, of this commit."""
    peers = {engine.environment for cell in cells for engine in cell["engines"]} - {None}
    return {
        "benchmark": options.name,
        "processor": here,
        "threads": options.threads,
        "clock": options.clock,
        "rounds": options.rounds,
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit,
        "versions": processor.versions() | {k: v for name in sorted(peers) for k, v in versions(name).items()},
        "geometric_mean": report.geometric_mean(rows),
        "below_one": sum(row["ratio"] < 1 for row in rows),
        "cells": rows,
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=NAMES)
    parser.add_argument(
        "--quick", action="store_true", help="small cells and three rounds; writes NAME.quick.json, which git ignores"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", choices=("processor", "wall"), default="processor")
    parser.add_argument("--only", metavar="TEXT", help="only the cells whose name holds this; writes nothing")
    parser.add_argument("--resume", action="store_true", help="only the cells that the last result here does not have")
    parser.add_argument("--json", action="store_true", help="print the report as one JSON object")
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.threads < 1:
        parser.error("--rounds and --threads are at least 1")
    options.rounds = min(options.rounds, 3) if options.quick else options.rounds
    case = importlib.import_module(f"cases.{options.name}")
    cells = [cell for cell in case.cells(options.quick) if not options.only or options.only in cell["name"]]
    if not cells:
        parser.error(f"no cell of {options.name} has {options.only!r} in its name")
    here, commit = processor.processor(), processor.commit()  # before a result makes the work tree dirty
    slug = processor.slug(here)
    name = f"{options.name}.quick" if options.quick else options.name
    before, rows = report.last(slug, name), []
    if options.resume:
        told = {key: vars(options)[key] for key in ("threads", "rounds", "clock")}
        if before and {key: before[key] for key in told} != told:
            parser.error(f"expected a result with {told} to go on with, received another; measure it anew")
        rows = list(before["cells"]) if before else []
        cells = [cell for cell in cells if cell["name"] not in {row["cell"] for row in rows}]
        if not cells:
            parser.error(f"no cell of {options.name} is left to be measured on this processor")
    for done, cell in enumerate(cells, start=1):
        rows += measure(cell, options)
        log(report.table(rows[-len(cell["pairs"]) :]))
        result = summed_up(options, here, commit, cells, rows) | getattr(case, "summary", lambda rows: {})(rows)
        if options.resume and before:
            result["versions"] = before["versions"] | result["versions"]
            result["commits_before"] = sorted({*before.get("commits_before", ()), before["commit"]} - {commit})
        result |= {"cells_left": len(cells) - done} if done < len(cells) else {}
        if not options.only:  # what was measured stays, if the rest is broken off
            written = report.write(slug, name, result)
    for line in report.changes(before, result):
        log(line)
    if not options.only:
        log(f"written: {written}")
    if options.json:
        print(json.dumps(result, ensure_ascii=False))
    else:
        print(report.table(rows))
        below = f"below 1 in {result['below_one']} of {len(rows)}"
        print(f"\n{here['name']}: geometric mean {result['geometric_mean']}, {below}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
