"""The memory of a training, kept from one step to the next where the C library can.

Each step of a training frees arrays of tens or hundreds of megabytes that the next one asks for again. By default the C
library gives them back to the kernel, which has to find, clear and map each page anew: a sixth of the processor time
of a step on JAX, and more where the kernel, or the host of a virtual machine, has few pages left. So arrays below a
gigabyte are kept, in one heap that all threads share.
"""

import contextlib
import ctypes
import os

VARIABLE = "GLIBC_TUNABLES"  # a value that the user has set stays
LARGEST = 2**30  # bytes of an array that is kept; larger ones would be costly if they were kept for nothing
# The settings of glibc's mallopt, by the numbers of malloc.h; they are set before there are threads.
ARENAS, MAPPED, TRIMMED = -8, -3, -1
SETTINGS = {ARENAS: 1, MAPPED: LARGEST, TRIMMED: -1}  # -1: nothing is given back

# oneDNN, in TensorFlow on a processor, keeps what it once had in regions that double; with this it frees arrays.
FREED = {"TF_ONEDNN_USE_SYSTEM_ALLOCATOR": "1"}


def free_memory():
    """Have TensorFlow give memory back: for a program that holds a network and computes little with it."""
    for name, value in FREED.items():
        os.environ.setdefault(name, value)


def keep_memory():
    """Tell the C library to keep what is freed, where it has a function for it."""
    if VARIABLE in os.environ:
        return
    with contextlib.suppress(AttributeError, TypeError, OSError):  # of another system
        function = ctypes.CDLL(None).mallopt
        for number, value in SETTINGS.items():
            function(number, value)
