"""What an operator may choose of a deployment, which its folder remembers: its options, and labels of versions.

The labels of a model are `stable`, `canary` and `previous`. Labels move, files do not.

    deploy            canary 2                promote                 rollback
    stable 1   ->   stable 1, canary 2   ->   stable 2, previous 1   ->   stable 1
                    rollback: stable 1

At most two versions are in memory at a time: a canary takes the place of the previous version.
"""

from dataclasses import dataclass, field

from serving.lazy import later

packages = later("zoo.core.later")

TARGETS = {  # what each of them writes; the module of this room that has its name makes it
    "tf-serving": "configuration of TensorFlow Serving, and warm-up requests beside the models",
    "kserve": "an InferenceService of KServe for each model, which answers texts",
}


@dataclass(frozen=True)
class Options:
    """The settings of a deployment.

    Args:
        target: one of `TARGETS`.
        models: the folder in which the server sees the models, such as /models in a container; "" is where they are.
        max_batch: the most rows that a server runs at once.
        batch_delay_ms: how long it waits for further rows, in milliseconds; `seqzoo serve` at most 1,000.
        threads: how many batches run at once, and the number of cores that a container may use.
        image: the container image that runs `seqzoo serve`.
        storage: where a cluster finds the models: pvc://CLAIM/FOLDER, s3://BUCKET/FOLDER, or oci://REGISTRY/FOLDER.
        canary_percent: the share of the requests that KServe sends to a canary.

    Raises:
        ValueError: the target is unknown, or a number is not one that the target could use.
    """

    target: str
    models: str = ""
    max_batch: int = 32
    batch_delay_ms: float = 2.0
    threads: int = 4
    image: str = field(default_factory=lambda: f"seqzoo-serve:{packages.installed_version('seqzoo') or 'latest'}")
    storage: str = "pvc://models"
    canary_percent: int = 10

    def __post_init__(self):
        if self.target not in TARGETS:
            raise ValueError(f"Unknown target: expected one of {list(TARGETS)}, received {self.target!r}.")
        for name, least, most in (("max_batch", 1, 4096), ("threads", 1, 1024), ("canary_percent", 1, 100)):
            if not least <= getattr(self, name) <= most:
                raise ValueError(_describe_wrong(name, f"from {least} to {most}", getattr(self, name)))
        longest = 1_000 if self.target == "kserve" else 10_000  # `seqzoo serve` waits a second at most
        if not 0 <= self.batch_delay_ms <= longest:
            raise ValueError(_describe_wrong("batch_delay_ms", f"from 0 to {longest:,}", self.batch_delay_ms))
        scheme, _, place = self.storage.partition("://")
        if not place or not scheme.isalnum():
            expected = "an address such as pvc://CLAIM/FOLDER, s3://BUCKET/FOLDER or oci://REGISTRY/FOLDER"
            raise ValueError(_describe_wrong("storage", expected, self.storage))
        for name in ("models", "image", "storage"):
            if any(ord(each) < 33 or ord(each) == 127 for each in getattr(self, name).replace(" ", "")):
                raise ValueError(_describe_wrong(name, "a text without control characters", getattr(self, name)))

    @property
    def batch_sizes(self):
        """The sizes to which a batch is filled up: powers of two, and the largest."""
        sizes = [2**power for power in range(self.max_batch.bit_length()) if 2**power < self.max_batch]
        return [*sizes, self.max_batch]


def _describe_wrong(name, expected, received):
    return f"--{name.replace('_', '-')}: expected {expected}, received {received!r}."


@dataclass(frozen=True)
class Labels:
    """The versions of a model that are served.

    Args:
        stable: the version that answers whoever asks for no version.
        canary: a newer or older version that is tried, or None.
        previous: the version that was stable before, kept loaded so that a rollback takes no time, or None.
    """

    stable: int
    canary: int | None = None
    previous: int | None = None

    @property
    def by_name(self):
        """`{label: version}` of the labels that are given."""
        labels = {"stable": self.stable, "canary": self.canary, "previous": self.previous}
        return {label: version for label, version in labels.items() if version is not None}

    @property
    def versions(self):
        """The versions that are served, in order."""
        return sorted(set(self.by_name.values()))

    def try_version(self, version):
        """The labels after `--canary VERSION`.

        Raises:
            ValueError: the version is stable, or another one is tried already.
        """
        if version == self.stable:
            raise ValueError(f"--canary {version}: version {version} is stable already. Name another version.")
        if self.canary not in (None, version):
            raise ValueError(
                f"--canary {version}: version {self.canary} is the canary. End its trial first, with --promote or "
                "--rollback, and let the server read that: it moves no label to a version that is not loaded."
            )
        return Labels(self.stable, canary=version)

    def promote(self):
        """The labels after `--promote`: the canary is stable.

        Raises:
            ValueError: there is no canary.
        """
        if self.canary is None:
            raise ValueError(f"--promote: there is no canary; {self}. Try a version first, with --canary VERSION.")
        return Labels(self.canary, previous=self.stable)

    def roll_back(self):
        """The labels after `--rollback`: without the canary or, if there is none, with the version of before.

        Raises:
            ValueError: there is neither.
        """
        if self.canary is None and self.previous is None:
            raise ValueError(f"--rollback: there is no canary and no version of before; {self}. Nothing was changed.")
        return Labels(self.stable if self.canary is not None else self.previous)

    def __str__(self):
        return ", ".join(f"{label} is version {version}" for label, version in self.by_name.items())
