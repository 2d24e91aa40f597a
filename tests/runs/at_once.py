"""What wrong use is told in a fresh process, how soon, and which frameworks that imported."""

import json

from tests.shared import python

FRAMEWORKS = ("keras", "tensorflow", "jax", "torch", "tensorflow_text", "onnxruntime")
PROGRAM = """
import sys, time
start = time.process_time()
import serving, zoo
from zoo import recipes, runs
try:
    {code}
except ValueError as error:
    message = str(error)
import json
print(json.dumps([message, time.process_time() - start, [name for name in {frameworks!r} if name in sys.modules]]))
"""


def elsewhere(code):
    """What a program prints in a process of its own."""
    return python("-c", code).stdout


def check_told_at_once(code, message):
    """The code ends with a `ValueError` of this message, within seconds, and imports no framework."""
    found, seconds, imported = json.loads(elsewhere(PROGRAM.format(code=code, frameworks=FRAMEWORKS)))
    assert message in found
    assert imported == [] and seconds < 5  # of the processor: it takes 0.3 s, and a framework more than the limit
