"""Broken files, one variant a row, with what their messages say; `test_broken.py` reads them."""

from tests.data.formats.broken.files import FILES
from tests.data.formats.broken.folders import FOLDERS
from tests.data.formats.broken.json_lines import JSON
from tests.data.formats.broken.pairs import PAIRS
from tests.data.formats.broken.tables import TABLES
from tests.data.formats.broken.tagged import CONLL, IN_TABLES, SPANNED

TABLE = [*FILES, *TABLES, *JSON, *IN_TABLES, *SPANNED, *CONLL, *PAIRS, *FOLDERS]
