"""The labels of a model's versions: `stable`, `canary` and `previous`. Labels move, files do not.

    deploy            canary 2                promote                 rollback
    stable 1   ->   stable 1, canary 2   ->   stable 2, previous 1   ->   stable 1
                    rollback: stable 1

At most two versions are in memory at a time: a canary takes the place of the previous version.
"""

from dataclasses import dataclass


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
