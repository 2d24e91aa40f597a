"""A corpus in four processes that are killed again and again: no line may be lost, doubled or different.

    python benchmarks/corpus_kills.py                                 # a million lines; writes benchmarks/results/
    python benchmarks/corpus_kills.py --model dates --lines 20000     # a trained model; writes its own row
    python benchmarks/corpus_kills.py --lines 20000 --kills 20 --dry  # writes nothing

Four processes of `seqzoo run MODEL --file in.txt --out out.txt --shard i/4 --resume` work at once. At random moments
one of them is killed (kill -9) and started again, until all are done. Every line has its number in it. Without --model
it is an artefact that answers each text with the text, so that the file of answers must be the file of texts; with
--model the answers are compared with those of one process that nobody disturbs. Expected: 0, 0, 0.
"""

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import timing

ROOT = Path(__file__).resolve().parents[1]
SHARDS = 4


def write_lines(path, count, model, seed=0):
    """Short lines, each with its number: digits and letters, or dates for a trained model."""
    rng = random.Random(seed)
    with open(path, "w", encoding="utf-8") as file:
        for number in range(count):
            if model:
                file.write(f"{rng.randint(1, 28)}/{rng.randint(1, 12)}/{rng.randint(1900, 2050)}\n")
            else:
                file.write(f"{number} {''.join(rng.choices('abcdefgh', k=rng.randint(1, 8)))}\n")


def command(model, out, *more):
    more = [*more, "--beam", "1"] if str(model).endswith("echo") else more
    return [sys.executable, "-m", "tools", "run", str(model), "--file", "in.txt", "--out", out, "--threads", "1", *more]


def start(home, model, shard):
    return subprocess.Popen(
        command(model, "out.txt", "--shard", f"{shard}/{SHARDS}", "--resume"),
        cwd=home,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )


def disturbed(home, model, kills, pause, seed=1):
    """Run all shards to their ends; returns how often a process was killed."""
    rng, done = random.Random(seed), 0
    running = {shard: start(home, model, shard) for shard in range(1, SHARDS + 1)}
    try:
        while running:
            time.sleep(rng.uniform(0.2, pause) if done < kills else 0.5)
            for shard, process in list(running.items()):
                if process.poll() is not None:
                    said = process.stderr.read()
                    process.stderr.close()
                    if process.returncode:
                        raise SystemExit(f"shard {shard} ended with {process.returncode}: {said}")
                    del running[shard]
            if running and done < kills:
                shard = rng.choice(list(running))
                running[shard].send_signal(signal.SIGKILL)
                running[shard].wait()
                running[shard].stderr.close()
                running[shard], done = start(home, model, shard), done + 1
    finally:
        for process in running.values():
            process.kill()
            process.wait()
    return done


def compared(expected, found):
    """Lines that are missing, too many, and different where both files have one."""
    counts = {"lines": 0, "lost": 0, "doubled": 0, "different": 0}
    with open(expected, encoding="utf-8") as one, open(found, encoding="utf-8") as other:
        for line in one:
            counts["lines"] += 1
            answer = other.readline()
            counts["lost"] += not answer
            counts["different"] += bool(answer) and answer != line
        counts["doubled"] = sum(1 for _ in other)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--pause", type=float, default=4.0, help="the longest time between two kills, in seconds")
    parser.add_argument("--model", help="the name of a model or an artefact; without it one that echoes")
    parser.add_argument("--dry", action="store_true", help="write no results")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home, model = Path(folder), args.model
        if model is None:
            model = home / "echo"
            make = [sys.executable, "-m", "tests.serving.fake_artefact", str(model)]
            subprocess.run(make, cwd=ROOT, check=True)
        write_lines(home / "in.txt", args.lines, args.model)
        expected, begun = home / "in.txt", time.monotonic()
        if args.model:
            expected = home / "whole.txt"
            environment = os.environ | {"PYTHONPATH": str(ROOT)}
            subprocess.run(command(model, "whole.txt"), cwd=home, env=environment, check=True)
        alone = time.monotonic()
        kills = disturbed(home, model, args.kills, args.pause)
        took = time.monotonic() - alone
        parts = [f"out-{shard:05d}-of-{SHARDS:05d}.txt" for shard in range(1, SHARDS + 1)]
        with open(home / "out.txt", "wb") as whole:
            for part in parts:
                whole.write((home / part).read_bytes())
        row = {"model": args.model or "echo", **compared(expected, home / "out.txt"), "kills": kills}
        row["most_megabytes"] = round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)  # of a process
    row |= {"seconds": round(took), "undisturbed_seconds": round(alone - begun) if args.model else None}
    print(json.dumps(row))
    if not args.dry:
        path = timing.RESULTS / "corpus_kills.json"
        before = json.loads(path.read_text())["rows"] if path.exists() else []
        timing.write("corpus_kills", [each for each in before if each["model"] != row["model"]] + [row])
    return 0 if row["lost"] == row["doubled"] == row["different"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
