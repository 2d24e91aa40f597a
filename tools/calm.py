"""A calm standard error: what native libraries log about themselves is left out, errors come through.

TensorFlow's libraries write lines such as "oneDNN custom operations are on" before any setting of theirs is read, and
"failed call to cuInit" on every machine without a GPU, straight into file descriptor 2. While a command runs, that
descriptor leads to a small process (this file, run as a program), which drops the lines that `NOISE` matches and passes
on the rest. Python's own `sys.stderr` goes on writing to where descriptor 2 led before, a terminal remains a terminal,
and what the libraries write when they crash is still passed on, because the filter outlives the crash.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys

# absl's information and warnings ("I0000 00:00:1795311904.922713 16290 port.cc:153] ..."), TensorFlow's older form of
# them, their continuation, and two that call themselves errors although they say that something optional is missing.
NOISE = re.compile(
    rb"WARNING: All log messages before absl::InitializeLog\(\)"
    rb"|[IW]\d{4} [\d:.]+ +\d+ \S+:\d+\] "
    rb"|\d{4}-\d\d-\d\d [\d:.]+: [IW] \S+:\d+\] "
    rb"|To enable the following instructions: "
    rb"|(E\d{4} [\d:.]+ +\d+|\d{4}-\d\d-\d\d [\d:.]+: E) \S+:\d+\] "
    rb"(.*cuInit|Unable to register cu\w+ (factory|plugin)|.*Attempting to register factory for plugin cu"
    rb"|oneDNN supports DT_)"
)
PATIENCE = 5  # seconds that the end of a command waits for the last lines


@contextlib.contextmanager
def calm():
    """Filter descriptor 2 of this process; `SEQZOO_DEBUG=1` shows every line."""
    if os.environ.get("SEQZOO_DEBUG") or sys.stderr is None:
        yield
        return
    before, python = os.dup(2), sys.stderr
    reading, writing = os.pipe()
    filtering = subprocess.Popen([sys.executable, "-I", "-S", __file__], stdin=reading, stdout=before)
    os.close(reading)
    os.dup2(writing, 2)
    os.close(writing)
    # Line by line, as standard error is: a text layer of its own over where descriptor 2 led.
    sys.stderr = open(os.dup(before), "w", buffering=1, encoding=python.encoding, errors=python.errors)
    try:
        yield
    finally:
        sys.stderr.flush()
        sys.stderr = python
        os.dup2(before, 2)  # the filter sees the end of its input
        os.close(before)
        with contextlib.suppress(subprocess.TimeoutExpired):
            filtering.wait(PATIENCE)


def main():
    """Pass standard input on, line by line, without `NOISE`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command; its last words come through here
    for line in sys.stdin.buffer:
        if not NOISE.match(line):
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
