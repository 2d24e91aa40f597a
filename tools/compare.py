"""`seqzoo compare`: tests whether one run is better than another on the same test set, and shows where they differ."""

from pathlib import Path

from serving.lazy import later
from serving.runtime.errors import ServingError
from zoo.core.escaping import in_figure
from zoo.core.storage import json_text
from zoo.core.wording import quantity
from zoo.hub import is_path
from zoo.recipes import evaluations
from zoo.scores import plots
from zoo.scores.plots import ERRORS, format_score, score_name

from .figures import SUFFIXES, check, save
from .plot import TITLE, short_names
from .screen import aligned, escape

checking = later("serving.hub.checking")

SHOWN = 5  # examples that differ most, in the table
WIDTH = 100  # characters of a text in the table
CLEAR = 0.05  # p-values below it are not put down to chance


def add_arguments(parser):
    parser.add_argument(
        "runs",
        metavar="RUN",
        nargs="+",
        help="two run directories that `seqzoo evaluate` has scored; or two published models by their names",
    )
    parser.add_argument("--split", help="which part of the data (default: test, or the only one that both answered)")
    parser.add_argument(
        "--out", metavar="FIGURE", help=f"draw where they differ, by length or label: one of {', '.join(SUFFIXES)}"
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def main(args):
    """Compare the answers that the evaluations of both runs have kept; nothing is computed anew."""
    if len(args.runs) != 2:
        raise ValueError(
            f"Expected two runs; received {len(args.runs)}. Compare the two between which you choose: among many "
            "comparisons some come out below 0.05 by chance."
        )
    if args.out:
        check(Path(args.out))
    comparison = {"runs": args.runs, **_compare(*args.runs, args.split)}
    if args.out:
        _draw(comparison, Path(args.out))
    print(json_text(comparison) if args.json else _table(comparison))
    return 0


def _compare(first, second, split):
    """Two runs by what their evaluations kept, or published models by their stored answers, or one of each."""
    if is_path(first) and is_path(second):
        return evaluations.compare(first, second, split)

    def side(name):
        if is_path(name):
            return evaluations.read(name, split or evaluations.shared_split((name,)))
        try:
            return checking.record(name)
        except ServingError:  # of a model that is there
            raise
        except ValueError as error:
            raise ValueError(f"There is no run {name}: there is no such folder, and {error}") from error

    return evaluations.compare_records(first, second, side(first), side(second))


def _draw(comparison, out):
    names = short_names(comparison["runs"])
    title = in_figure(f"{names[1]} against {names[0]}, {comparison['split']}, by {comparison['grouped_by']}", TITLE)
    save(plots.draw_differences(comparison["by_group"], comparison["leading"], names, title), out)


def _table(comparison):
    first, second = map(escape, short_names(comparison["runs"]))
    examples = f"{comparison['split']}, {quantity(comparison['count'], 'example')}, the same for both"
    lines = [f"a: {first}", f"b: {second}", examples, ""]
    rows = [("", "a", "b", "b - a", "95 % interval", "p", "")]
    for name, each in comparison["scores"].items():
        low, high = (_signed(name, bound) for bound in each["difference_interval"])
        values = (format_score(name, each["a"]), format_score(name, each["b"]), _signed(name, each["difference"]))
        rows.append((score_name(name), *values, f"{low} to {high}", f"{each['p_value']:.3f}", _verdict(each)))
    lines += [*aligned(rows, right=range(1, 6)), "", *_examples(comparison, score_name(comparison["leading"]))]
    return "\n".join(lines)


def _verdict(each):
    if not each["better"]:
        return "equal"
    return f"{each['better']} is better" if each["p_value"] < CLEAR else "may be chance"


def _signed(name, value):
    return f"{'-' if value < 0 else '+'}{format_score(name, abs(value))}"


def _examples(comparison, score):
    """The examples that differ most: the input, both answers and the right one."""
    differ = comparison["differ"][:SHOWN]
    if not differ:
        return [f"No example counts differently in {score}."]
    gains = comparison["leading"] not in ERRORS
    lines = [f"The examples that give most to the difference in {score}:"]
    for row in differ:
        better = "b" if (row["influence"] > 0) is gains else "a"
        lines.append(f"  {row['example'] + 1:,}, where {better} is better: {_shorten(row['input'])}")
        lines += [f"      {side:<9}  {_shorten(row[side])}" for side in ("reference", "a", "b")]
    return lines


def _shorten(value):
    text = "\t".join(value) if isinstance(value, list) else f"{value:.4g}" if isinstance(value, float) else str(value)
    text = escape(text.replace("\t", "  |  "))
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 3]}..."
