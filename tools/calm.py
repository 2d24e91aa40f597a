"""Keeps the informational log lines of native libraries off standard error; errors are shown.

TensorFlow's libraries write lines such as "oneDNN custom operations are on" before they read any of their settings, and
"failed call to cuInit" on every machine without a GPU, directly to file descriptor 2. While a command runs, this
descriptor is connected to a small process (this file, run as a program), which drops lines that match `NOISE` and
passes on all others. `sys.stderr` still writes to the original destination, so a terminal is still recognised as one.
What a library writes when it crashes is passed on, too, because the filter process ends later than the command.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys

# Information of SentencePiece, information and warnings of absl ("I0000 00:00:1795311904.922713 16290 port.cc:153]
# ..."), TensorFlow's older format for them, their continuation lines, and errors which only say that something optional
# is missing.
NOISE = re.compile(
    rb"WARNING: All log messages before absl::InitializeLog\(\)"
    rb"|[IW]\d{4} [\d:.]+ +\d+ \S+:\d+\] "
    rb"|\d{4}-\d\d-\d\d [\d:.]+: [IW] \S+:\d+\] "
    rb"|To enable the following instructions: "
    rb"|\w+\.cc\(\d+\) LOG\(INFO\) "
    rb"|(E\d{4} [\d:.]+ +\d+|\d{4}-\d\d-\d\d [\d:.]+: E) \S+:\d+\] "
    rb"(.*cuInit|Unable to register cu\w+ (factory|plugin)|.*Attempting to register factory for plugin cu"
    rb"|oneDNN supports DT_|Error parsing text-format tensorflow\.XlaSerializedCacheEntry"
    rb"|Loading XLA:CPU AOT result\. Target machine feature \+prefer-no-(scatter|gather) is not)"
)
PATIENCE = 5  # seconds that a command waits at its end for the filter to pass on the last lines


@contextlib.contextmanager
def calm():
    """A context in which file descriptor 2 of this process is filtered. `SEQZOO_DEBUG=1` turns the filter off."""
    if os.environ.get("SEQZOO_DEBUG") or sys.stderr is None:
        yield
        return
    before, python = os.dup(2), sys.stderr
    reading, writing = os.pipe()
    filtering = subprocess.Popen([sys.executable, "-I", "-S", __file__], stdin=reading, stdout=before)
    os.close(reading)
    os.dup2(writing, 2)
    os.close(writing)
    # A new text stream to the original destination, with line buffering like standard error.
    sys.stderr = open(os.dup(before), "w", buffering=1, encoding=python.encoding, errors=python.errors)
    try:
        yield
    finally:
        sys.stderr.flush()
        sys.stderr = python
        os.dup2(before, 2)  # this closes the pipe, so the filter reaches the end of its input
        os.close(before)
        with contextlib.suppress(subprocess.TimeoutExpired):
            filtering.wait(PATIENCE)


def main():
    """Copy standard input to standard output line by line, without lines that match `NOISE`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the command; its last messages are still passed on
    for line in sys.stdin.buffer:
        if not NOISE.match(line):
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
