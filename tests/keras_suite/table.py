"""The table: every public layer and model. What builds fast is asked in every run, the rest in the slow one."""

from tests.keras_suite import models, slots, stacks

QUICK = slots.CASES + stacks.EXITS
SLOW = stacks.BLOCKS + stacks.STACKS + stacks.RECURRENT + models.CASES
CASES = QUICK + SLOW
