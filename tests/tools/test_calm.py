"""Standard error of a command: no lines of native libraries about themselves, and every line of an error."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest

from tests.house_rules import ROOT
from tests.pages.blocks import blocks
from tools.calm import NOISE

CALM = ROOT / "tools" / "calm.py"
BANNERS = b"""\
WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
I0000 00:00:1795311904.922713   16290 port.cc:153] oneDNN custom operations are on.
W0000 00:00:1795311904.922713   16290 computation_placer.cc:177] computation placer already registered.
I0000 00:00:1795311878.306255   15998 cpu_feature_guard.cc:227] This TensorFlow binary is optimized
To enable the following instructions: AVX2 AVX512F, in other operations, rebuild TensorFlow with the flags.
E0000 00:00:1795311911.379032   16684 cuda_platform.cc:52] failed call to cuInit: UNKNOWN ERROR (303)
E0000 00:00:1795311911.379032   16684 cuda_dnn.cc:85] Unable to register cuDNN factory: Attempting to register
E0000 00:00:1795311950.248573   16897 util.cc:131] oneDNN supports DT_BOOL only on platforms with AVX-512.
E0000 00:00:1795957937.820058   19629 text_format.cc:378] Error parsing text-format tensorflow.XlaSerializedCacheEntry:
E0000 00:00:1795957937.885897   19629 cpu_aot_loader.cc:220] Loading XLA:CPU AOT result. \
Target machine feature +prefer-no-scatter is not  supported on the host machine.
2026-11-22 01:44:37.123456: I tensorflow/core/util/port.cc:153] oneDNN custom operations are on.
2026-11-22 01:44:37.123456: E external/local_xla/xla/stream_executor/cuda/cuda_driver.cc:152] failed call to cuInit
normalizer.cc(51) LOG(INFO) precompiled_charsmap is empty. use identity normalization.
"""
ERRORS = b"""\
sentencepiece_processor.cc(1102) LOG(ERROR) src/sentencepiece_processor.cc(353) [model_] Model is not initialized.
E0000 00:00:1795311911.379032   16684 save.cc:52] cannot write variables: No space left on device
E0000 00:00:1795957937.885897   19629 cpu_aot_loader.cc:220] Loading XLA:CPU AOT result. \
Target machine feature +avx512f is not  supported on the host machine.
F0000 00:00:1795311911.379032   16684 tensor.cc:852] Check failed: 1 == 2
2026-11-22 01:44:37.123456: F tensorflow/core/framework/tensor.cc:852] Check failed: 1 == 2
Traceback (most recent call last):
  File "x.py", line 1, in <module>
ValueError: I0000 is not a code
step 1/2  loss 3.4014
seqzoo export: No artefact at WARNING
Segmentation fault
"""


def test_the_filter_drops_banners_and_keeps_errors():
    done = subprocess.run([sys.executable, CALM], input=BANNERS + ERRORS + b"\xff cut", capture_output=True)
    assert done.stdout == ERRORS + b"\xff cut" and done.returncode == 0 and not done.stderr
    assert all(NOISE.match(line) for line in BANNERS.splitlines())


def under_calm(code, **more):
    code = f"import os, sys\nfrom tools.calm import calm\n{code}"
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, **more)


def test_a_process_under_it():
    done = under_calm(
        "with calm():\n"
        f"    os.write(2, {BANNERS!r}); os.write(2, b'a library says what is wrong\\n')\n"
        "    print('python says', file=sys.stderr)\n"
        "os.write(2, b'after\\n'); print('after, too', file=sys.stderr)"
    )
    assert done.returncode == 0
    assert sorted(done.stderr.splitlines()) == [
        b"a library says what is wrong",
        b"after",
        b"after, too",
        b"python says",
    ]


def test_what_a_crash_says_comes_through():
    done = under_calm(f"with calm():\n    os.write(2, {BANNERS + ERRORS!r}); os.abort()")
    assert done.returncode < 0 and done.stderr == ERRORS
    done = under_calm("with calm():\n    1 / 0")
    assert done.returncode == 1 and done.stderr.endswith(b"ZeroDivisionError: division by zero\n")


def test_debugging_shows_all():
    done = under_calm(f"with calm():\n    os.write(2, {BANNERS!r})", env=os.environ | {"SEQZOO_DEBUG": "1"})
    assert done.stderr == BANNERS


def test_a_terminal_remains_one():
    main, terminal = pty.openpty()
    code = "import sys\nfrom tools.calm import calm\nwith calm():\n    print(sys.stderr.isatty())"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=terminal, text=True)
    os.close(main), os.close(terminal)
    assert done.stdout == "True\n"


@pytest.mark.release
def test_the_demo_shows_no_banner_and_its_card_holds_its_score(tmp_path):
    small = "data.train_size=40 data.valid_size=5 data.test_size=6 model.units=3 training.batch_size=8"
    steps = "training.steps=1 training.validate_every=1 training.warmup=0 training.num_buckets=1"
    changes = [word for setting in f"{small} {steps} search.max_output_length=5".split() for word in ("--set", setting)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py"), "--out", str(tmp_path / "out"), *changes],
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": str(ROOT), "KERAS_BACKEND": "tensorflow"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert not [line for line in done.stderr.splitlines() if re.search(r"oneDNN|absl|cuInit|^[IWE]0000", line)]
    result = json.loads(done.stdout)
    (said,) = blocks(ROOT / "README.md", "json")
    assert result.keys() == json.loads(said.text).keys()
    (card,) = (tmp_path / "out").glob("dates-gru-additive/1/card.md")
    (measured,) = re.findall(r"^- exact_match: (.*)$", card.read_text(encoding="utf-8"), re.MULTILINE)
    assert float(measured) == pytest.approx(result["exact_match"], abs=1e-3)
