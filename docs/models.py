"""Writes the page of the trained models, its figures, and the README's table of the best ones: `python docs/models.py`.

Everything is taken from `index.json` of the checkout's hub, or with `--hub DIR` of another one;
tests/pages/test_models.py compares the page with what this writes. Of each name it shows the newest version that was
not withdrawn, as `seqzoo list` does, and the same score leads.
"""

import argparse
import hashlib
import io
import json
import os
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

import marked  # noqa: E402
from front import Point, draw_front  # noqa: E402

from tools.list import LOW, main_score  # noqa: E402
from zoo.core.documents import Mismatch  # noqa: E402
from zoo.core.storage import write_atomically, write_text  # noqa: E402
from zoo.hub.index import choose, parse, run_files  # noqa: E402
from zoo.scores.plots import format_score, score_name  # noqa: E402

PAGE, README, FIGURES = Path("docs/models.md"), Path("README.md"), Path("docs/zoo/figures/models")
FEWEST = 3  # models that a figure compares
MANY = 4  # languages that are listed by their codes
SLOTS = ("system", "cell", "attention", "feedforward", "block", "depth")
TEXTS = tomllib.loads((ROOT / "docs" / "models.toml").read_text(encoding="utf-8"))
HEAD = """# The models of the zoo

Every trained model of the hub, by task, the best first among those that answered the same questions; `python
docs/models.py` writes this page from the hub's `index.json`. MB are those of the files that `seqzoo run` needs, ms are
for one text on one thread of the processor that is named, and a score is that of the published artefact with its 95 %
interval. In the figures better is higher up and cheaper is further left, a line of steps joins the models that no other
beats in both, and two strokes through an axis say that it does not begin at 0.
"""


def read(hub):
    """The entries of the index of a hub: of each name the newest version that was not withdrawn.

    Raises:
        ValueError: there is no index.
        Mismatch: it is damaged.
    """
    path = Path(hub) / "index.json"
    if not path.is_file():
        raise ValueError(
            f"there is no index of models at {path}: expected a hub, which `seqzoo hub publish` or `python "
            "benchmarks/hub_models.py` fills. Give the folder of one: --hub DIR."
        )
    entries = parse(path.read_bytes())["models"]
    names = sorted({each["name"] for each in entries if each["withdrawn"] is None})
    return [choose(entries, name) for name in names]


def megabytes(entry):
    """Of the files that a run with no options needs."""
    return sum(entry["bytes"][file] for file in run_files(entry)) / 1e6


def test_of(entry):
    """What a model was asked; the scores of two models can be compared where this is the same.

    A number at the end of a name is a part of its data, such as one of bAbI's tasks.
    """
    part = re.search(r"-\d+$", entry["name"])
    own = entry["task"], entry["data"], tuple(entry["languages"]), main_score(entry) or ""
    return *own, size_of_test(entry), part and part[0]


def size_of_test(entry):
    """How much a model was asked: texts, or the characters of a running text, whose windows depend on its context."""
    return entry["scores"].get("characters") or entry["scores"].get("count")


def quality(entry):
    """A key for sorting: the best first, those without a score last, then by name."""
    score = main_score(entry)
    value = 0.0 if score is None else entry["scores"][score]
    return score is None, value if score in LOW else -value, entry["name"]


def grouped(entries, key):
    """{key: entries}."""
    found = {}
    for each in entries:
        found.setdefault(key(each), []).append(each)
    return found


def tests(entries):
    """Lists of models that answered the same questions, the largest first, in each the best first."""
    groups = [sorted(own, key=quality) for own in grouped(entries, test_of).values()]
    return sorted(groups, key=lambda own: (-len(own), min(each["name"] for each in own)))


def text_of(entry):
    place = " ".join([entry["name"], entry["task"], *entry["languages"], ""])
    return next(text for pattern, text in TEXTS.items() if re.search(pattern, place))


def command(entry):
    """The line that runs a model."""
    return f'seqzoo run {entry["name"]} "{text_of(entry)}"' + (" --sample" if entry["kind"] == "continue" else "")


def cell(text):
    """A text in one cell of a table."""
    return " ".join(str(text).split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def number(value):
    """Three digits, more where there are more before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def scored(entry, interval=True):
    """The score that leads, in words."""
    score = main_score(entry)
    return "not measured" if score is None else _said(score, entry["scores"], interval)


def elsewhere(entry, interval=True):
    """The score that leads on other examples than the test set, in words; "" where nobody has measured it."""
    others = entry.get("elsewhere", {})
    score = main_score(entry)
    return "; ".join(f"{_said(score, own, interval)} on {name}" for name, own in others.items() if score in own)


def _said(score, scores, interval):
    name = score_name(score).removesuffix(", %")
    unit = " %" if score_name(score).endswith(", %") else ""
    said = f"{name} {format_score(score, scores[score])}{unit}"
    ends = scores.get(f"{score}_interval")
    return said + (f" ({' to '.join(format_score(score, end) for end in ends)})" if ends and interval else "")


def spoken(entry):
    """The languages of a model."""
    codes = entry["languages"]
    return f"{len(codes)} languages" if len(codes) > MANY else ", ".join(codes)


def page(entries):
    """The text of the page."""
    parts, drawn = [HEAD], plots(entries)
    for task, own in sorted(grouped(entries, lambda each: each["task"]).items()):
        groups = tests(own)
        processors = list(dict.fromkeys(each["speed"]["processor"] for each in own if each["speed"]))
        parts += [f"\n## {cell(task)}\n\n", *_table(groups, processors), f"\n```sh\n{command(groups[0][0])}\n```\n"]
        for group in groups:
            parts += _figures(group, drawn.get(group[0]["name"], []))
    return "".join(parts)


def _figures(group, drawn):
    for plot in drawn:
        yield f"\n![{plot.title}: {score_name(plot.score)}, and {plot.cost}]({plot.link})\n"
        missing = [f"`{each['name']}`" for each in group if each["name"] not in plot.names]
        if missing:
            yield f"\nNot in this figure, because they were timed elsewhere or not at all: {', '.join(missing)}.\n"


def _table(groups, processors):
    several = len(processors) > 1
    yield "| model | what it does | made of | languages | parameters | MB | ms | score | test | licence |\n"
    yield "|---|---|---|---|---|---|---|---|---|---|\n"
    for entry in (each for group in groups for each in group):
        speed = entry["speed"]
        ms = f"{number(speed['milliseconds'])}" if speed else ""
        if speed and several:
            ms += f" ({processors.index(speed['processor']) + 1})"
        made = ", ".join(entry[slot] for slot in SLOTS if entry[slot])
        count, letters = size_of_test(entry), " characters" if "characters" in entry["scores"] else ""
        asked = entry["data"] + (f", {count:,}{letters}" if isinstance(count, int) else "")
        cells = (f"`{entry['name']}`", entry["description"], made, spoken(entry), f"{entry['parameters']:,}")
        said = "; ".join(filter(None, (scored(entry), elsewhere(entry))))
        cells = (*cells, number(megabytes(entry)), ms, said, asked, entry["licence"])
        yield f"| {' | '.join(map(cell, cells))} |\n"
    if processors:
        named = "; ".join(f"({place}) {cell(name)}" for place, name in enumerate(processors, 1))
        yield f"\nms: {named if several else cell(processors[0])}.\n"


class Plot:
    """A figure of the models that answered the same questions: its file, and what it shows."""

    def __init__(self, group, shared, measure):
        self.name = f"{shared}-{measure}.png"
        self.link = f"{FIGURES.relative_to('docs').as_posix()}/{self.name}"
        self.score, self.measure = main_score(group[0]), measure
        self.cost = "MB that a run needs" if measure == "size" else "ms for one text"
        self.title = f"{shared}: score and {measure}"
        self.names = {each["name"] for each in group}
        self.points = [self._point(each, shared) for each in group]

    def _point(self, entry, shared):
        cost = megabytes(entry) if self.measure == "size" else entry["speed"]["milliseconds"]
        ends = entry["scores"].get(f"{self.score}_interval")
        short = entry["name"].removeprefix(f"{shared}-")
        return Point(short, cost, entry["scores"][self.score], tuple(ends) if ends else None)

    @property
    def digest(self):
        """SHA-256 of what is shown; the file of the figure has it, too."""
        shown = [[each.name, each.cost, each.score, each.interval] for each in self.points]
        return hashlib.sha256(json.dumps([self.title, self.score, self.cost, shown]).encode()).hexdigest()

    def png(self):
        """The bytes of the file, the same for the same models, fonts and version of matplotlib."""
        import matplotlib

        file = io.BytesIO()
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            figure = draw_front(self.points, self.score, self.cost, self.title)
            figure.savefig(file, format="png", metadata={"Software": None, "Description": self.digest})
        return file.getvalue()


def plots(entries):
    """{name of a model: figures of all that answered the same questions}, by the best model of each such group."""
    found, taken = {}, set()
    for group in tests(entries):
        timed = grouped([each for each in group if each["speed"]], lambda each: each["speed"]["processor"])
        timed = max(timed.values(), key=len, default=[])  # milliseconds of two processors cannot be compared
        timed = [each for each in timed if each["speed"]["milliseconds"] > 0]
        shared = stem(group, taken)
        taken.add(shared)
        drawn = [(own, measure) for own, measure in ((group, "size"), (timed, "speed")) if len(own) >= FEWEST]
        if main_score(group[0]):
            found[group[0]["name"]] = [Plot(own, shared, measure) for own, measure in drawn]
    return found


def stem(group, taken):
    """What the names of the models have in common, in whole words; if that is nothing, or taken, one of the names."""
    shared = os.path.commonprefix([f"{each['name']}-" for each in group]).rpartition("-")[0]
    return shared if shared and shared not in taken else min(each["name"] for each in group)


def best(entries):
    """[(entry, other languages)] of the README: of each task and data the best one of the largest test."""
    for _, own in sorted(grouped(entries, lambda each: (each["task"], each["data"])).items()):
        group, *others = tests(own)
        codes = sorted({spoken(each) for other in others for each in other} - {spoken(group[0])})
        yield group[0], codes


def table(entries):
    """The part of the README between its two marks."""
    rows = ["The best model of each task and its data:\n\n"]
    rows += ["| task | languages | best model | score | on other examples | MB | command |\n", f"|{'---|' * 7}\n"]
    for entry, others in best(entries):
        languages = spoken(entry) + (f"; others: {', '.join(others)}" if others else "")
        own = scored(entry, interval=False), elsewhere(entry, interval=False)
        cells = (entry["task"], languages, f"`{entry['name']}`", *own)
        rows.append(f"| {' | '.join(map(cell, (*cells, number(megabytes(entry)), f'`{command(entry)}`')))} |\n")
    return "".join(rows)


def with_table(text, entries):
    """The text of the README with its part written anew.

    Raises:
        ValueError: it has no such part.
    """
    return marked.written(text, "docs/models.py", f"\n{table(entries)}\n", "README.md")


def write(hub, root):
    """Write page, figures and the README's part; nothing is written if one of them cannot be made."""
    entries = read(hub)
    text, readme = page(entries), root / README
    whole = with_table(readme.read_text(encoding="utf-8"), entries)
    files = {plot.name: plot.png() for drawn in plots(entries).values() for plot in drawn}
    for name, content in files.items():
        write_atomically(root / FIGURES / name, lambda file, content=content: file.write(content))
    for old in (root / FIGURES).glob("*.png"):
        if old.name not in files:
            old.unlink()
    write_text(root / PAGE, text)
    write_text(readme, whole)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0] + ".")
    parser.add_argument(
        "--hub", type=Path, default=ROOT / "hub", help="the folder of the hub; by default the checkout's"
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout that is written; by default this one")
    given = parser.parse_args(arguments)
    try:
        write(given.hub, given.root)
    except (ValueError, OSError) as error:
        print(f"docs/models.py: {error}", file=sys.stderr)
        return 1 if isinstance(error, Mismatch | OSError) else 2
    print(given.root / PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
