import gzip
import lzma

import pytest

from zoo.data import find_parallel, read_lines


def write(path, data):
    compressed = {".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
    path.write_bytes(compressed(data))
    return path


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_reads_lines(tmp_path, suffix):
    """What Unicode takes for the end of a line is a part of it, and a byte order mark is no text."""
    lines = write(tmp_path / f"a.de{suffix}", "\ufeffeins\u2028a\nzwei\x0b\x85b\n".encode())
    assert read_lines(lines) == ["eins\u2028a", "zwei\x0b\x85b"]
    assert read_lines(write(tmp_path / f"a.en{suffix}", b"one\r\ntwo")) == ["one", "two"]


def test_refuses_an_empty_file(tmp_path):
    with pytest.raises(ValueError, match=r"empty\.gz is empty; expected at least one line"):
        read_lines(write(tmp_path / "empty.gz", b""))


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_names_the_byte_that_is_not_utf8(tmp_path, suffix):
    path = write(tmp_path / f"latin{suffix}", "gut\nö Mä".encode() + b"\xe4rz\n")
    expected = r"latin(\.gz|\.xz)?:2: byte 6 of the line \(byte 10 of the text\) is 0xe4"
    with pytest.raises(ValueError, match=expected):
        read_lines(path)


def test_names_a_missing_file(tmp_path):
    with pytest.raises(ValueError, match=r"no file .*nowhere\.de"):
        read_lines(tmp_path / "nowhere.de")


@pytest.mark.parametrize("damage", ["plain", "cut", "changed"])
def test_refuses_a_broken_gzip_file(tmp_path, damage):
    whole = gzip.compress(b"a line\n" * 500)
    changed = whole[:12] + bytes([whole[12] ^ 255]) + whole[13:]
    data = {"plain": b"a line\n", "cut": whole[:-9], "changed": changed}[damage]
    path = tmp_path / "broken.gz"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"broken\.gz is not a whole gzip file"):
        read_lines(path)


@pytest.mark.parametrize(
    ("split", "stored"),
    [("train", "train"), ("valid", "val"), ("test", "test_2016_flickr"), ("extra", "extra")],
)
def test_finds_a_split_under_its_names(tmp_path, split, stored):
    source = write(tmp_path / f"{stored}.de.xz", b"1\n")
    target = write(tmp_path / f"{stored}.en", b"1\n")
    assert find_parallel(tmp_path, split, "de", "en") == (source, target)


def test_both_files_have_the_same_name(tmp_path):
    write(tmp_path / "valid.de", b"1\n")
    pair = write(tmp_path / "val.de", b"1\n"), write(tmp_path / "val.en", b"1\n")
    assert find_parallel(tmp_path, "valid", "de", "en") == pair


def test_says_what_it_looked_for_and_what_is_there(tmp_path):
    write(tmp_path / "dev.en", b"1\n")
    expected = r"looked for valid\.\{de,en\}\[\.gz\|\.xz\], val\..*, dev\..*; found dev\.en\."
    with pytest.raises(ValueError, match=expected):
        find_parallel(tmp_path, "valid", "de", "en")
    with pytest.raises(ValueError, match="no such directory"):
        find_parallel(tmp_path / "none", "valid", "de", "en")
