"""A corpus through examples/ray_batch.py, whose driver is killed: no row may be lost, doubled or different.

    python benchmarks/ray_kills.py                            # 100,000 rows, 3 kills; writes benchmarks/results/
    python benchmarks/ray_kills.py --rows 5000 --kills 1 --dry

It needs Ray (`pip install 'ray[data]>=2.60'`). A model that echoes answers rows of a number and some letters. When the
checkpoint has grown, the driver is killed (kill -9), and another one goes on. Expected: 0, 0, 0, and at least one row
that was kept from before a kill.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow
import timing
from pyarrow import parquet

ROOT = Path(__file__).resolve().parents[1]
MOST_FAILURES = 10


def write_rows(path, count, seed=0):
    rng = random.Random(seed)
    texts = [f"{number} {''.join(rng.choices('abcdefgh', k=rng.randint(1, 8)))}" for number in range(count)]
    parquet.write_table(pyarrow.table({"id": list(range(count)), "text": texts}), path, row_group_size=2000)


def kept(folder):
    """The rows of a folder of Parquet files that can be read as they are now."""
    count = 0
    for path in Path(folder).glob("*.parquet"):
        try:
            count += parquet.read_metadata(path).num_rows
        except (OSError, pyarrow.ArrowException):
            continue  # one that is being written
    return count


def start(home, model):
    words = [
        sys.executable,
        str(ROOT / "examples" / "ray_batch.py"),
        str(model),
        "in.parquet",
        "out",
        "--processes",
        "1",
    ]
    log = open(home / "log.txt", "ab")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(words, cwd=home, env=environment, stdout=log, stderr=log, start_new_session=True)


def disturbed(home, model, rows, kills):
    """Run to the end; returns the rows that were kept at each kill, and how often Ray itself did not start."""
    found, failed = [], 0
    while True:
        process, before = start(home, model), kept(home / "out.checkpoint")
        wanted = before + (rows - before) // 4 if len(found) < kills else rows + 1
        while process.poll() is None and kept(home / "out.checkpoint") < wanted:
            time.sleep(0.2)
        if process.poll() is None and len(found) < kills:
            process.send_signal(signal.SIGKILL)
            process.wait()
            found.append(kept(home / "out.checkpoint"))
            end_group(process.pid)
            continue
        if process.wait() == 0:
            return found, failed
        failed += 1  # such as "timed out during startup" on a busy machine: another end of a driver to go on from
        if failed > MOST_FAILURES:
            raise SystemExit(f"the driver ended with {process.returncode}: {(home / 'log.txt').read_text()[-3000:]}")
        end_group(process.pid)


def end_group(group):
    """Ray's processes end by themselves when their driver has; this one waits for it, and ends what is left."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.2)
    os.killpg(group, signal.SIGKILL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--dry", action="store_true", help="write no results")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        subprocess.run([sys.executable, "-m", "tests.serving.fake_artefact", str(home / "echo")], cwd=ROOT, check=True)
        write_rows(home / "in.parquet", args.rows)
        begun = time.monotonic()
        found, failed = disturbed(home, home / "echo", args.rows, args.kills)
        took = time.monotonic() - begun
        expected = parquet.read_table(home / "in.parquet")
        table = parquet.read_table(home / "out").sort_by("id")
        ids = table["id"].to_pylist()
        texts = dict(zip(expected["id"].to_pylist(), expected["text"].to_pylist(), strict=True))
        row = {
            "rows": args.rows,
            "lost": len(texts.keys() - set(ids)),
            "doubled": len(ids) - len(set(ids)),
            "different": sum(
                texts.get(number) != answer for number, answer in zip(ids, table["answer"].to_pylist(), strict=True)
            ),
            "kills": len(found),
            "other_ends": failed,
            "kept_at_each_kill": found,
            "seconds": round(took),
        }
    print(json.dumps(row))
    if not args.dry:
        import ray

        timing.write("ray_kills", [row], ray=ray.__version__)
    return 0 if row["lost"] == row["doubled"] == row["different"] == 0 and any(found) else 1


if __name__ == "__main__":
    sys.exit(main())
