"""`python -m seqzoo` is the command `seqzoo`."""

import sys

from .cli import main

sys.exit(main())
