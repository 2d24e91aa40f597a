"""Every line of a file belongs to exactly one shard, whatever the lines are, and is read as it stands."""

import gzip
import lzma

import pytest
from hypothesis import given, strategies as st

from serving.corpus import lines
from serving.corpus.lines import Lines, Shard
from serving.corpus.process import share_of

OPENERS = {"": open, ".gz": gzip.open, ".xz": lzma.open}


def write(path, content):
    with OPENERS[path.suffix if path.suffix in OPENERS else ""](path, "wb") as file:
        file.write(content)
    return path


def read(source):
    return [text for block in source.blocks() for text in block.texts]


@given(st.lists(st.text("ab\r", max_size=5), max_size=30), st.integers(1, 40), st.booleans())
def test_every_line_is_in_one_shard(tmp_path_factory, texts, count, ended):
    content = "\n".join(texts).encode() + (b"\n" if ended else b"")
    path = write(tmp_path_factory.getbasetemp() / "shards.txt", content)
    parts = [Lines(path, Shard(index, count)) for index in range(1, count + 1)]
    everything = content.decode().split("\n")
    everything = [line.rstrip("\r") for line in (everything[:-1] if everything[-1] == "" else everything)]
    assert [text for part in parts for text in read(part)] == everything
    sizes = [len(read(part)) for part in parts]
    assert [part.number for part in parts if read(part)] == [
        sum(sizes[:place]) for place, size in enumerate(sizes) if size
    ]


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_compressed_files_have_the_shards_of_the_plain_one(tmp_path, suffix):
    content = "".join(f"line {number} {'x' * (number % 7)}\n" for number in range(3000)).encode()
    path = write(tmp_path / f"a.txt{suffix}", content)
    assert path.read_bytes()[:5] != content[:5] or not suffix
    parts = [Lines(path, Shard(index, 3)) for index in (1, 2, 3)]
    assert [part.begin for part in parts[1:]] == [part.end for part in parts[:2]]
    assert "".join(f"{text}\n" for part in parts for text in read(part)).encode() == content
    # A line belongs to the shard in which its first byte lies.
    assert parts[1].begin == content.index(b"\n", len(content) // 3 - 1) + 1


def test_a_compressed_file_is_decompressed_no_more_often_than_needed(tmp_path, monkeypatch):
    read_bytes, size = [], 3_000_000

    class Counted(gzip.GzipFile):
        def read(self, *size):
            found = super().read(*size)
            read_bytes.append(len(found))
            return found

        def seek(self, place, *whence):
            read_bytes.append(place)
            return super().seek(place, *whence)

    monkeypatch.setitem(lines.OPENERS, ".gz", Counted)
    source = Lines(write(tmp_path / "a.txt.gz", b"abc\n" * (size // 4)))
    assert (source.begin, source.end) == (0, size) and sum(read_bytes) == size  # once, to know how long it is


def test_blocks_go_on_from_their_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK_LINES", 7)
    path = write(tmp_path / "a.txt", b"".join(b"%d\n" % number for number in range(100)))
    source = Lines(path, Shard(2, 3))
    blocks = list(source.blocks())
    assert [len(block.texts) for block in blocks[:-1]] == [7] * (len(blocks) - 1)
    for done, block in enumerate(blocks[:-1], 1):
        rest = list(source.blocks(block.end, 7 * done))
        assert rest == blocks[done:]
        assert rest[0].texts[0] == str(rest[0].number)
    assert share_of(source, blocks[-1].end) == 1 and share_of(source, source.begin) == 0


def test_a_block_ends_by_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK_BYTES", 50)
    path = write(tmp_path / "a.txt", b"x" * 9 + b"\n" + b"y" * 200 + b"\n" + b"z\n" * 3)
    assert [len(block.texts) for block in Lines(path).blocks()] == [2, 3]


def test_an_endless_line_costs_no_memory_and_no_other_line(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MOST_LINE", 100)
    monkeypatch.setattr(lines, "CHUNK", 30)
    sizes = [5, 99, 100, 101, 500, 3]
    for ended in (True, False):
        content = b"\n".join(b"x" * size for size in sizes) + (b"\n" if ended else b"")
        (block,) = Lines(write(tmp_path / "a.txt", content)).blocks()
        assert [len(text) for text in block.texts] == [5, 99, 100, 0, 0, 3]
        assert {place: wrong.split(",")[0] for place, wrong in block.errors.items()} == {
            3: "a line of 102 bytes",
            4: "a line of 501 bytes",
        }
    (block,) = Lines(write(tmp_path / "a.txt", b"a\n" + b"x" * 101)).blocks()
    assert list(block.errors) == [1] and block.end == 103


def test_marks_and_bytes_that_are_no_text(tmp_path):
    path = write(tmp_path / "a.txt", b"\xef\xbb\xbfa\r\n\xef\xbb\xbfb\n\xff\n\x0b\xe2\x80\xa8\n")
    assert read(Lines(path)) == ["a", "\ufeffb", "\udcff", "\x0b\u2028"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.gz", gzip.compress(b"a\n" * 9999)[:-9], "is not a whole gz file"),
        ("a.xz", lzma.compress(b"a\n" * 9999)[:-9], "is not a whole xz file"),
        ("a.gz", b"plain\n", "or name it .txt if it is plain text"),
        ("a.txt", gzip.compress(b"a\n"), "is compressed with gzip: let its name end in .gz"),
        ("a.txt", b"PAR1....", "is a Parquet file"),
        ("a.txt", "a\n".encode("utf-16"), "is encoded in UTF-16"),
    ],
)
def test_what_is_no_text_is_told(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read(Lines(tmp_path / name))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="nowhere: No such file"):
        Lines(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="it is a folder"):
        Lines(tmp_path)


@pytest.mark.parametrize("text", ["0/3", "4/3", "1/0", "1", "a/b", "1/2/3", "-1/3", "1/100000", "１/２", "1/3 "])
def test_a_wrong_shard(text):
    with pytest.raises(ValueError, match="i/n"):
        lines.parse_shard(text)


def test_the_names_of_parts_sort_in_the_order_of_the_input():
    count = 1200
    names = [str(Shard(index, count).name("dir/out.v1.txt")) for index in range(1, count + 1)]
    assert names == sorted(names) and names[1] == "dir/out.v1-00002-of-01200.txt"
    assert str(lines.parse_shard("3/12").name("a")) == "a-00003-of-00012"
