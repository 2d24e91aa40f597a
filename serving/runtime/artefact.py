"""Finding an artefact by its folder or its name, and reading it: nothing of it is run, and no framework is imported.

Being in the right folder is not enough: the manifest must fit its schema, a file is used only if the manifest lists it
and only if it lies inside the artefact, and the bytes that are used are the same bytes whose hash was compared. What
has a name lies in the cache of `zoo.hub`, and each file comes when it is first needed.
"""

import hashlib
import os
import shlex
import stat
from pathlib import Path

from serving.lazy import later
from serving.runtime import manifest_format
from serving.runtime.errors import DamagedError, UnsupportedError

documents = later("zoo.core.documents")
hub = later("zoo.hub")  # which needs no framework; whoever gives a folder does not import it

MANIFEST = "manifest.json"
MOST_BYTES = 2**24  # of a manifest
SAVED_MODEL = "saved_model.pb"  # at the top of the artefact, which therefore is a version folder of TensorFlow Serving
MEND = "Copy the artefact again, or export it again."


class Artefact:
    """A directory with a manifest, opened for reading.

    Args:
        directory: `name/version/`.
        verify: compare each file that is read, and the manifest itself, with the SHA-256 recorded for it.

    Attributes:
        origin: the argument of `seqzoo export` in messages about further graphs: the directory.

    Raises:
        ValueError: there is no artefact in the directory.
        DamagedError: the manifest has been changed since it was written, or does not fit its schema.
        UnsupportedError: the format of the manifest is newer than this reader.
    """

    def __init__(self, directory, verify=True):
        self.directory, self.verify, self.origin = Path(directory), verify, str(directory)
        self.manifest = read_manifest(directory, verify)

    def read(self, name):
        """The bytes of file `name`. They are read once, and the hash of these same bytes is compared.

        Raises:
            ValueError: the artefact has no such file; the message lists the files that it has.
            DamagedError: the file is missing, not listed in the manifest, outside of the artefact, or was changed.
        """
        if name not in self.manifest["files"]:
            raise self._unlisted_error(name)
        size = self.manifest["sizes"][name] if self.verify else None
        content = read_inside(self.directory, name, size)
        if self.verify and hashlib.sha256(content).hexdigest() != self.manifest["files"][name]:
            raise DamagedError(
                f"{self.directory / name} is damaged: its bytes do not have the SHA-256 that {MANIFEST} records. "
                f"{MEND} `seqzoo verify {self.directory}` checks every file; "
                "verify=False (--no-verify) uses files without checking them."
            )
        return content

    def export_command(self, *options):
        """The command that makes from this artefact one with further graphs."""
        return shlex.join(["seqzoo", "export", self.origin, *map(str, options)])

    def preferred_file(self, name):
        """The file of graph `name` that runs if no precision is asked for: its int8 form where the manifest says so."""
        light = manifest_format.int8_name(name)
        return light if self.manifest.get("precision") == "int8" and light in self.manifest["files"] else name

    def _unlisted_error(self, name):
        path = self.directory / name
        if path.is_file():
            return DamagedError(
                f"{path} is not used: {MANIFEST} does not list it, so it may not belong to the artefact. {MEND}"
            )
        names = sorted(file for file in self.manifest["files"] if Path(file).suffix == path.suffix and "/" not in file)
        mend = "Export again with int8 graphs, or use float32." if ".int8." in name else "Export again."
        if name in self.manifest.get("left_out", ()):
            mend = f"It was published without this file, which `{self.export_command()}` makes again."
            mend = "Use int8 (--precision int8). " + mend if manifest_format.int8_name(name) in names else mend
        return ValueError(f"{self.directory} holds no {name}; its files of this type are {names}. {mend}")


class FetchedArtefact(Artefact):
    """An artefact of a hub. Every file is compared with the index of the hub, too, whatever `verify` says.

    Args:
        name: "name" or "name@version".
        verify: as of `Artefact`.
    """

    def __init__(self, name, verify=True):
        self._fetch_files = hub.fetch_files
        try:
            self.published = hub.find(name)
        except ValueError as error:
            raise ValueError(f"No artefact at {name}: there is no such directory, and {error}") from error
        super().__init__(hub.fetch_files(self.published, [MANIFEST], progress=False), verify)
        self.origin = name

    def read(self, name):
        """The bytes of file `name`, which is downloaded if need be; errors as of `Artefact` and `zoo.hub.fetch`."""
        if name in self.manifest["files"]:
            self._fetch_files(self.published, [name])
        return super().read(name)

    def preferred_file(self, name):
        """The int8 form of a graph if the hub says that it loses nothing, or has that form alone; else the graph."""
        entry, light = self.published.entry, manifest_format.int8_name(name)
        return light if light in entry["files"] and (entry["int8"] or name not in entry["files"]) else name


def open_artefact(name, verify=True):
    """The `Artefact` of a folder, or of a model of this name in a hub. A folder that exists wins.

    Raises:
        ValueError: there is neither such a folder nor such a model.
        zoo.hub.HubError: the model cannot be downloaded.
    """
    return Artefact(name, verify) if _is_folder(name) else FetchedArtefact(name, verify)


def locate(name):
    """What `open_artefact` takes for an argument of a command: a folder below which one artefact lies is that artefact.

    Raises: as of `resolve`, for a folder.
    """
    return resolve(name) if _is_folder(name) else name


def _is_folder(name):
    if not isinstance(name, str) or os.path.isdir(name):
        return True
    return hub.is_path(name)


def read_manifest(directory, verify=True):
    """The manifest of the artefact at `directory`, a dict.

    Args:
        directory: the artefact.
        verify: compare the manifest with the SHA-256 that it holds.

    Raises: as of `Artefact`.
    """
    directory = Path(directory)
    if not directory.is_dir():
        what = "it is no directory" if directory.exists() else "there is no such directory"
        raise ValueError(f"No artefact at {directory}: {what}. Expected what `seqzoo export RUN --out DIR` wrote.")
    path = directory / MANIFEST
    if not os.path.lexists(path):
        raise ValueError(f"{directory} is not an artefact: it holds no {MANIFEST}." + _suggestion(directory))
    content = read_inside(directory, MANIFEST, most=MOST_BYTES)
    try:
        manifest = documents.parse(content)
    except ValueError as error:
        raise DamagedError(f"{path} is damaged: expected JSON, but reading it failed: {error}. {MEND}") from error
    number = manifest.get("format") if isinstance(manifest, dict) else None
    if type(number) is int and number > manifest_format.FORMAT:
        raise UnsupportedError(
            f"{path} is of format {number}; this seqzoo reads formats up to {manifest_format.FORMAT}. "
            "Install a newer seqzoo."
        )
    try:
        return manifest_format.checked(manifest, verify)
    except ValueError as error:
        raise DamagedError(f"{path} is not a sound manifest of an artefact: {error}. {MEND}") from error


def read_inside(directory, name, size=None, most=None):
    """The bytes of the regular file `name` below `directory`. A link that leads out of the directory is refused.

    Args:
        directory: the artefact. Its own path may contain links.
        name: a relative path with forward slashes.
        size: the number of bytes that the file must have, or None.
        most: the largest number of bytes that it may have, or None.

    Raises:
        DamagedError: the file is missing, lies outside, is not a regular file, has another size, or cannot be read.
    """
    path = Path(directory) / name

    def opener(name, flags):
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))  # opening a pipe must not wait for its writer

    try:
        if not is_inside(directory, path):
            raise DamagedError(f"{path} lies outside of the artefact: it leads to {path.resolve()}. {MEND}")
        with open(path, "rb", opener=opener) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise DamagedError(f"{path} is damaged: expected a regular file. {MEND}")
            if size is not None and status.st_size != size or most is not None and status.st_size > most:
                expected = f"{size} bytes" if size is not None else f"at most {most} bytes"
                raise DamagedError(f"{path} is damaged: expected {expected}, found {status.st_size}. {MEND}")
            return file.read()
    except FileNotFoundError:
        raise DamagedError(f"{path} is damaged: the file is missing. {MEND}") from None
    except (OSError, RuntimeError) as error:  # RuntimeError: links that form a circle
        raise DamagedError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}. {MEND}") from error


def is_inside(directory, path):
    """Whether `path`, after following all links, lies below `directory`."""
    return path.resolve().is_relative_to(Path(directory).resolve())


def _suggestion(directory):
    """A hint for an error message: the artefacts at most two levels below `directory` (`name/version/`)."""
    manifests = sorted((*directory.glob(f"*/{MANIFEST}"), *directory.glob(f"*/*/{MANIFEST}")))
    if manifests:
        return " Did you mean " + " or ".join(str(path.parent) for path in manifests[:5]) + "?"
    if (directory / "recipe.toml").is_file():
        return f" It is a training run: export it with `seqzoo export {directory} --out DIR`."
    return " Expected what `seqzoo export RUN --out DIR` wrote."


def has_saved_model(manifest):
    """Whether TensorFlow and its servers can load the artefact: a SavedModel lies at its top."""
    return SAVED_MODEL in manifest["files"]


def resolve(directory):
    """The artefact at `directory` or, if artefacts of only one name lie below it, the newest version of that name.

    Raises:
        ValueError: there is no artefact, or there are artefacts of several names.
    """
    directory = Path(directory)
    if (directory / MANIFEST).is_file():
        return directory
    manifests = [*directory.glob(f"*/{MANIFEST}"), *directory.glob(f"*/*/{MANIFEST}")]
    homes = {path.parent.parent for path in manifests}
    numbered = [path.parent for path in manifests if path.parent.name.isdecimal() and path.parent.name.isascii()]
    if len(homes) == 1 and numbered:
        return max(numbered, key=lambda path: int(path.name))
    read_manifest(directory)  # raises an error that says what was expected and what was found
    return directory


def sha256(path):
    """The SHA-256 of a file's bytes, as hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_files(directory, manifest):
    """Compare every file with its size and hash in the manifest. Returns the names of files that it does not list.

    Raises:
        DamagedError: files are missing, lie outside, or have other bytes; the message names all of them.
    """
    directory = Path(directory)
    wrong = {name: fault for name in sorted(manifest["files"]) if (fault := _fault(directory, name, manifest))}
    if wrong:
        raise DamagedError(
            f"{directory} is damaged. These files differ from what {MANIFEST} records: "
            f"{', '.join(f'{name} ({fault})' for name, fault in wrong.items())}. {MEND}"
        )
    return extra_files(directory, manifest)


def _fault(directory, name, manifest):
    path = directory / name
    if not path.is_file():
        return "missing"
    if not is_inside(directory, path):
        return "outside of the artefact"
    if path.stat().st_size != manifest["sizes"][name]:
        return "another size"
    return None if sha256(path) == manifest["files"][name] else "other bytes"


def extra_files(directory, manifest):
    """Files and links in the artefact that the manifest does not list. They are never read."""
    names = []
    for folder, folders, files in os.walk(directory):  # does not follow links
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        names += [(Path(folder) / name).relative_to(directory).as_posix() for name in (*files, *links)]
    return sorted(set(names) - manifest["files"].keys() - {MANIFEST})


def damaged_error(path, error):
    """The error for a file that the library for its format cannot read."""
    return DamagedError(
        f"{path} is damaged or of a newer format: {str(error).rstrip('.')}. `seqzoo verify {Path(path).parent}` "
        "checks every file; copy or export the artefact again."
    )
