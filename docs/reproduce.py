"""Writes the tables of docs/reproduce.md from docs/reproduced: `python docs/reproduce.py`.

tests/pages/test_reproduce.py compares the page with what this writes. The results are those of `seqzoo reproduce --all
--out docs/reproduced`, and `seqzoo reproduce --all --draw --out docs/reproduced` draws their figures again.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

import marked  # noqa: E402

from zoo.core.storage import write_text  # noqa: E402
from zoo.reproduce import report  # noqa: E402
from zoo.reproduce.report import SYSTEMS  # noqa: E402

PAGE, RESULTS = ROOT / "docs" / "reproduce.md", ROOT / "docs" / "reproduced"


def content():
    """The summary of all systems, then each with its figure and its claims."""
    reports = [report.read(system, RESULTS) for system in SYSTEMS if report.result_path(RESULTS, system).is_file()]
    backends = {f"{each['versions']['backend']}, Keras {each['versions']['keras']}" for each in reports}
    claims = [row for each in reports for row in each["claims"]]
    minutes = sum(each["seconds"] for each in reports) / 60
    lines = [
        f"{sum(row['holds'] for row in claims)} of {len(claims)} claims hold at these sizes. All systems take "
        f"{minutes:.0f} minutes of processor time ({', '.join(sorted(backends))}).",
        "",
        "| system | claims | hold | seconds | processor |",
        "|---|---|---|---|---|",
    ]
    for each in reports:
        held = [row["holds"] for row in each["claims"]]
        where = each["processor"].partition(",")[0]
        cells = f"[{each['title']}](#{anchor(each['title'])})", len(held), sum(held), round(each["seconds"]), where
        lines.append(f"| {' | '.join(map(str, cells))} |")
    for each in reports:
        lines += ["", f"## {each['title']}", ""]
        lines += [f"![{each['title']}: what was measured](reproduced/{each['system']}.png)", ""]
        lines += [f"    seqzoo reproduce {each['system']}", ""]
        lines += ["| paper | ours | holds? | seeds |", "|---|---|---|---|"]
        lines += [row_of(row) for row in each["claims"]]
    return "\n".join(lines) + "\n"


def row_of(row):
    paper, ours = (row[side].replace("|", "\\|") for side in ("paper", "ours"))
    seeds = f"{row['seeds'][0]} to {row['seeds'][-1]}" if row["seeds"] else "mathematics"
    return f"| {paper} | {ours} | {'yes' if row['holds'] else '**no**'} | {seeds} |"


def anchor(title):
    return "".join(letter for letter in title.lower().replace(" ", "-") if letter.isalnum() or letter == "-")


def main():
    write_text(PAGE, marked.written(PAGE.read_text("utf-8"), "docs/reproduce.py", content(), "docs/reproduce.md"))
    print(PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
