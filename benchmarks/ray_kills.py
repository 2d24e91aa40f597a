"""A corpus through examples/ray_batch.py, whose driver is killed: no row may be lost, doubled or different.

    python benchmarks/ray_kills.py                            # 100,000 rows, 3 kills; writes benchmarks/results/
    python benchmarks/ray_kills.py --rows 5000 --kills 1 --dry

It needs Ray (`pip install 'ray[data]>=2.60'`), of which it starts a cluster of one machine. A model that echoes answers
rows of a number and some letters. When the checkpoint has grown, the driver is killed (kill -9), and another one goes
on. Expected: 0, 0, 0, and at least one row that was kept from before a kill.
"""

import argparse
import json
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow
import timing
from pyarrow import parquet

ROOT = Path(__file__).resolve().parents[1]
LOGICAL_CPUS = 6  # a run that goes on needs some for the actors that filter what is done


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


@contextmanager
def cluster(home):
    """A cluster of one machine on the loopback; it outlives its drivers. Gives the environment of a driver."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
    }
    # Ports that are named need not be waited for: on a busy machine Ray gives up after 15 seconds.
    agents = "dashboard-agent-grpc-port", "dashboard-agent-listen-port", "metrics-export-port", "runtime-env-agent-port"
    port, *others = free_ports(1 + len(agents))
    words = [Path(sys.executable).with_name("ray"), "start", "--head", "--block", "--include-dashboard=false"]
    words += [f"--num-cpus={LOGICAL_CPUS}", "--node-ip-address=127.0.0.1", f"--port={port}"]
    words += [f"--{name}={number}" for name, number in zip(agents, others, strict=True)]
    with open(home / "cluster.txt", "ab") as log:
        process = subprocess.Popen(words, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        while "Ray runtime started" not in (home / "cluster.txt").read_text():
            if process.poll() is not None:
                raise SystemExit(f"Ray did not start: {(home / 'cluster.txt').read_text()[-3000:]}")
            time.sleep(0.5)
        yield environment | {"RAY_ADDRESS": f"127.0.0.1:{port}"}
    finally:
        process.terminate()  # which ends its processes
        process.wait()


def free_ports(count):
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in taken:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in taken]


def start(home, model, environment):
    words = [sys.executable, str(ROOT / "examples" / "ray_batch.py"), str(model), "in.parquet", "out"]
    with open(home / "log.txt", "ab") as log:
        return subprocess.Popen([*words, "--processes", "1"], cwd=home, env=environment, stdout=log, stderr=log)


def disturbed(home, model, rows, kills):
    """Run to the end; returns the rows that were kept at each kill."""
    found = []
    with cluster(home) as environment:
        while True:
            process, before = start(home, model, environment), kept(home / "out.checkpoint")
            wanted = before + (rows - before) // 4 if len(found) < kills else rows + 1
            while process.poll() is None and kept(home / "out.checkpoint") < wanted:
                time.sleep(0.2)
            if process.poll() is None and len(found) < kills:
                process.send_signal(signal.SIGKILL)
                process.wait()
                found.append(kept(home / "out.checkpoint"))
            elif process.wait():
                said = (home / "log.txt").read_text()[-3000:]
                raise SystemExit(f"the driver ended with {process.returncode}: {said}")
            else:
                return found


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
        found = disturbed(home, home / "echo", args.rows, args.kills)
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
