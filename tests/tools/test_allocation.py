"""A training keeps its memory in large pages: it asks once, for what there is, where nobody has chosen otherwise."""

import os
import platform
import subprocess
import sys

import pytest

from tests.house_rules import ROOT
from tools.allocation import KEEP, LARGE, VARIABLE, wanted

MADVISE = "always [madvise] never\n"
BOTH = f"{KEEP}:{LARGE}"
PROGRAM = f"""
import os, sys
from tools import allocation
with open("kernel", "w") as file:
    file.write({MADVISE!r})
allocation.PAGES, os.confstr = "kernel", lambda name: "glibc 2.36"
print(os.getpid(), os.environ.get("{VARIABLE}"), flush=True)
allocation.keep_memory()
print(sys.argv[1:], os.environ.get("{VARIABLE}"), [name for name in os.environ if name.startswith("SEQZOO")])
"""


@pytest.mark.parametrize(
    "environment, libc, pages, answer",
    [
        ({}, "glibc 2.35", MADVISE, BOTH),
        ({}, "glibc 2.40.9000", MADVISE, BOTH),
        ({VARIABLE: ""}, "glibc 2.36", MADVISE, None),
        ({}, "glibc 2.34", MADVISE, None),  # it refuses the threshold
        ({}, "glibc 2.17", MADVISE, None),
        ({}, "glibc", MADVISE, None),
        ({}, None, MADVISE, None),
        ({}, "musl 2.40", MADVISE, None),
        ({}, "glibc 2.36", "[always] madvise never", KEEP),
        ({}, "glibc 2.36", "always madvise [never]", KEEP),
        ({}, "glibc 2.36", "", KEEP),
    ],
)
def test_what_helps_is_asked_for(environment, libc, pages, answer):
    assert wanted(environment, libc, pages) == answer


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc")
def test_an_array_that_was_freed_is_not_asked_of_the_kernel_again():
    """200 MB, ten times in turn: page faults of the first time alone."""
    program = """
import resource, numpy
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    numpy.ones(25_000_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults()
print(sum(faults() for _ in range(10)))
"""
    counts = []
    for value in ("", KEEP):
        environment = os.environ | {VARIABLE: value}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        counts.append(int(done.stdout))
    assert counts[1] < counts[0] / 10, counts


@pytest.mark.parametrize("chosen", [None, "glibc.malloc.hugetlb=0"])
def test_a_program_starts_again_once_as_the_same_process(chosen, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE} | {"PYTHONPATH": str(ROOT)}
    environment |= {} if chosen is None else {VARIABLE: chosen}
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "program.py", "a b", "--c"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    *processes, last = done.stdout.splitlines()
    process, *again = [line.split(" ")[0] for line in processes]
    assert [line.split(" ")[1] for line in processes] == ([str(chosen)] if chosen else ["None", BOTH])
    assert again == ([] if chosen else [process])
    assert last == f"['a b', '--c'] {chosen} []"
