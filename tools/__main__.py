"""Makes `python -m seqzoo` the same as the command `seqzoo`."""

import sys

from .cli import main

sys.exit(main())
