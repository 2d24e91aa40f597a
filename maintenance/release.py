"""A release: `python -m maintenance.release VERSION [--dry-run]`, from a clean checkout.

It sets the version and the date, builds wheel and site, and checks what is in them. All of this happens in a copy of
the checkout; the checkout itself is changed at the end, when nothing has failed, and with `--dry-run` not at all.
Nothing is committed, tagged or uploaded: what is left to do is printed.
"""

import argparse
import datetime
import difflib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

from tools.screen import log

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
CHANGED = ("pyproject.toml", "CITATION.cff", "CHANGELOG.md")
HELD = ("zoo/py.typed", "serving/py.typed", "zoo/hub/snapshot.json", "seqzoo/cli.py")


def main(argv=None):
    parser = argparse.ArgumentParser(prog="release", description=__doc__.split("\n\n")[1])
    parser.add_argument("version", metavar="VERSION", help="such as 0.1.0")
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="of the release (default: today)")
    parser.add_argument(
        "--hub-address",
        default="",
        metavar="URL",
        help="where the hub will be; the wheel records it (default: nowhere)",
    )
    parser.add_argument("--dry-run", action="store_true", help="do everything in a copy, and leave the checkout alone")
    given = parser.parse_args(argv)
    try:
        release(ROOT, given.version, given.date, given.hub_address, given.dry_run)
    except ValueError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


def release(root, version, date, address="", dry_run=False):
    """Make a release of the checkout `root`.

    Raises:
        ValueError: it is not ready to be released, or a step failed; nothing was changed.
    """
    check(root, version, date)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        log("copies what is committed")
        unpack(root, copy)
        texts = {name: (copy / name).read_text("utf-8") for name in CHANGED}
        new = prepare_texts(texts, version, date)
        for name, text in new.items():
            (copy / name).write_text(text, encoding="utf-8")
        log("checks the hub")
        check_hub(copy)
        log("builds the wheel")
        wheel = build_wheel(copy, version, address)
        log("builds the site")
        site = build_site(copy)
        for name in CHANGED:
            told = difflib.unified_diff(texts[name].splitlines(), new[name].splitlines(), name, name, lineterm="", n=1)
            print("\n".join(told))
        print(f"{wheel.name}: its hub is {address or 'told by SEQZOO_HUB alone'}")
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes; site: {sum(1 for _ in site.rglob('*.html'))} pages")
        if dry_run:
            print("a dry run: the checkout is as it was")
            return
        from zoo.core.storage import write_text  # a dry run needs nothing of the package

        for name, text in new.items():
            write_text(root / name, text)
        (root / "dist").mkdir(exist_ok=True)
        shutil.copyfile(wheel, root / "dist" / wheel.name)
        shutil.rmtree(root / "build" / "site", ignore_errors=True)
        shutil.copytree(site, root / "build" / "site")
    print(
        f"git commit --all --message 'Release {version}' && git tag --annotate v{version} --message 'Release {version}'"
    )
    print(f"then upload dist/{wheel.name}, and publish build/site and the folder hub")


def check(root, version, date):
    """Whether a release of this version may be made of the checkout."""
    if not VERSION.fullmatch(version):
        raise ValueError(f"a version is three numbers, such as 0.2.0; received {version!r}.")
    try:
        datetime.date.fromisoformat(date)
    except ValueError:
        raise ValueError(f"a date is such as 2026-12-01; received {date!r}.") from None
    changed = run(["git", "status", "--porcelain"], root, "git status")
    if changed:
        raise ValueError(f"the checkout has changes that are not committed; commit or remove them first:\n{changed}")
    if run(["git", "tag", "--list", f"v{version}"], root, "git tag"):
        raise ValueError(f"v{version} is released already; choose a later version.")
    older = [each[1:] for each in run(["git", "tag", "--list", "v*"], root, "git tag").split()]
    newer = [each for each in older if VERSION.fullmatch(each) and numbers(each) > numbers(version)]
    if newer:
        raise ValueError(f"{max(newer, key=numbers)} is released already, and later than {version}.")


def numbers(version):
    return tuple(map(int, version.split(".")))


def prepare_texts(texts, version, date):
    """{file: text} of what a release changes.

    Raises:
        ValueError: the changelog has nothing to release, or a file has not the expected form.
    """
    heading = re.search(r"^## (\S+) \(unreleased\)\n(.*?)(?=^## |\Z)", texts["CHANGELOG.md"], re.DOTALL | re.MULTILINE)
    if not heading or not re.search(r"^- ", heading[2], re.MULTILINE):
        raise ValueError(
            "CHANGELOG.md has no section `## VERSION (unreleased)` with entries; there is nothing to release."
        )
    changelog = texts["CHANGELOG.md"].replace(f"## {heading[1]} (unreleased)\n", f"## {version} ({date})\n", 1)
    project = replaced(texts, "pyproject.toml", r'^version = ".*"$', f'version = "{version}"')
    dated = re.sub(r"^date-released: .*\n", "", texts["CITATION.cff"], flags=re.MULTILINE)
    citation = replaced(
        {"CITATION.cff": dated}, "CITATION.cff", r"^version: .*$", f"version: {version}\ndate-released: {date}"
    )
    assert tomllib.loads(project)["project"]["version"] == version
    return {"pyproject.toml": project, "CITATION.cff": citation, "CHANGELOG.md": changelog}


def replaced(texts, name, pattern, line):
    text, count = re.subn(pattern, line, texts[name], flags=re.MULTILINE)
    if count != 1:
        raise ValueError(f"{name} has {count} lines of the form {pattern!r}; expected one.")
    return text


def check_hub(copy):
    """The hub is sound, and its page is that of its index."""
    python = [sys.executable, "-m"]
    run([*python, "tools", "hub", "validate", str(copy / "hub")], copy, "the hub is not sound")
    run(
        [sys.executable, "docs/models.py", "--root", str(copy), "--hub", str(copy / "hub")],
        copy,
        "docs/models.py failed",
    )


def build_wheel(copy, version, address):
    """The path of the wheel, after a look at what is in it."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps", "--quiet"]
    run(
        [*pip, "--wheel-dir", str(copy / "dist"), str(copy)],
        copy,
        "the wheel cannot be built",
        SEQZOO_HUB_ADDRESS=address,
    )
    (wheel,) = (copy / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
        missing = [name for name in HELD if name not in names]
        index = json.loads(file.read("zoo/hub/snapshot.json")) if "zoo/hub/snapshot.json" in names else None
    if missing:
        raise ValueError(f"{wheel.name} lacks {', '.join(missing)}.")
    if index != json.loads((copy / "hub" / "index.json").read_text("utf-8")):
        raise ValueError(f"{wheel.name} carries another index than hub/index.json.")
    if f"-{version}-" not in wheel.name:
        raise ValueError(f"the wheel is called {wheel.name}; expected the version {version}.")
    return wheel


def build_site(copy):
    site = copy / "build" / "site"
    run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(site)], copy, "the site cannot be built")
    return site


def unpack(root, copy):
    """What is committed, in a folder of its own."""
    done = subprocess.run(["git", "archive", "HEAD"], cwd=root, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as file:
        file.extractall(copy, filter="data")


def run(command, folder, failure, **variables):
    """What a command prints.

    Raises:
        ValueError: it failed.
    """
    variables |= {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ | variables)
    if done.returncode:
        raise ValueError(f"{failure}:\n{(done.stdout + done.stderr).strip()[-2000:]}")
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
