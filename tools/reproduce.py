"""`seqzoo reproduce`: measures what each paper claims, at sizes that take minutes, and says what holds."""

import os
import shutil
import textwrap
from importlib.util import find_spec

from zoo.core.storage import json_text
from zoo.core.wording import quantity
from zoo.reproduce import report
from zoo.reproduce.report import SYSTEMS, find

from . import screen


def add_arguments(parser):
    parser.add_argument("system", metavar="SYSTEM", nargs="?", help="the system whose papers are asked, such as star")
    parser.add_argument("--all", action="store_true", help="every system, one after the other")
    parser.add_argument("--out", default="reproduced", metavar="DIR", help="where results and figures are kept")
    parser.add_argument("--check", action="store_true", help="train again, and compare the weights with those in DIR")
    parser.add_argument("--draw", action="store_true", help="train nothing: draw what is in DIR, and print its table")
    parser.add_argument("--quick", action="store_true", help="only try the code, in seconds: its claims say nothing")
    parser.add_argument(
        "--json", action="store_true", help="print system, claims and seconds as JSON; a list with --all"
    )


def main(args):
    """Measure, compare or draw the systems that were asked for, and print what the papers claim beside it."""
    if args.all == (args.system is not None):
        received = f"both {args.system} and --all" if args.all else "neither"
        raise ValueError(f"Expected one system, or --all; received {received}. Systems: {', '.join(SYSTEMS)}.")
    if args.check and args.draw:
        raise ValueError("--check trains again and --draw trains nothing; give one of the two.")
    if args.check and args.quick:
        raise ValueError("--check trains as DIR was trained, quick or not; leave out --quick.")
    systems = list(SYSTEMS) if args.all else [find(args.system)]
    choose_backend()
    reports, failed = [], 0
    for system in systems:
        report, is_other = run_system(system, args)
        reports.append({name: report[name] for name in ("system", "claims", "seconds")})
        failed += is_other
        if not args.json:
            print(table(report, shutil.get_terminal_size((120, 24)).columns), flush=True)
    if args.json:
        print(json_text(reports if args.all else reports[0]))
    elif args.all:
        print(summarise(reports))
    return 1 if failed else 0


def choose_backend():
    """JAX unless the user says otherwise or it is not installed; matrix products on one thread, and so in one order."""
    os.environ.setdefault("KERAS_BACKEND", "jax" if find_spec("jax") else "tensorflow")
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    if find_spec("matplotlib") is None:
        raise ValueError("Figures need matplotlib, which is not installed here: pip install 'seqzoo[plot]'")


def run_system(system, args):
    """(the report of a system, whether a comparison failed)."""

    def log(line):
        screen.log(f"{system}: {line}")

    if args.draw:
        log(f"wrote {report.draw(system, args.out)}")
        return report.read(system, args.out), False
    if args.check:
        stored = report.read(system, args.out)
        return stored, not is_same(system, stored, log)
    path = report.result_path(args.out, system)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(path.parent, os.W_OK):  # before minutes are spent
        raise PermissionError(13, "Permission denied", str(path.parent))
    log("is measured")
    result = report.measure(system, args.quick, log)
    report.write(result, args.out)
    log(f"wrote {path} and its figure after {result['seconds']:.0f} s of processor time")
    return result, False


def is_same(system, stored, log):
    """Whether the weights of another training are those that were kept; a sentence on standard error says why not."""
    if reasons := report.comparison_obstacles(stored):
        log(f"hashes cannot be compared, for {'; '.join(reasons)}. Measure it here: seqzoo reproduce {system}")
        return False
    again = report.measure(system, stored.get("quick", False), log)
    changed = report.changed_models(stored, again)
    if changed:
        log(f"the weights of {quantity(len(changed), 'model')} differ from those that were kept: {'; '.join(changed)}")
        return False
    log(f"the weights of all {sum(map(len, stored['weights'].values()))} models are those that were kept, bit for bit")
    return True


def table(report, width):
    """The claims of a report in three columns: what the paper says, what was measured, whether it holds."""
    each = max(24, (width - 14) // 2)
    quick = " (quick: the claims say nothing)" if report.get("quick") else ""
    lines = [f"{report['title']}: {report['seconds']:.0f} s of processor time{quick}"]
    lines.append(f"  {'paper':<{each}}  {'ours':<{each}}  holds?")
    for row in report["claims"]:
        seeds = f" (seeds {', '.join(map(str, row['seeds']))})" if row["seeds"] else ""
        paper, ours = (textwrap.wrap(text, each) for text in (row["paper"], row["ours"] + seeds))
        for at in range(max(len(paper), len(ours))):
            cells = (side[at] if at < len(side) else "" for side in (paper, ours))
            mark = "" if at else "yes" if row["holds"] else "no"
            lines.append("  ".join(["", *(f"{cell:<{each}}" for cell in cells), mark]).rstrip())
        lines.append("")
    return "\n".join(lines)


def summarise(reports):
    """One line for all systems."""
    marks = [row["holds"] for each in reports for row in each["claims"]]
    minutes = sum(each["seconds"] for each in reports) / 60
    return f"{sum(marks)} of {len(marks)} claims hold; {minutes:.1f} minutes of processor time."
