"""A training keeps its memory from step to step, where nobody has chosen otherwise."""

import ctypes
import os
import platform
import subprocess
import sys

import pytest

from tests.house_rules import ROOT
from tools import startup

# 50 MB, three times in turn: page faults but for those of the first time.
PROGRAM = """
import resource, sys
from tools.startup import keep_memory
if sys.argv[1:]:
    keep_memory()
import numpy
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    numpy.ones(6_250_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults()
print(sum(faults() for _ in range(3)))
"""


def faults(*arguments, **variables):
    environment = {name: value for name, value in os.environ.items() if name != startup.VARIABLE} | variables
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc")
def test_an_array_that_was_freed_is_not_asked_of_the_kernel_again():
    usual = faults()
    assert faults("keep") < usual / 10
    assert faults("keep", **{startup.VARIABLE: ""}) > usual / 10  # somebody has chosen


@pytest.mark.parametrize("error", [AttributeError, TypeError, OSError])
def test_another_c_library_is_left_as_it_is(monkeypatch, error):
    def without(name):
        raise error

    monkeypatch.delenv(startup.VARIABLE, raising=False)
    monkeypatch.setattr(ctypes, "CDLL", without)
    startup.keep_memory()
