"""What is deployed in a folder: its target, its options, and the labels of each model; kept in `deployment.json`."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from serving.deploy.labels import Labels
from serving.deploy.options import Options
from serving.deploy.served import Model
from serving.runtime.errors import DamagedError

FILE = "deployment.json"


@dataclass(frozen=True)
class Plan:
    """The state from which every file of a deployment follows.

    Args:
        options: `Options`.
        models: `{name: (Model, Labels)}`.
    """

    options: Options
    models: dict

    def loaded(self):
        """`(Model, version, manifest)` of every version that is served, each checked."""
        for model, labels in self.models.values():
            for version in labels.versions:
                yield model, version, model.manifest(version)

    def having(self, name, model, labels):
        """The plan with a model, or with other labels for it."""
        return replace(self, models=dict(sorted((self.models | {name: (model, labels)}).items())))

    def text(self):
        """The content of `deployment.json`."""
        models = {name: {"home": str(model.home), **labels.named} for name, (model, labels) in self.models.items()}
        return json.dumps({"format": 1, "options": asdict(self.options), "models": models}, indent=2) + "\n"


def read(folder):
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
        numbers = [number for _, labels in models.values() for number in labels.named.values()]
        if content["format"] != 1 or not all(type(number) is int and number > 0 for number in numbers):
            raise ValueError("it has another format, or a version that is no positive whole number")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DamagedError(
            f"{path} is damaged: {type(error).__name__}: {error}. Remove it and deploy the models again."
        ) from error
    return Plan(options, models)
