"""`seqzoo serve` beside callers who attack it: how long another caller of another model waits, and what memory is left.

    python benchmarks/server_neighbours.py                           # all attacks, 10 seconds each
    python benchmarks/server_neighbours.py heads pipelines --seconds 5 --write

One caller asks `dates` one text after another over HTTP, on the loopback address, and opens a new connection for every
tenth of them; meanwhile the attackers do their worst from the same address, which is harder for the server than from
another one. Latencies are in milliseconds; memory is that of the server's process in MB: before, at most, and ten
seconds after the attack. Every attack has a server of its own.
"""

import argparse
import contextlib
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time

import timing
from harness.report import table
from server_load import ours, resident

MODEL, LONG = "dates", "shakespeare-reformer"
TEXT = "the cat sat on the mat and saw a dog, " * 300
GET = b"GET /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n"
HEAD = b"GET /v2/health/live HTTP/1.1\r\nHost: a\r\n"


def post(path, body, *headers):
    lines = "".join(f"{line}\r\n" for line in (f"POST {path} HTTP/1.1", "Host: a", *headers))
    return f"{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body


def texts(model, *given, **parameters):
    inputs = [{"name": "text", "datatype": "BYTES", "shape": [len(given)], "data": given}]
    return post(f"/v2/models/{model}/infer", json.dumps({"inputs": inputs, "parameters": parameters}).encode())


def tensor(count):
    """Zero-length texts as a binary tensor, whose shape says one."""
    head = json.dumps(
        {"inputs": [{"name": "text", "datatype": "BYTES", "shape": [1], "parameters": {"binary_data_size": 4 * count}}]}
    ).encode()
    return post(f"/v2/models/{MODEL}/infer", head + bytes(4 * count), f"Inference-Header-Content-Length: {len(head)}")


def values(part, count):
    """JSON of so many values of a kind, which are no tensor."""
    return post(f"/v2/models/{MODEL}/infer", b'{"inputs": [' + part * count + b"0]}")


def sends(content, reads=True):
    """What each attacker does again and again: sends this on a connection of its own, and reads what comes."""

    def attack(port, until):
        while time.perf_counter() < until():
            with contextlib.suppress(OSError), connected(port) as caller:
                caller.sendall(content() if callable(content) else content)
                while reads and caller.recv(1 << 16):
                    pass

    return attack


def connected(port):
    caller = socket.create_connection(("127.0.0.1", port), 5)
    caller.settimeout(20)
    return caller


def half_open(port, until):
    """900 connections that send half a head and are renewed as they end."""
    callers = []
    while time.perf_counter() < until():
        with contextlib.suppress(OSError):
            callers.append(connected(port))
            callers[-1].sendall(HEAD)
        for caller in callers[:-300]:
            caller.close()
        callers = callers[-300:]


ATTACKS = {
    "none": (0, None),
    "a header": (1, sends(lambda: HEAD + b"X: " + bytes([120]) * (50 << 20))),
    "headers": (1, sends(HEAD + b"X: y\r\n" * 100_000 + b"\r\n")),
    "a URL": (1, sends(lambda: b"GET /" + b"x" * (50 << 20))),
    "a name": (1, sends(lambda: HEAD + b"x" * (50 << 20))),
    "a trailer": (
        1,
        sends(
            lambda: (
                b"POST /v2/models/dates/infer HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                + b"1\r\n{\r\n0\r\nX: "
                + b"x" * (50 << 20)
            )
        ),
    ),
    "pipelines": (1, sends(lambda: GET * (30 * (1 << 20) // len(GET)), reads=False)),
    "half open": (3, half_open),
    "long texts": (1, sends(lambda: texts(MODEL, *[TEXT[:7800]] * 1000))),
    "tensors": (2, sends(tensor(1 << 20))),
    "lists": (1, sends(values(b"[],", 2_700_000))),
    "numbers": (1, sends(values(b"1,", 4_000_000))),
    "many texts": (3, sends(texts(MODEL, *[TEXT[number : number + 30] for number in range(1024)]))),
    "generations": (4, sends(texts(LONG, *["to be or not"] * 32, length=1000))),
    "generations left": (
        2,
        sends(post(f"/v2/models/{LONG}/infer", texts(LONG, *["a"] * 32, length=1000).partition(b"\r\n\r\n")[2],
                   "Request-Timeout: 1")),
    ),
}  # fmt: skip


def asked(port, until, found):
    """One text after another; a latency of each, or a reason why there is none."""
    connection, number = http.client.HTTPConnection("127.0.0.1", port, timeout=60), 0
    body = json.dumps({"inputs": [{"name": "text", "datatype": "BYTES", "shape": [1], "data": ["3 March 2021"]}]})
    while time.perf_counter() < until:
        number += 1
        if number % 10 == 0:
            connection.close()
        started = time.perf_counter()
        try:
            connection.request("POST", f"/v2/models/{MODEL}/infer", body)
            response = connection.getresponse()
            response.read()
            lost = None if response.status == 200 else response.status
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            lost = type(error).__name__
        found.append((1e3 * (time.perf_counter() - started), lost))
        time.sleep(0.005)


def measured(name, seconds):
    """The row of an attack. The attackers are a process of their own, so that they share no interpreter lock."""
    with ours(MODEL, MODEL, [LONG]) as served:
        found, pid = [], served.process.pid
        asked(served.port, time.perf_counter() + 1, [])
        before = most = resident(pid)
        words = [sys.executable, __file__, name, "--attack", str(served.port), "--seconds", str(seconds)]
        attackers = subprocess.Popen(words) if ATTACKS[name][0] else None
        until = time.perf_counter() + seconds
        victim = threading.Thread(target=asked, args=(served.port, until, found))
        victim.start()
        while victim.is_alive():
            time.sleep(0.1)
            most = max(most, resident(pid))
        if attackers:
            attackers.wait()
        time.sleep(10 if attackers else 0)
        times = sorted(milliseconds for milliseconds, _ in found)
        return {
            "attack": name,
            "answers": sum(lost is None for _, lost in found),
            "lost": sum(lost is not None for _, lost in found),
            "p50": round(statistics.median(times), 1),
            "p99": round(times[min(len(times) - 1, int(0.99 * len(times)))], 1),
            "most": round(times[-1], 1),
            "MB before": round(before),
            "MB at most": round(most),
            "MB after": round(resident(pid)),
        }


def attack(name, port, seconds):
    """Attack a port until the time is over."""
    count, function = ATTACKS[name]
    end = time.perf_counter() + seconds
    threads = [threading.Thread(target=function, args=(port, lambda: end), daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attacks", metavar="ATTACK", nargs="*", choices=[*ATTACKS, []], help=f"of {', '.join(ATTACKS)}")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each attack (default: 10)")
    parser.add_argument("--attack", type=int, help=argparse.SUPPRESS)  # the port, in the process of the attackers
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/neighbours.json")
    args = parser.parse_args()
    if args.attack:
        attack(args.attacks[0], args.attack, args.seconds)
    rows = []
    for name in args.attacks or ATTACKS:
        rows.append(measured(name, args.seconds))
        print(json.dumps(rows[-1]), file=sys.stderr)
    print(table(rows))
    if args.write:
        timing.write("neighbours", rows, seconds=args.seconds, load_average=os.getloadavg())
    return 0


if __name__ == "__main__":
    sys.exit(main())
