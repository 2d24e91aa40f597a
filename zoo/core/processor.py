"""The processor of this machine, as Linux tells of it; imports no framework."""

import platform
from pathlib import Path


def fields():
    """What /proc/cpuinfo says of the first processor, a dict of texts; empty on another system."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in text.splitlines())
    return {key.strip(): " ".join(value.split()) for key, _, value in pairs}


def name():
    """Its name, such as "AMD EPYC 9B14"."""
    return fields().get("model name") or platform.processor() or platform.machine() or "unknown"


def instruction_sets():
    """The names of the instruction sets that it has, such as "avx2", a set."""
    values = fields()
    return set(values.get("flags", values.get("Features", "")).split())
