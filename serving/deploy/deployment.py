"""Writes a deployment: reads what the folder has, changes the labels of its models, and writes the files anew."""

import contextlib
import importlib
import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

from serving.deploy import files
from serving.deploy.options import TARGETS, Labels, Options
from serving.export.partial import explain_full_disk, lock
from serving.runtime.artefact import Artefact, check_files, resolve
from serving.runtime.errors import DamagedError

FILE = "deployment.json"


def deploy(paths, out, change=None, log=lambda line: None, **options):
    """Write the files of a deployment to the folder `out`, and return its `Plan`.

    The command can be repeated: with the same arguments it writes the same bytes. Models that were deployed to the
    folder before stay in it, and what is not given is as it was.

    Args:
        paths: artefacts, or folders of versions. None are needed where the folder has one model.
        out: the folder of the deployment.
        change: None, ("canary", version), ("promote",) or ("rollback",): of the one model that is named.
        log: a function that is called with a line about each file.
        **options: settings of `Options` to choose.

    Raises:
        ValueError: an artefact cannot be deployed to this target, or the change does not fit the labels.
        DamagedError: a file of an artefact has other bytes than its manifest records.
        ServingError: the disk is full.
    """
    out = Path(out)
    before = read_plan(out)
    _check(before, change, options)
    models = list(map(find_served, paths))
    with explain_full_disk(out / FILE, exported=False), _folder(out):
        with lock(out, wait=True):
            before = read_plan(out)
            plan = _next_plan(before, models, change, options)
            room = importlib.import_module(f"serving.deploy.{plan.options.target.replace('-', '_')}")
            contents = room.render(plan)
            if plan.options.target == "tf-serving":
                room.write_warmup(plan, log)
            files.remove_leftovers(out)
            for name, content in contents.items():
                files.write(out / name, content)
                log(f"{out / name}")
            files.write(out / FILE, plan.text())  # last: until then, the same command does the same again
    return plan


@contextlib.contextmanager
def _folder(out):
    """Make the folder, and remove it again if nothing was written to it."""
    out.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):  # it is not empty
            out.rmdir()
        raise


def _check(before, change, options):
    """Refuse arguments that contradict what the folder has.

    Raises:
        ValueError: there is no target, another one than before, or a change of what is not deployed.
    """
    target = options.get("target")
    if before is None and change and change[0] != "canary":
        raise ValueError(f"--{change[0]}: nothing is deployed in this folder yet. Deploy a version first.")
    if before is None and target is None:
        raise ValueError(f"--target is needed at the first deployment to a folder: one of {', '.join(TARGETS)}.")
    if before and target not in (None, before.options.target):
        raise ValueError(
            f"--target {target}: this folder has a deployment for {before.options.target}. Choose another --out."
        )


def _next_plan(before, models, change, options):
    """The `Plan` after a command; see `deploy`."""
    if before is None:
        plan = Plan(Options(**options), {})
    else:
        plan = Plan(replace(before.options, **options), before.models)
    names = sorted({model.name for model, _ in models} or plan.models)
    if change and len(names) != 1:
        raise ValueError(f"--{change[0]} changes the labels of one model: name it. Here are {', '.join(names)}.")
    if not models and not plan.models:
        raise ValueError("Nothing to deploy: name an artefact, such as artefacts/NAME.")
    if change and not models:
        models = [(model, None) for model, _ in plan.models.values()]
    for model, version in models:
        other, labels = plan.models.get(model.name, (model, None))
        if other.home != model.home:
            raise ValueError(
                f"{model.name} is deployed from {other.home}; received {model.home}. Deploy it to another --out, or "
                f"copy the version to {other.home}."
            )
        named = plan.models | {model.name: (model, _labels(model, labels, version, change))}
        plan = Plan(plan.options, dict(sorted(named.items())))
    return plan


def _labels(model, labels, version, change):
    """The labels of a model after a command that names this version of it."""
    if change is None:
        if labels is None:
            return Labels(version or max(model.versions))
        if version is not None and version not in labels.versions:
            raise ValueError(
                f"Version {version} of {model.name} is not deployed: {labels}. Try it first, with --canary {version}."
            )
        return labels
    verb, *arguments = change
    if verb == "canary":
        if arguments[0] not in model.versions:
            model.manifest(arguments[0])  # raises, and says which there are
        others = [each for each in model.versions if each != arguments[0]]
        return (labels or Labels(max(others, default=arguments[0]))).try_version(*arguments)
    if labels is None:
        raise ValueError(f"--{verb}: {model.name} is not deployed in this folder yet. Deploy a version first.")
    return labels.promote() if verb == "promote" else labels.roll_back()


@dataclass(frozen=True)
class Model:
    """A folder of versions.

    Args:
        name: as the manifests of the versions have it.
        home: the folder of its versions, a base path of TensorFlow Serving.
    """

    name: str
    home: Path

    def folder(self, version):
        return self.home / str(version)

    @cached_property
    def versions(self):
        """The numbers of the versions that are there, in order."""
        names = (path.parent.name for path in self.home.glob("*/manifest.json"))
        return sorted(int(name) for name in names if name.isdecimal() and name.isascii())

    def manifest(self, version):
        """The manifest of a version, after a check of every file of it.

        Raises:
            ValueError: there is no such version.
            DamagedError: a file has other bytes than the manifest records.
        """
        if version not in self.versions:
            versions = ", ".join(map(str, self.versions)) or "none"
            raise ValueError(f"{self.name} has no version {version} in {self.home}: there are {versions}.")
        manifest = Artefact(self.folder(version)).manifest
        check_files(self.folder(version), manifest)
        return manifest


def find_served(path):
    """`(Model, version)` of an artefact; of a folder of versions, or of one with a single model, the version is None.

    Raises:
        ValueError: there is no artefact, or its folder has another name than its version, which servers go by.
    """
    folder = resolve(path).resolve()
    manifest = Artefact(folder).manifest
    if folder.name != str(manifest["version"]):
        raise ValueError(
            f"{folder} cannot be deployed: its manifest says that it is version {manifest['version']}, so its folder "
            f"must have this name, and not {folder.name!r}. Rename it, or copy it to a folder of this name."
        )
    version = manifest["version"] if Path(path).resolve() == folder else None
    return Model(manifest["name"], folder.parent), version


@dataclass(frozen=True)
class Plan:
    """The state from which every file of a deployment follows.

    Args:
        options: `Options`.
        models: `{name: (Model, Labels)}`.
    """

    options: Options
    models: dict

    def check_versions(self):
        """`(Model, version, manifest)` of every version that is served, each checked."""
        for model, labels in self.models.values():
            for version in labels.versions:
                yield model, version, model.manifest(version)

    def text(self):
        """The content of `deployment.json`."""
        models = {name: {"home": str(model.home), **labels.by_name} for name, (model, labels) in self.models.items()}
        return json.dumps({"format": 1, "options": asdict(self.options), "models": models}, indent=2) + "\n"


def read_plan(folder):
    """The `Plan` in a folder, or None if nothing is deployed there.

    Raises:
        DamagedError: `deployment.json` is no plan.
    """
    path = Path(folder) / FILE
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        options = Options(**content["options"])
        models = {
            name: (Model(name, Path(entry.pop("home"))), Labels(**entry)) for name, entry in content["models"].items()
        }
        numbers = [number for _, labels in models.values() for number in labels.by_name.values()]
        if content["format"] != 1 or not all(type(number) is int and number > 0 for number in numbers):
            raise ValueError("it has another format, or a version that is no positive whole number")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DamagedError(
            f"{path} is damaged: {type(error).__name__}: {error}. Remove it and deploy the models again."
        ) from error
    return Plan(options, models)
