"""Names that are imported at their first use are found, completed and told like others; and an import tells nobody: the
telemetry of ONNX Runtime, which keeps files in the home folder, is off.
"""

import importlib
import os
import subprocess
import sys

import pytest

from tests.house_rules import ROOT


@pytest.mark.parametrize("package", ["serving.client", "serving.export", "serving.hub", "serving.runtime"])
def test_names_are_listed_and_found(package):
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
    assert all(getattr(module, name) is not None for name in module.__all__ if name not in ("export", "export_run"))
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        module.nothing  # noqa: B018


@pytest.mark.parametrize("module", ["serving.runtime.sessions", "serving.export.again", "tools.run"])
def test_nothing_is_told(tmp_path, module):
    without = {"ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME"}
    environment = {name: value for name, value in os.environ.items() if name not in without}
    code = f"import {module}, os, sys; assert 'onnxruntime' in sys.modules; print(os.environ['ORT_DISABLE_TELEMETRY'])"
    command = [sys.executable, "-B", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"]
    done = subprocess.run(
        command, env=environment | {"HOME": str(tmp_path)}, capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    assert list(tmp_path.iterdir()) == []
