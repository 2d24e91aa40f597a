"""Which texts belong to none of the labels that a classifier knows."""

from typing import Annotated

from zoo.settings.kinds import Doc
from zoo.settings.table import Table


class Scope(Table):
    """What a classifier does with texts that are out of its scope (Larson et al. 2019)."""

    label: Annotated[str, Doc('label of the texts out of scope, such as "oos"; without it there are none')] = ""
    threshold: Annotated[
        bool, Doc("whether a text is out of scope if its likeliest label is not likely enough, as validation tells")
    ] = True
    trained: Annotated[bool, Doc("whether the label is learnt like the others, from texts of the training")] = False

    @classmethod
    def unread(cls, value_of):
        """The other settings, where nothing is out of scope."""
        why = "it is read where label names the texts that are out of scope; received label=''"
        return {} if value_of("label") else dict.fromkeys(("threshold", "trained"), why)

    @property
    def chosen(self):
        """Whether a threshold is chosen."""
        return bool(self.label) and self.threshold

    def check(self):
        if self.label and not (self.threshold or self.trained):
            raise ValueError(
                f"no text would ever be {self.label!r}: set threshold=true, trained=true, or both; received neither."
            )
