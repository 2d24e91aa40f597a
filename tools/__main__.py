"""Makes `python -m seqzoo` the same as the command `seqzoo`."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the working folder, whose modules may be a stranger's; the command does not have it either

from .cli import main  # noqa: E402

sys.exit(main())
