"""Names that are imported at their first use are found, completed and told like others."""

import importlib

import pytest


@pytest.mark.parametrize("package", ["serving.client", "serving.export", "serving.hub", "serving.runtime"])
def test_names_are_listed_and_found(package):
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
    assert all(getattr(module, name) is not None for name in module.__all__ if name not in ("export", "export_run"))
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        module.nothing  # noqa: B018
