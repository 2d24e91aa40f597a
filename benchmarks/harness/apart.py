"""Work that is not measured, in a process of its own."""

import multiprocessing


def export_apart(function, *args):
    """Call a function that exports, so that the memory that it takes does not count as what the measured work needs.

    Raises:
        RuntimeError: it failed; its error was printed.
    """
    exporter = multiprocessing.get_context("spawn").Process(target=function, args=args)
    exporter.start()
    exporter.join()
    if exporter.exitcode:
        raise RuntimeError("The export failed; what it said is above.")
