"""Where a network of others comes from: a folder, a zip or tar, or a repository of Hugging Face.

Of an archive plain files alone are taken, into a folder of our own, and no more bytes than its size allows. A file of
a network that is compressed, as `model.bin.gz`, is read as if it were not.
"""

import contextlib
import dataclasses
import functools
import gzip
import hashlib
import re
import shutil
import sys
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from zoo.core.documents import mismatch
from zoo.hub.web import ADDRESS
from zoo.pretrained import generation
from zoo.pretrained.files import LONGEST_NAME, RATIO, READERS, find_weights, read_tensors
from zoo.pretrained.marian_formats import read_yaml
from zoo.pretrained.reading import IDLE, Reading, read_json, some

MOST_FILES = 10_000
POINTER = b"version https://git-lfs"
HOST = re.compile(r"(?:https?://[^/]+/)?([^/@:]+/[^/@:]+)")  # a repository by its page's address, or by its name
WANTED = ("*.json", "*.txt", "*.spm", "*.model", "*.yml", "README.md", "LICENSE")  # of a repository, beside its weights
HEAD, WHOLE = re.compile(r"\A---\n(.*?)\n---", re.DOTALL), re.compile("(.*)", re.DOTALL)
FILTER = {"filter": "data"} if sys.version_info >= (3, 11, 4) else {}  # of `tarfile`
OF_A_MAC = re.compile(r"(?:^|/)(?:__MACOSX/|\._|\.DS_Store$)")  # what it puts beside the files of an archive
COMPRESSED = {".bin", ".npz", ".s2t", ".spm", ".yml"}  # what may stand before .gz
LICENCE = re.compile(r"^license(?:_name)?:[ \t]*(?:\n[ \t]*-[ \t]*)?(\S[^\n]*)$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Source:
    """An opened source.

    Attributes:
        folder: where its files lie.
        address: as the user wrote it.
        revision: of a repository, the commit; else "".
        languages: (source, target) that the user asks for; "" where he does not.
        read: the files that were read, in order.
    """

    folder: Path
    address: str
    revision: str = ""
    languages: tuple[str, str] = ("", "")
    read: dict = dataclasses.field(default_factory=dict)

    def has(self, name):
        """Whether there is a file of this name.

        Raises:
            ValueError: the name leads out of the folder.
        """
        place = PurePosixPath(name.replace("\\", "/"))
        if place.is_absolute() or ".." in place.parts:
            raise ValueError(f"{self.address} asks for {name!r}, which is not in its folder. Nothing outside is read.")
        return (self.folder / name).is_file()

    def path(self, name):
        """The path of a file, which counts as read.

        Raises:
            ValueError: it is not there.
        """
        if not self.has(name):
            raise ValueError(f"{self.address} lacks {name}, which a network of this family needs.")
        return self.note(self.folder / name)

    def json(self, name, kind=dict, needed=False):
        """The content of a JSON file, which is a `kind`; it is empty where a file that is not `needed` is missing."""
        if not needed and not self.has(name):
            return kind()
        content = read_json(self.path(name))
        if not isinstance(content, kind):
            raise mismatch(f"{self.address}/{name}", "an object" if kind is dict else "a list", content)
        return content

    @functools.cached_property
    def config(self):
        """The `Reading` of config.json."""
        idle = IDLE | generation.KEYS | {"force_bos_token_to_be_generated"}
        return Reading(self.json("config.json"), f"{self.address}/config.json", idle)

    @functools.cached_property
    def yaml(self):
        """(the name, `{key: value}`) of the first of Marian's files of settings whose weights are there; "" without."""
        if self.has("config.json"):
            return "", {}
        paths = [self.folder / "decoder.yml", self.folder / "config.yml", *sorted(self.folder.glob("config.*.yml"))]
        files = {path.name: read_yaml(self.note(path)) for path in paths if path.is_file()}
        whole = [name for name, each in files.items() if all(map(self.has, self.file_names(each.get("models"))))]
        name = next(iter([*whole, *files]), "")
        return name, files.get(name, {})

    @staticmethod
    def file_names(paths):
        """The names of files of Marian's settings, whose paths are those of another machine."""
        listed = paths if isinstance(paths, list) else [] if paths is None else [paths]
        return [Path(str(each)).name.removesuffix(".gz") for each in listed]

    @functools.cached_property
    def tensors(self):
        """`{name: Tensor}` of its weights; no numbers are read yet."""
        named = [self.path(name) for name in self.file_names(self.yaml[1].get("models"))]
        if len(named) > 1:
            raise ValueError(
                f"{self.address}/{self.yaml[0]} asks for {len(named)} models that translate together, which are not "
                "read as one. Import each by itself, with its name alone under `models`."
            )
        return read_tensors(named or [self.note(path) for path in find_weights(self.folder, self.note)])

    def prefix(self, *names):
        """The first of some names, such as "bert.", with which a tensor's name begins; "" without."""
        return next((each for each in names if any(name.startswith(each) for name in self.tensors)), "")

    def note(self, path):
        """The path, which counts as read.

        Raises:
            ValueError: a clone of a repository has a pointer in the place of the file, or a link to another place.
        """
        self.read[path] = None
        _refuse_link(path, self.folder)
        with open(path, "rb") as file:
            if file.read(len(POINTER)) == POINTER:
                raise ValueError(
                    f"{self.address}/{path.name} is a pointer of Git LFS in the place of the file. Fetch "
                    "what it stands for with `git lfs pull` in that folder, or import the repository, hf://OWNER/NAME."
                )
        return path

    def hashes(self):
        """`{name: SHA-256}` of the files that were read."""
        hashes = {}
        for path in self.read:
            with open(path, "rb") as file:
                hashes[path.relative_to(self.folder).as_posix()] = hashlib.file_digest(file, "sha256").hexdigest()
        return hashes

    def licence(self):
        """The licence that the head of its README or its catalog-entry.yml states, or the first line of its LICENSE."""
        for name, pattern in (("README.md", HEAD), ("catalog-entry.yml", WHOLE)):
            if self.has(name):
                text = self.path(name).read_text(encoding="utf-8", errors="replace")[:100_000]
                head = pattern.match(text.replace("\r\n", "\n"))
                if head and (stated := LICENCE.search(head[1])):
                    return stated[1].strip().strip("\"'")
        if self.has("LICENSE"):
            lines = self.path("LICENSE").read_text(encoding="utf-8", errors="replace")[:1000].split("\n")
            return next((line.strip() for line in lines if line.strip()), "")
        return ""


def _refuse_link(path, folder):
    """Refuse a file that lies elsewhere; in the cache of Hugging Face files are links to the folder `blobs`."""
    folder, place = folder.resolve(), path.resolve()
    within = folder.parent.parent if folder.parent.name == "snapshots" else folder
    if not place.is_relative_to(within):
        raise ValueError(
            f"{path} is a link to {place}, outside of its folder. Nothing outside is read: put the file itself there."
        )


@contextlib.contextmanager
def open_address(address, languages=("", "")):
    """A context with the `Source` of an address, at whose end the files of an archive are removed.

    Raises:
        ValueError: there is no such source, or it holds what no network has.
    """
    address = str(address).rstrip("/")
    path, revision = Path(address), ""
    with tempfile.TemporaryDirectory() as work:
        if address.startswith("hf://"):
            folder, revision = _fetch(address)
        elif path.is_dir():
            folder = path
        elif path.is_file() and path.suffix in {*READERS, ".json"}:
            raise ValueError(
                f"{path} is one file of a network. Import the folder that holds all of them: {path.parent}"
            )
        elif path.is_file():
            folder = _unpack(path, Path(work) / "archive")
        else:
            meant = HOST.fullmatch(address)
            raise ValueError(
                f"There is no {address}. Expected a folder, a .zip or .tar with the files of a network, or a "
                "repository such as hf://OWNER/NAME or hf://OWNER/NAME@REVISION."
                + (f" If you mean a repository of Hugging Face, it is hf://{meant[1]}." if meant else "")
            )
        found = _decompress(folder, Path(work) / "plain")
        try:
            yield Source(found, address, revision, languages)
        except ValueError as error:
            if found == path:
                raise
            raise ValueError(str(error).replace(str(found), address)) from error  # where a user does not look


def _decompress(folder, work):
    """The folder, or a copy in `work` where files of it are compressed with gzip."""
    packed = [each for each in folder.glob("*.gz") if each.is_file() and Path(each.stem).suffix in COMPRESSED]
    if not packed:
        return folder
    work.mkdir()
    for each in sorted(folder.iterdir()):
        _refuse_link(each, folder)
        if each.is_file() and each not in packed:
            shutil.copyfile(each, work / each.name)
    for each in packed:
        if (work / each.stem).exists():
            continue  # it is there already
        most = RATIO * each.stat().st_size + 2**20
        try:
            with gzip.open(each) as file:
                content = file.read(most + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{each} cannot be unpacked, it may be cut off: {error}") from error
        if len(content) > most:
            raise ValueError(f"{each} would become more than {most:,} bytes, which is too many.")
        (work / each.stem).write_bytes(content)
    return work


def _fetch(address):
    """(folder, commit) of a repository, of which weights are fetched in one form alone."""
    parts = ADDRESS.fullmatch(address)
    if not parts or parts["folder"]:
        raise ValueError(f"{address!r} is no repository: expected hf://OWNER/NAME, or hf://OWNER/NAME@REVISION.")
    repository, revision = parts["repository"], parts["revision"]
    try:
        from huggingface_hub import HfApi, errors, snapshot_download
    except ImportError as error:
        needed = f"{address} is read with huggingface_hub: pip install 'seqzoo[huggingface]'"
        raise ImportError(needed, name="huggingface_hub") from error
    try:
        about = HfApi().model_info(repository, revision=revision)
        wanted = [*WANTED, *_choose_weights([each.rfilename for each in about.siblings or ()])]
        folder = snapshot_download(repository, revision=about.sha, allow_patterns=wanted)
    except errors.GatedRepoError as error:
        raise ValueError(
            f"{address} is given only to those who have accepted its terms on its page. Accept them there, and log in "
            "with `hf auth login`."
        ) from error
    except errors.RevisionNotFoundError as error:
        raise ValueError(
            f"{repository} has no revision {revision!r}. Expected a branch, a tag or a whole commit; without @REVISION "
            "it is the branch main."
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise ValueError(
            f"There is no {repository} that you may read. Check how it is spelt; a private one needs `hf auth login`."
        ) from error
    except Exception as error:  # of the network; they have no common base class
        reason = " ".join(str(error).split())[:300]
        raise OSError(
            f"{address} could not be fetched: {reason}. Check the network, or fetch it elsewhere and import its folder."
        ) from error
    return Path(folder), about.sha


def _choose_weights(names):
    """The names of weights in a repository, in the best form that it has."""
    for ending in (r".*\.safetensors", r"pytorch_model.*\.bin", r".*\.npz", r"tf_model\.h5"):
        matching = [name for name in names if re.fullmatch(ending, name) and "/" not in name]
        if matching:
            return matching
    return []


def _unpack(path, work):
    """The folder of an archive's files, in `work`. No file becomes longer than its archive states."""
    work.mkdir()
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                files = [each for each in archive.infolist() if not each.is_dir()]
                for each in files:
                    each.filename = each.filename.replace("\\", "/")
                files = [each for each in files if not OF_A_MAC.search(each.filename)]
                _check_members(
                    path, [(each.filename, each.file_size, each.external_attr >> 28 in (0, 8)) for each in files]
                )
                archive.extractall(work, files)
        elif tarfile.is_tarfile(path):
            with tarfile.open(path) as archive:
                files = [each for each in archive if not each.isdir() and not OF_A_MAC.search(each.name)]
                _check_members(path, [(each.name, each.size, each.isfile()) for each in files])
                archive.extractall(work, files, **FILTER)
        else:
            raise ValueError(
                f"{path} is neither a zip nor a tar. Expected one with the files of a network, or a folder."
            )
    except PermissionError:
        raise
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, RuntimeError, NotImplementedError, OSError) as error:
        raise ValueError(f"{path} cannot be unpacked, it may be cut off: {str(error)[:300]}") from error
    inside = list(work.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else work


def _check_members(path, members):
    """Refuse an archive with a member, (name, size, whether it is a plain file), that no network has."""
    total = sum(size for _, size, _ in members)
    if len(members) > MOST_FILES or total > RATIO * path.stat().st_size + 2**20:
        raise ValueError(f"{path} would become {len(members):,} files with {total:,} bytes, which is too many.")
    if len({PurePosixPath(name) for name, _, _ in members}) < len(members):
        raise ValueError(f"{path} holds two files of one name.")
    for name, _, plain in members:
        place = PurePosixPath(name)
        if len(name) > LONGEST_NAME:
            raise ValueError(f"{path} holds {some([name])}, a name of {len(name):,} characters, which is too long.")
        if place.is_absolute() or ".." in place.parts or ":" in name:
            raise ValueError(f"{path} holds {name!r}, whose path leads out of its folder. Nothing was unpacked there.")
        if not plain:
            raise ValueError(f"{path} holds {name!r}, which is a link or another special file.")
