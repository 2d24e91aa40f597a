"""Writes the page of all settings of recipes: `python docs/settings.py`, or `make tables`.

Names, kinds, defaults and meanings are those of the tables that check a recipe; tests/pages/test_settings.py compares
the page with this.
"""

import sys
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "settings.md"
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from recipe_schema import places_of  # noqa: E402

from zoo.recipes.recipe import TABLES, TEXTS  # noqa: E402
from zoo.recipes.toml import literal  # noqa: E402
from zoo.settings.table import by_tag, default, describe_kind, fields, meaning, nested_table  # noqa: E402
from zoo.tasks import TASKS  # noqa: E402

HEAD = """# Settings

Every setting of every recipe, by task and by table. [Recipes](recipes.md) says how they are written down, and
`seqzoo list NAME` shows those of one recipe with their values. Where a default is empty, the meaning says what holds
without the setting.

These stand above the tables of a recipe:

"""


def page():
    """The text of the page."""
    lines = [HEAD, "| setting | meaning |\n|---|---|\n"]
    lines += [f"| `{name}` | {said} |\n" for name, said in TEXTS.items()]
    lines += ["| `imports` | modules that bring layers of your own ([own-layers.md](own-layers.md)) |\n"]
    lines += ["| `extends` | the recipe that this one differs from |\n", "\n## Tasks\n"]
    for task in TASKS.values():
        lines += [f"\n### {task.name}\n\n{_first(type(task))}\n\n", *_of_task(task)]
    for place in TABLES:
        lines += [f"\n## [{place}]\n", *_of_place(place)]
    return "".join(lines)


def _of_task(task):
    """What each table of a task may choose, by the kind of its model; the default stands first."""
    rows = {kind: places_of(task, kind) for kind in task.models}
    yield f"| | {' | '.join(f'`kind = {literal(kind)}`' for kind in rows)} |\n|---|{'---|' * len(rows)}\n"
    for place in TABLES:
        cells = [", ".join(f"`{name}`" for name in by_tag(own.get(place, ())) if name) for own in rows.values()]
        if any(cells) and place != "model":
            yield f"| `[{place}]` | {' | '.join(cells)} |\n"


def _of_place(place):
    """Each table that may stand at a place, with the tasks that have it where not all do."""
    tasks = {}
    for task in TASKS.values():
        for kind in task.models:
            for each in places_of(task, kind).get(place, ()):
                tasks.setdefault(each, {})[task.name] = None
    having = {name for own in tasks.values() for name in own}
    for each, own in tasks.items():
        tag, field = each.__struct_config__.tag, each.__struct_config__.tag_field
        title = f"`{field} = {literal(tag)}`" if tag else ""
        some = "" if own.keys() == having else ", ".join(own)
        if title or some:
            yield f"\n### {title}{' of ' if title and some else 'Of ' if some else ''}{some}\n"
        yield f"\n{_first(each)}\n"
        yield from _rows(each, place)


def _rows(table, where):
    own = {name: each for name, each in fields(table).items() if not nested_table(each.type)}
    if own:
        yield "\n| setting | default | it is | meaning |\n|---|---|---|---|\n"
    for name, each in own.items():
        usual = default(table, name)
        shown = "must be given" if usual is msgspec.NODEFAULT else "" if usual is None else f"`{literal(usual)}`"
        yield f"| `{name}` | {shown} | {describe_kind(each.type)} | {meaning(each.type)} |\n"
    for name, each in fields(table).items():
        if nested_table(each.type):
            yield f"\n`[{where}.{name}]`: {meaning(each.type)}.\n"
            yield from _rows(nested_table(each.type), f"{where}.{name}")


def _first(cls):
    return cls.__doc__.strip().splitlines()[0]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
