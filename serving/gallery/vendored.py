"""What the page needs of others: ONNX Runtime and SentencePiece, compiled to WebAssembly.

Their files lie packed in `vendor/`, 4 MB of 15, so that a gallery can be written without a network; each is used only
if it has the SHA-256 that stands here. Newer versions: `npm install` the packages with the numbers below changed, then
`python -m serving.gallery.vendored node_modules` packs them and prints the lines that have to change.
"""

import gzip
import hashlib
import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from serving.runtime.errors import DamagedError


@dataclass(frozen=True)
class Vendored:
    """A file of a package of npm.

    Args:
        name: what it is called here.
        package, version, path: where it comes from.
        licence: of the package (SPDX).
        sha256: of its bytes, unpacked.
        only: if not "", only the line of the file that begins so is kept, as a module that exports the name in it.
    """

    name: str
    package: str
    version: str
    path: str
    licence: str
    sha256: str
    only: str = ""


RUNTIME = ("onnxruntime-web", "1.30.0")
SENTENCEPIECE = ("@sctg/sentencepiece-js", "1.3.3")
WASM = "ort-wasm-simd-threaded.wasm"
FILES = (
    Vendored(
        "ort.wasm.bundle.min.mjs",
        *RUNTIME,
        "dist/ort.wasm.bundle.min.mjs",
        "MIT",
        "11e64bd8ffe11bd1a2a2f0d6275fdfbbba7262f0b76b99b53d228a8a22ef3d90",
    ),
    Vendored(
        WASM,
        *RUNTIME,
        f"dist/{WASM}",
        "MIT",
        "3398c10d07d229bd91b364548e130e0e51a8e5704b88c7c083ebbeb78842dee2",
    ),
    # The package also holds tokenizers of others, 3 MB, with licences of their own; they are left out.
    Vendored(
        "sentencepiece.mjs",
        *SENTENCEPIECE,
        "dist/index.js",
        "Apache-2.0",
        "e56c80df0629ab66e5e7ffe6c3a417019c3d5997de5f412a1c810a045e9a4303",
        only="var createSentencePieceModule=",
    ),
)
LICENCES = "LICENCES.txt"


def packed(file):
    """The bytes of a file as it lies here, gzip, after a check of what is in it.

    Raises:
        DamagedError: it is missing, or was changed.
    """
    try:
        content = resources.files("serving.gallery").joinpath("vendor", f"{file.name}.gz").read_bytes()
        same = hashlib.sha256(gzip.decompress(content)).hexdigest() == file.sha256
    except (OSError, EOFError, ValueError) as error:
        raise DamagedError(
            f"{file.name}, a part of the gallery, cannot be read: {error}. Install seqzoo again."
        ) from error
    if not same:
        raise DamagedError(
            f"{file.name}, a part of the gallery, is damaged: its SHA-256 differs. Install seqzoo again."
        )
    return content


def unpack(file):
    """The bytes of a file; errors as of `packed`."""
    return gzip.decompress(packed(file))


def extract(file, modules):
    """The bytes that a file is to have, from the folder `node_modules` that npm has written."""
    content = (Path(modules) / file.package / file.path).read_bytes()
    if not file.only:
        return content
    (line,) = (line for line in content.decode().split("\n") if line.startswith(file.only))
    name = file.only.removeprefix("var ").rstrip("=")
    return f"{line}\nexport default {name};\n".encode()


def main(modules):
    """Pack the files anew, and print the SHA-256 of each."""
    for file in FILES:
        content = extract(file, modules)
        home = Path(__file__).parent / "vendor" / f"{file.name}.gz"
        home.write_bytes(gzip.compress(content, 9, mtime=0))
        print(f"{file.name}  {hashlib.sha256(content).hexdigest()}  {home.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
