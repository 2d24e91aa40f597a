"""The memory of a training, kept from one step to the next and in large pages, where the C library can.

Each step of a training frees arrays of tens or hundreds of megabytes that the next one asks for again. By default the C
library gives them back to the kernel, which has to find, clear and map each page anew: 2 to 20 % of the processor time
of a step on JAX, and as much as the step itself where the kernel, or the host of a virtual machine, has few pages left.
So arrays below a gigabyte are kept, in one heap that all threads share, and the heap has pages of 2 MB instead of 4 kB.
glibc does so if a variable says so when a process starts.
"""

import os
import sys

VARIABLE = "GLIBC_TUNABLES"
LARGEST = 2**30  # bytes of an array that is kept; larger ones would be costly if they were kept for nothing
KEEP = f"glibc.malloc.arena_max=1:glibc.malloc.mmap_threshold={LARGEST}:glibc.malloc.trim_threshold={LARGEST}"
LARGE = "glibc.malloc.hugetlb=1"
OLDEST = (2, 35)  # glibc that has large pages; those before it refuse such a threshold, and would keep nothing at all
MARK = "SEQZOO_KEEPS_MEMORY"  # of the program that was started again
PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"

# oneDNN, in TensorFlow on a processor, keeps what it once had in regions that double; with this it frees arrays.
FREED = {"TF_ONEDNN_USE_SYSTEM_ALLOCATOR": "1"}


def wanted(environment, libc, pages):
    """What to ask glibc for, the value of `GLIBC_TUNABLES`; None if there is nothing to ask for.

    Args:
        environment: the variables of the process; whoever has set glibc's tunables is left alone.
        libc: the C library and its version, such as "glibc 2.36", or None.
        pages: what the kernel says: "always [madvise] never" if it gives large pages to those that ask.
    """
    name, _, version = (libc or "").partition(" ")
    if name != "glibc" or VARIABLE in environment:
        return None
    if tuple(int(part) for part in version.split(".")[:2] if part.isdecimal()) < OLDEST:
        return None
    return f"{KEEP}:{LARGE}" if "[madvise]" in pages else KEEP


def free_memory():
    """Have TensorFlow give memory back: for a program that holds a network and computes little with it."""
    for name, value in FREED.items():
        os.environ.setdefault(name, value)


def keep_memory():
    """Start this program again with the variable, if that helps here; its arguments and its process id stay.

    glibc has read the variable by the time this is called again; it is removed, so that no other program inherits it.
    """
    if os.environ.pop(MARK, None):
        del os.environ[VARIABLE]
        return
    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, OSError, ValueError):  # another system
        return
    try:
        with open(PAGES, encoding="ascii") as file:
            pages = file.read()
    except OSError:  # a kernel without them
        pages = ""
    value = wanted(os.environ, libc, pages)
    if value:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | {VARIABLE: value, MARK: "1"})
