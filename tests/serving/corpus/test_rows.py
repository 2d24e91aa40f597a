"""Parquet in and out: the columns of the input beside the answers, in shards and resumable."""

import pyarrow
import pytest
from pyarrow import parquet

from serving.corpus import disk, process, rows
from serving.corpus.forms import ParquetForm
from serving.corpus.lines import Lines, Shard
from serving.corpus.rows import Rows
from tests.serving.corpus import echo

COUNT = 50


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(rows, "BLOCK_ROWS", 4)
    monkeypatch.setattr(disk.os, "fsync", lambda file: None)


@pytest.fixture
def table(tmp_path):
    texts = [f"text {number}" for number in range(COUNT)]
    texts[7], texts[9] = None, "what ?"
    table = pyarrow.table({"stars": list(range(COUNT)), "review": texts})
    parquet.write_table(table, tmp_path / "in.parquet", row_group_size=11)
    return table


def run(path, out, shard="1/1", resume=False, ask=echo.ask):
    source = Rows(path, Shard(*map(int, shard.split("/"))))
    form = ParquetForm(source.schema, echo.COLUMNS)
    return process.process(source, out, form, ask, identity={}, resume=resume)


def check(found, table, first=0):
    assert found.column_names == ["id", "stars", "review", "answer", "error"]
    assert found.select(["stars", "review"]).equals(table)
    assert found["id"].to_pylist() == list(range(first + 1, first + 1 + len(table)))
    for text, answer, error in zip(*(found[name].to_pylist() for name in ("review", "answer", "error")), strict=True):
        if text is None:
            assert (answer, error) == ("", "no text: the row holds null")
        else:
            assert (answer, error) == (("", "a question") if "?" in text else (text[::-1], None))


def test_columns_are_kept_and_answers_added(table, tmp_path):
    done = run(tmp_path / "in.parquet", tmp_path / "out.parquet")
    assert (done.texts, done.refused) == (COUNT, 2)
    check(parquet.read_table(tmp_path / "out.parquet"), table)


@pytest.mark.parametrize("count", [3, 7, 60])
def test_shards_together_are_the_whole(table, tmp_path, count):
    parts = []
    for index in range(1, count + 1):
        out = Shard(index, count).name(tmp_path / "out.parquet")
        run(tmp_path / "in.parquet", out, f"{index}/{count}")
        parts.append(out)
    assert len(parquet.read_table(parts[0])) == COUNT // count
    check(pyarrow.concat_tables(map(parquet.read_table, parts)), table)


@pytest.mark.parametrize("shard", ["1/1", "2/3"])
def test_it_goes_on_where_it_was(table, tmp_path, shard):
    run(tmp_path / "in.parquet", tmp_path / "whole.parquet", shard)
    out, asked = tmp_path / "out.parquet", []

    def ask(block):
        if len(asked) % 3 == 2:
            asked.append(None)
            raise KeyboardInterrupt
        asked.append(block.number)
        return echo.ask(block)

    for _ in range(20):
        try:
            run(tmp_path / "in.parquet", out, shard, resume=True, ask=ask)
        except KeyboardInterrupt:
            continue
        break
    numbers = [number for number in asked if number is not None]
    assert numbers == sorted(set(numbers)) and asked.count(None) >= 2
    assert out.read_bytes() == (tmp_path / "whole.parquet").read_bytes()


def test_an_id_of_the_input_is_kept(tmp_path):
    parquet.write_table(pyarrow.table({"text": ["a", "b"], "id": ["x", "y"]}), tmp_path / "in.parquet")
    run(tmp_path / "in.parquet", tmp_path / "out.parquet")
    found = parquet.read_table(tmp_path / "out.parquet")
    assert found["id"].to_pylist() == ["x", "y"] and found.column_names.count("id") == 1


def test_lines_in_and_a_table_out(tmp_path):
    (tmp_path / "in.txt").write_bytes(b"ab\n\xff?\n\ncd")
    form = ParquetForm(None, echo.COLUMNS)
    process.process(Lines(tmp_path / "in.txt"), tmp_path / "out.parquet", form, echo.ask, identity={})
    found = parquet.read_table(tmp_path / "out.parquet")
    assert found["id"].to_pylist() == [1, 2, 3, 4]
    assert found["text"].to_pylist() == ["ab", "\ufffd?", "", "cd"]


def test_the_column_of_the_text(tmp_path):
    both = pyarrow.table({"a": ["x", "y"], "b": ["1", None], "n": [1, 2]})
    parquet.write_table(both, tmp_path / "in.parquet")
    path = tmp_path / "in.parquet"
    (block,) = Rows(path, columns=["b"]).blocks()
    assert block.texts == ["1", ""] and list(block.errors) == [1]
    (block,) = Rows(path, columns=["a", "b"]).blocks()
    assert block.texts[0] == "x\t1"
    for columns, message in (((), "say which holds the text"), (["n"], "no column of strings 'n'"), (["z"], "'z'")):
        with pytest.raises(ValueError, match=message):
            Rows(path, columns=columns)
    with pytest.raises(ValueError, match="has a column 'a', which is the name of a column of the answers"):
        ParquetForm(both.schema, {"a": (str, None)})


def test_categories_are_strings(tmp_path):
    """As pandas and Polars write a column of them; each part of the file has a table of its own."""
    plain = pyarrow.array(["a", "b", None, "a", "c", "d"] * 3)
    table = pyarrow.table({"text": plain.dictionary_encode(), "plain": plain, "kind": plain.dictionary_encode()})
    parquet.write_table(table, tmp_path / "in.parquet", row_group_size=5)
    found, expected = (
        [text for block in Rows(tmp_path / "in.parquet", columns=[name]).blocks() for text in block.texts]
        for name in ("text", "plain")
    )
    assert found == expected and found[:3] == ["a", "b", ""] and len(found) == len(plain)
    run(tmp_path / "in.parquet", tmp_path / "out.parquet")
    assert parquet.read_table(tmp_path / "out.parquet")["kind"].to_pylist() == plain.to_pylist()


def test_a_file_without_strings_says_what_it_has(tmp_path):
    parquet.write_table(pyarrow.table({"a": [1], "text": [b"x"]}), tmp_path / "in.parquet")
    with pytest.raises(ValueError, match=r"no column of strings; its columns are: 'a' \(int64\), 'text' \(binary\)"):
        Rows(tmp_path / "in.parquet")


def test_columns_of_one_name_are_refused(tmp_path):
    table = pyarrow.table([pyarrow.array(["a"])] * 3, names=["text", "text", "note"])
    parquet.write_table(table, tmp_path / "in.parquet")
    for columns in ((), ["text"]):
        with pytest.raises(ValueError, match="has 2 columns 'text'"):
            Rows(tmp_path / "in.parquet", columns=columns)
    assert Rows(tmp_path / "in.parquet", columns=["note"]).columns == ("note",)


def test_what_is_no_parquet_file(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(ValueError, match="cannot read .* as a Parquet file"):
        Rows(tmp_path / "a.parquet")


@pytest.mark.parametrize("kind", ["string", "large_string"])
def test_a_byte_that_is_no_utf_8_costs_its_own_row(tmp_path, kind):
    """Parquet says that strings are UTF-8, and neither its writers nor its readers look."""
    held = pyarrow.array([b"abc", b"a\xff?", "\u00e9".encode()], kind.replace("string", "binary"))
    texts = pyarrow.Array.from_buffers(pyarrow.type_for_alias(kind), 3, held.buffers())
    parquet.write_table(pyarrow.table({"text": texts}), tmp_path / "in.parquet")
    (block,) = Rows(tmp_path / "in.parquet").blocks()
    assert block.texts == ["abc", "a\udcff?", "\u00e9"] and not block.errors
    run(tmp_path / "in.parquet", tmp_path / "out.parquet")
    assert parquet.read_table(tmp_path / "out.parquet")["answer"][0].as_py() == "cba"


def test_a_part_that_is_damaged_is_said(table, tmp_path):
    path = tmp_path / "in.parquet"
    content = bytearray(path.read_bytes())
    content[4:400] = b"\xff" * 396
    path.write_bytes(content)
    with pytest.raises(ValueError, match="cannot read .*in.parquet as a Parquet file"):
        list(Rows(path, columns=["review"]).blocks())
