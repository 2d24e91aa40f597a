"""Memory of a training in large pages, where Linux has them.

Each step of a training frees arrays of tens or hundreds of megabytes that the next one asks for again. The C library
gives them back to the kernel, which has to find, clear and map each page of 4 kB anew; of 2 MB there are fewer. On an
AMD EPYC a step of a small Transformer on JAX took 24 % less processor time, with 600 page faults instead of 106,000 and
no more memory. glibc asks for large pages if a variable says so when a process starts.
"""

import os
import sys

VARIABLE, VALUE = "GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"
OLDEST = (2, 35)  # glibc that knows it
PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"


def wanted(environment, libc, pages):
    """Whether to ask for large pages.

    Args:
        environment: the variables of the process; whoever has set glibc's tunables is left alone.
        libc: the C library and its version, such as "glibc 2.36", or None.
        pages: what the kernel says: "always [madvise] never" if it gives large pages to those that ask.
    """
    name, _, version = (libc or "").partition(" ")
    if name != "glibc" or VARIABLE in environment or "[madvise]" not in pages:
        return False
    return tuple(int(part) for part in version.split(".")[:2] if part.isdecimal()) >= OLDEST


def use_huge_pages():
    """Start this program again with the variable, if that helps here; its arguments and its process id stay."""
    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION")
        with open(PAGES, encoding="ascii") as file:
            pages = file.read()
    except (AttributeError, OSError, ValueError):  # another system
        return
    if wanted(os.environ, libc, pages):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | {VARIABLE: VALUE})
