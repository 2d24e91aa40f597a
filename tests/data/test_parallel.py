import gzip
import lzma

import pytest

from zoo.data import find_parallel, read_lines, read_parallel


def write(path, data):
    compressed = {".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
    path.write_bytes(compressed(data))
    return path


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_reads_aligned_lines(tmp_path, suffix):
    source = write(tmp_path / f"a.de{suffix}", "eins\u2028a\nzwei\x0b\x85b\n".encode())
    target = write(tmp_path / f"a.en{suffix}", b"one\r\ntwo")
    assert read_parallel(source, target) == (["eins\u2028a", "zwei\x0b\x85b"], ["one", "two"])


def test_plain_and_gzip_mix_and_a_byte_order_mark_is_no_text(tmp_path):
    source = write(tmp_path / "a.de", b"\xef\xbb\xbfeins\n")
    target = write(tmp_path / "a.en.gz", b"one\n")
    assert read_parallel(source, target) == (["eins"], ["one"])


def test_counts_misaligned_lines(tmp_path):
    source, target = write(tmp_path / "a.de", b"1\n2\n3\n"), write(tmp_path / "a.en", b"1\n2\n")
    with pytest.raises(ValueError, match=r"not aligned: .*a\.de has 3 lines, .*a\.en has 2"):
        read_parallel(source, target)


@pytest.mark.parametrize("blank", [b"", b" \t", b"\r"])
def test_names_the_empty_line(tmp_path, blank):
    full = write(tmp_path / "full", b"1\n2\n3\n4\n")
    holes = write(tmp_path / "holes", b"1\n2\n" + blank + b"\n" + blank + b"\n")
    with pytest.raises(ValueError, match=r"holes:3: the target line is empty \(2 such"):
        read_parallel(full, holes)
    with pytest.raises(ValueError, match=r"holes:3: the source line is empty"):
        read_parallel(holes, full)


def test_refuses_empty_files(tmp_path):
    empty, full = write(tmp_path / "empty.gz", b""), write(tmp_path / "full", b"1\n")
    for pair in ((empty, empty), (full, empty)):
        with pytest.raises(ValueError, match=r"empty\.gz is empty; expected at least one line"):
            read_parallel(*pair)


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
