"""`seqzoo serve` under load on this machine: speed, batches, memory, and that every answer is the right one.

    python benchmarks/server_load.py dates pronounce-hu intents-en shakespeare-reformer --seconds 60 --write
    python benchmarks/server_load.py out/de-en --seconds 10 --clients 64       # writes nothing

For each model a server is started twice, with batches by arrival and without (`--max-batch-texts 1`), and asked by 1, 8
and 64 clients; the two take turns. A client has one connection and sends its next text, of the model's own test set,
when it has the answer to the last one. Every answer is compared with what `serving.runtime.Runtime` says to that text
alone, and counted as

- lost: no answer, or an error; doubled: bytes that nobody has asked for;
- mixed up: the answer to a text that somebody else has sent, or with the id of another request;
- different: another answer than alone.

Latencies are in milliseconds; `CPU ms` is the time that the server's process has spent on its cores for each answer,
which other work on the machine changes little; memory is that of the server's process in MB, ten seconds after the
first request of the load and at its end. `--peer savedmodel`, `plain`, `mlserver` and `ctranslate2` ask other servers
in the same run (`benchmarks/server_peers.py`).
"""

import argparse
import asyncio
import contextlib
import gzip
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import timing
from harness.report import table
from server_peers import PEERS

from serving.runtime import Runtime
from serving.runtime.artefact import locate

CLIENTS, WARM = (1, 8, 64), 2.0
PAGE = os.sysconf("SC_PAGE_SIZE")
OURS = {
    "batches": [],
    "one by one": ["--max-batch-texts", "1", "--max-delay", "0"],
}


@dataclass
class Load:
    """What a load came to."""

    milliseconds: list = field(default_factory=list)
    lost: int = 0
    doubled: int = 0
    mixed: int = 0
    different: int = 0
    memory: list = field(default_factory=list)
    seconds: float = 0.0  # of the server's process on its cores


def texts_of(runtime, folder, most=200):
    """Different texts of the model's test set, or of its manifest."""
    path = Path(folder) / "outputs.jsonl.gz"
    found = runtime.manifest["texts"]
    if path.is_file():
        with gzip.open(path, "rt", encoding="utf-8") as file:
            found = [json.loads(line)["input"] for line in file]
    if runtime.kind == "continue":  # prompts of 8 to 200 characters
        whole = " ".join(found)
        found = [whole[31 * number : 31 * number + 8 + 37 * number % 193] for number in range(len(whole) // 31)]
    return list(dict.fromkeys(text for text in found if text.strip()))[:most]


def answer_of(kind, value):
    """The answer in a response, as `Runtime` has it."""
    held = {each["name"]: each for each in value["outputs"]}
    if kind == "tag":  # MLServer splits a batch by texts, so that the tags of one are one string there
        return held["tags"]["data"] if "tags" in held else held["output_text"]["data"][0].split()
    return held["label" if kind in ("classify", "compare") else "output_text"]["data"][0]


async def client(port, path, asked, until, load, kind):
    """One connection, one text after another."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        while time.perf_counter() < until:
            number, text, expected, others = next(asked)
            inputs = [{"name": "text", "datatype": "BYTES", "shape": [1], "data": [text]}]
            body = json.dumps({"id": str(number), "inputs": inputs}).encode()
            head = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n"
            head += "Content-Type: application/json\r\n\r\n"
            started = time.perf_counter()
            writer.write(head.encode() + body)
            said = await reader.readuntil(b"\r\n\r\n")
            size = next(
                int(line.split(b":")[1]) for line in said.lower().split(b"\r\n") if line.startswith(b"content-length")
            )
            value = await reader.readexactly(size)
            load.milliseconds.append(1e3 * (time.perf_counter() - started))
            if reader._buffer:  # nothing was asked for what is left
                load.doubled += 1
            if not said.startswith(b"HTTP/1.1 200"):
                load.lost += 1
                continue
            value = json.loads(value)
            answer = answer_of(kind, value)
            if value.get("id", str(number)) != str(number) or answer != expected and answer in others:
                load.mixed += 1
            elif answer != expected:
                load.different += 1
    except (OSError, asyncio.IncompleteReadError):
        load.lost += 1
    finally:
        writer.close()


def asking(texts, expected):
    """Numbers, texts and what is expected, for ever; no text is asked by two clients at once."""
    number, known = 0, set(map(str, expected))
    while True:
        place = number % len(texts)
        others = known - {str(expected[place])} if len(known) > 30 else ()  # a few labels come often anyway
        yield number, texts[place], expected[place], others
        number += 1


async def loaded(served, clients, seconds, asked, kind):
    """A `Load` of so many clients for so many seconds."""
    for load, duration in ((Load(), min(WARM, seconds / 5)), (result := Load(), seconds)):
        until, before = time.perf_counter() + duration, on_cores(served.process.pid)
        tasks = [
            asyncio.ensure_future(client(served.port, served.path, asked, until, load, kind)) for _ in range(clients)
        ]
        looked = time.perf_counter() + min(10, duration / 2)
        while any(not task.done() for task in tasks):
            await asyncio.wait(tasks, timeout=0.25)
            if time.perf_counter() >= looked:
                load.memory.append(resident(served.process.pid))
        for task in tasks:
            task.result()
        load.seconds = on_cores(served.process.pid) - before
    return result


def on_cores(pid):
    """Seconds that a process has spent on its cores, all threads together."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / 1e6


@dataclass
class Served:
    """A server that runs."""

    process: object
    port: int
    path: str


@contextlib.contextmanager
def ours(model, name, options):
    """`seqzoo serve`, ready."""
    code = "import sys; from tools.cli import main; sys.exit(main(sys.argv[1:]))"
    words = [
        sys.executable,
        "-c",
        code,
        "serve",
        str(Path(model).resolve() if Path(model).is_dir() else model),
        "--http-port",
        "0",
        "--grpc-port",
        "0",
        *options,
    ]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])
    try:
        for line in process.stderr:
            event = json.loads(line)
            if event["event"] == "ready":
                yield Served(process, event["http_port"], f"/v2/models/{name}/infer")
                break
        else:
            raise RuntimeError("the server has not started")
    finally:
        process.terminate()
        process.wait(30)
        process.stderr.close()


def row_of(model, name, clients, load, seconds):
    """A row of the table."""
    held = sorted(load.milliseconds) or [0.0]
    at = lambda share: round(held[min(len(held) - 1, int(share * len(held)))], 2)  # noqa: E731
    return {
        "model": model,
        "server": name,
        "clients": clients,
        "texts a second": round(len(load.milliseconds) / seconds, 1),
        "CPU ms": round(1e3 * load.seconds / max(1, len(held)), 3),
        "p50": round(statistics.median(held), 2),
        "p95": at(0.95),
        "p99": at(0.99),
        "answers": len(load.milliseconds),
        "lost": load.lost,
        "doubled": load.doubled,
        "mixed up": load.mixed,
        "different": load.different,
        "MB at 10 s": round(load.memory[0]) if load.memory else None,
        "MB at the end": round(load.memory[-1]) if load.memory else None,
    }


def measured(model, args):
    """The rows of one model: all servers, all numbers of clients, in turns."""
    folder = locate(model)
    runtime = Runtime(folder, threads=1)
    texts = texts_of(runtime, runtime._loaded.directory)
    expected = [runtime.run([text])[0].answer for text in texts]
    name, rows = runtime.manifest["name"], []
    print(f"{name}: {len(texts)} texts of {min(map(len, texts))} to {max(map(len, texts))} characters", file=sys.stderr)
    with contextlib.ExitStack() as stack:
        servers = {each: stack.enter_context(ours(model, name, options)) for each, options in OURS.items()}
        for peer in args.peer:
            servers[peer] = stack.enter_context(PEERS[peer](runtime._loaded.directory, name))
        for clients in args.clients:
            for each, served in servers.items():
                asked = asking(texts, expected)
                load = asyncio.run(loaded(served, clients, args.seconds, asked, runtime.kind))
                rows.append(row_of(name, each, clients, load, args.seconds))
                print(json.dumps(rows[-1]), file=sys.stderr)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", metavar="MODEL", nargs="+", help="a name or a path")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each load (default: 10)")
    parser.add_argument("--clients", type=int, nargs="+", default=CLIENTS, help="default: 1 8 64")
    parser.add_argument("--peer", action="append", default=[], choices=sorted(PEERS))
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/serving.json")
    args = parser.parse_args()
    rows = [row for model in args.models for row in measured(model, args)]
    print(table(rows))
    gains = {}
    for row in rows:
        gains.setdefault((row["model"], row["clients"]), {})[row["server"]] = row
    for (model, clients), held in gains.items():
        ours, apart = held["batches"], held["one by one"]
        times, cost = ours["texts a second"] / apart["texts a second"], apart["CPU ms"] / ours["CPU ms"]
        print(
            f"{model}, {clients} clients: batches answer {times:.2f} times as many, at 1 / {cost:.2f} of the CPU time"
        )
    if args.write:
        timing.write("serving", rows, seconds=args.seconds, load_average=os.getloadavg())
    return 0


if __name__ == "__main__":
    sys.exit(main())
