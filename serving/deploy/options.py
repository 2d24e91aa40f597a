"""What an operator may choose of a deployment; every choice is remembered in its folder."""

from dataclasses import dataclass, field
from importlib import metadata

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
    image: str = field(default_factory=lambda: f"seqzoo-serve:{own_version()}")
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


def own_version():
    """The version of this seqzoo."""
    try:
        return metadata.version("seqzoo")
    except metadata.PackageNotFoundError:
        return "latest"
