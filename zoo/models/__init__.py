"""What a user builds."""

from zoo.models.seq2seq import Seq2Seq

__all__ = ["Seq2Seq"]
