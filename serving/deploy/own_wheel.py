"""This seqzoo as a wheel, so that an image has the version that wrote it, from a checkout or from an installation.

The packages are taken from where they lie. No tool that builds is needed, and no index of packages with this version.
"""

from importlib import metadata
from pathlib import Path

from serving.export.wheel_file import packed
from serving.runtime.errors import UnsupportedError

ROOT = Path(__file__).parents[2]
PACKAGES = ("seqzoo", "serving", "zoo")


def own_wheel():
    """(name, bytes) of the wheel.

    Raises:
        UnsupportedError: this seqzoo runs from a folder and is not installed, so nothing says what it needs.
    """
    try:
        own = metadata.distribution("seqzoo")
    except metadata.PackageNotFoundError as error:
        raise UnsupportedError(
            "An image is made of the installed seqzoo, and this one runs from a folder: pip install -e . in it first."
        ) from error
    info = f"seqzoo-{own.version}.dist-info"
    members = {}
    for package in PACKAGES:
        folder = ROOT / package
        folder = folder if folder.is_dir() else ROOT / "tools"  # as which a checkout has the package seqzoo
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith("."):
                members[f"{package}/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
    members[f"{info}/METADATA"] = (own.read_text("METADATA") or own.read_text("PKG-INFO")).encode()
    members[f"{info}/entry_points.txt"] = own.read_text("entry_points.txt").encode()
    return f"seqzoo-{own.version}-py3-none-any.whl", packed(info, members)
