"""Every model of the hub in a headless Chromium: are its answers those of `seqzoo run`, and how soon is the first one?

    python benchmarks/gallery.py                              # all models, 200 texts each; writes benchmarks/results/
    python benchmarks/gallery.py dates babi-1                 # some; writes their rows, and leaves the others
    python benchmarks/gallery.py --first                      # only the times to the first answers, into the rows
    python benchmarks/gallery.py dates --count 20             # fewer texts; writes nothing

Of the texts of a model, 120 are from its test set and 80 are strings that nobody would send (`benchmarks/strings.py`).
Compared are ids, texts, errors, warnings, and the ids that were read. A gallery is written, served on this machine, and
opened in a browser with an empty profile, anew for each model: "first" is the time from the arrival of the last file of
the model and of ONNX Runtime to the first answer, with the start of ONNX Runtime, which begins with the page;
"first_answer_cpu_s" are the seconds of processors that all processes of the browser use from the opening of the page
to that answer, whatever else the machine does meanwhile. "load" is the load of the machine then.

Where ids differ, "ties" has the gap between the two answers at the first step that differs (`harness/ties.py`), which
needs TensorFlow.

Expected: 0 differ, no error in the console, no request to another host.
"""

import argparse
import gzip
import json
import os
import tempfile
from pathlib import Path

import strings
import timing
from harness.browser import Browser, Page, served

from serving.gallery import write
from serving.runtime import Runtime
from serving.runtime.artefact import locate
from serving.runtime.reading import is_answered

ROOT = Path(__file__).parents[1]
HOSTILE = 0.4  # the share of strings that nobody would send
AT_ONCE = 20  # texts that the page is asked before it is waited for


def texts(name, version, count):
    """The texts that a model is asked."""
    hostile = [text for _, text in strings.strings(round(HOSTILE * count), seed=7)]
    path = ROOT / "hub" / name / str(version) / "outputs.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found = [json.loads(line)["input"] for line in file]
    usual = ["\t".join(each) if isinstance(each, list) else each for each in found]
    return [in_a_browser(text) for text in usual[: count - len(hostile)] + hostile]


def in_a_browser(text):
    """A string as JavaScript can hold it: two surrogates that follow each other are one character there."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


class Expected:
    """What `seqzoo run` answers, with the ids that the page is to answer, too.

    Args:
        name: of a model, or the folder of an artefact.
    """

    def __init__(self, name):
        self.runtime = Runtime(locate(name), threads=1)
        self.loaded, self.predictor = self.runtime._loaded, self.runtime._predictor
        self.labels = self.runtime.manifest.get("labels", [])

    def __call__(self, text):
        """A dict: ids, text, source, error, warning."""
        (result,), kind = self.runtime.run([text]), self.runtime.kind
        said = {"error": result.error, "warning": result.warning}
        if kind == "tag":
            (reading,) = self.loaded.read_words([text])
            ids = [self.labels.index(word.tag) for word in result.words]
            written = " ".join(f"{word.text}/{word.tag}" for word in result.words)
            return {"ids": ids, "text": written, "source": list(reading.ids), **said}
        (reading,) = self.loaded.read([text], end=kind != "continue")
        if kind == "classify":
            ids = [self.labels.index(next(iter(result.probabilities)))] if result.probabilities else []
            return {"ids": ids, "text": result.label, "source": list(reading.ids), **said}
        answered = not reading.error if kind == "continue" else is_answered(reading)
        ids = self.predictor.search([list(reading.ids)], None, 1)[0][0][0] if answered else []
        return {"ids": ids, "text": result.text, "source": list(reading.ids), **said}


SHOWN = "{ids, text, source, error, warning, milliseconds, first, fetching}"


def ask(page, name, asked):
    """The answers of the page, a dict each."""
    found = []
    for first in range(0, len(asked), AT_ONCE):
        some = json.dumps(asked[first : first + AT_ONCE])
        found += page.run(
            f"Promise.all({some}.map((text) => seqzoo.run({json.dumps(name)}, text).then(({SHOWN}) => ({SHOWN}))))"
        )
    return found


def differing(expected, received):
    """The keys whose values are not the same."""
    return [key for key, value in expected.items() if received[key] != value]


def opened(browser, address, name, text):
    """A page that has answered its first text, and a dict of how long that took."""
    page, before = Page(browser), browser.cpu_seconds()
    page.open(f"{address}/")
    (first,) = ask(page, name, [text])
    return page, {
        "first_answer_ms": round(first["first"], 1),
        "fetching_ms": round(first["fetching"], 1),
        "first_answer_cpu_s": round(browser.cpu_seconds() - before, 2),
        "load": round(os.getloadavg()[0], 1),
    }


def measure(browser, address, entry, count):
    """A row of the results."""
    name = entry["name"]
    asked = texts(name, entry["version"], count)
    page, first = opened(browser, address, name, asked[0])
    received = ask(page, name, asked)
    expected = Expected(name)
    answers = [expected(text) for text in asked]
    wrong = [
        {"text": text[:80], "differ": found, "expected": {key: answer[key] for key in found}}
        | {"received": {key: got[key] for key in found}}
        for text, answer, got in zip(asked, answers, received, strict=True)
        if (found := differing(answer, got))
    ]
    foreign = sorted({each for each in page.requests if not each.startswith(address)})
    times = sorted(each["milliseconds"] for each in received if each["ids"])
    return {
        "model": name,
        "texts": len(asked),
        "answered": len(times),
        "differ": len(wrong),
        **first,
        "median_ms": round(times[len(times) // 2], 2),
        "bytes": sum(entry["bytes"].values()),
        "console": page.errors,
        "foreign": foreign,
        "examples": wrong[:3],
        "ties": ties(page, name, expected.runtime, asked, answers, received),
    }


def ties(page, name, runtime, asked, answers, received):
    """A row for each text whose ids differ: see `harness.ties.Ties`."""
    known, rows = None, []
    for text, answer, got in zip(asked, answers, received, strict=True):
        if answer["ids"] == got["ids"]:
            continue
        if known is None:
            from harness.ties import Ties

            import zoo

            known = Ties(runtime, zoo.load(name))
        question = f"seqzoo.run({json.dumps(name)}, {json.dumps(text)})"
        result, inside = page.run(
            f"{question}.then(async (result) => [result, await seqzoo.inside({json.dumps(name)}, result)])"
        )
        rows.append({"text": text[:80], **known.row(answer["source"], answer["ids"], result, inside)})
    return rows


def merged(rows):
    """The rows that are known, with these in the place of theirs."""
    path = timing.RESULTS / "gallery.json"
    known = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    held = {row["model"]: row for row in known}
    for row in rows:
        held[row["model"]] = {**held.get(row["model"], {}), **row}
    return list(held.values())


def main(args):
    index = json.loads((ROOT / "hub" / "index.json").read_text(encoding="utf-8"))
    entries = [each for each in index["models"] if each["withdrawn"] is None]
    names = args.names or [each["name"] for each in entries]
    with tempfile.TemporaryDirectory() as home:
        out = write(names, Path(home) / "gallery")
        gallery = json.loads((out / "gallery.json").read_text(encoding="utf-8"))
        rows = []
        with served(out) as (address, _):
            for entry in gallery["models"]:
                browser = Browser()
                try:
                    rows.append(
                        first(browser, address, entry) if args.first else measure(browser, address, entry, args.count)
                    )
                finally:
                    browser.close()
                print(json.dumps(rows[-1]), flush=True)
    if not args.first:
        asked, wrong = (sum(row[key] for row in rows) for key in ("texts", "differ"))
        print(f"{len(rows)} models, {asked} texts, {wrong} differ")
    if args.count == 200:
        timing.write("gallery", merged(rows), packages=gallery["engine"]["packages"])
    return 1 if any(row.get("differ") or row.get("console") or row.get("foreign") for row in rows) else 0


def first(browser, address, entry):
    """Only how long the first answer of a model takes."""
    (text,) = texts(entry["name"], entry["version"], 1)
    return {"model": entry["name"], **opened(browser, address, entry["name"], text)[1]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="models of the hub (default: all)")
    parser.add_argument("--first", action="store_true", help="measure only the times to the first answers")
    parser.add_argument("--count", type=int, default=200, help="texts for each model (default: 200)")
    raise SystemExit(main(parser.parse_args()))
