"""A training asks for large pages: once, where they are to be had, and where nobody has chosen otherwise."""

import os
import subprocess
import sys

import pytest

from tests.house_rules import ROOT
from tools.huge_pages import VALUE, VARIABLE, wanted

MADVISE = "always [madvise] never\n"
PROGRAM = f"""
import os, sys
from tools import huge_pages
with open("kernel", "w") as file:
    file.write({MADVISE!r})
huge_pages.PAGES, os.confstr = "kernel", lambda name: "glibc 2.36"
print(os.getpid(), flush=True)
huge_pages.use_huge_pages()
print(sys.argv[1:], os.environ["{VARIABLE}"])
"""


@pytest.mark.parametrize(
    "environment, libc, pages, answer",
    [
        ({}, "glibc 2.35", MADVISE, True),
        ({}, "glibc 2.40.9000", MADVISE, True),
        ({VARIABLE: ""}, "glibc 2.36", MADVISE, False),
        ({}, "glibc 2.31", MADVISE, False),
        ({}, "glibc", MADVISE, False),
        ({}, None, MADVISE, False),
        ({}, "musl 2.40", MADVISE, False),
        ({}, "glibc 2.36", "[always] madvise never", False),
        ({}, "glibc 2.36", "always madvise [never]", False),
    ],
)
def test_they_are_asked_for_where_they_help(environment, libc, pages, answer):
    assert wanted(environment, libc, pages) is answer


@pytest.mark.parametrize("chosen", [None, "glibc.malloc.hugetlb=0"])
def test_a_program_starts_again_once_as_the_same_process(chosen, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE} | {"PYTHONPATH": str(ROOT)}
    environment |= {} if chosen is None else {VARIABLE: chosen}
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "program.py", "a b", "--c"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    *processes, last = done.stdout.splitlines()
    assert len(processes) == (2 if chosen is None else 1) and len(set(processes)) == 1
    assert last == f"['a b', '--c'] {chosen or VALUE}"
