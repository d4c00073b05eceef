"""Random damage to files and folders, as by disks, networks, editors and attackers."""

import gzip
import io
import re
import zipfile
from pathlib import Path

import numpy as np

ABSURD = (
    b"0",
    b"-1",
    b"1e9",
    b"nan",
    b"inf",
    b"9223372036854775808",
    b"4294967295",
    b"1e400",
    b"",
    b"x",
)
WORDS = tuple(
    np.array(value, kind).tobytes()
    for kind, values in {
        "<i4": (0, -1, 2**31 - 1, 10**9), ">i4": (1, 2**31 - 1, 10**9), "<i8": (-1, 2**62, 2**33),
        ">i8": (2**62, 2**33), "<f8": (np.nan, np.inf, 1e308), "<f4": (np.nan, np.inf, 1e38),
        ">f4": (np.nan, np.inf),
    }.items()
    for value in values
)  # fmt: skip


def cut(content, rng):
    """Cut off the end."""
    near = rng.random() < 0.3
    return content[: len(content) - int(rng.integers(1, 30)) if near else rng.integers(len(content))]


def flip(content, rng):
    """Flip a few bits."""
    changed = bytearray(content)
    for place in _places(content, rng, int(rng.integers(1, 6))):
        changed[place] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def overwrite(content, rng):
    """Replace a part by noise."""
    start, end = _part(content, rng)
    return content[:start] + _noise(content, end - start, rng) + content[end:]


def zero(content, rng):
    """Replace a part by zeros."""
    start, end = _part(content, rng)
    return content[:start] + bytes(end - start) + content[end:]


def insert(content, rng):
    """Insert noise."""
    start, end = _part(content, rng)
    return content[:start] + _noise(content, end - start, rng) + content[start:]


def leave_out(content, rng):
    """Remove a part in the middle."""
    start, end = _part(content, rng)
    return content[:start] + content[end:]


def duplicate(content, rng):
    """Repeat a part."""
    start, end = _part(content, rng)
    return content[:end] + content[start:]


def swap(content, rng):
    """Swap two neighbouring parts."""
    start, end = _part(content, rng)
    more = min(len(content), 2 * end - start)
    return content[:start] + content[end:more] + content[start:end] + content[more:]


def word(content, rng):
    """Insert an absurd binary number."""
    value = WORDS[rng.integers(len(WORDS))]
    place = int(_places(content, rng, 1)[0]) // 4 * 4
    return content[:place] + value + content[place + len(value) :]


def number(content, rng):
    """Replace a number in the text, often in the header, by an absurd one."""
    found = list(re.finditer(rb"(?<![\w.])[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?", content[:200_000]))
    if not found:
        return word(content, rng)
    chosen = found[rng.integers(len(found) if rng.random() < 0.5 else min(len(found), 60))]
    return content[: chosen.start()] + ABSURD[rng.integers(len(ABSURD))] + content[chosen.end() :]


def line(content, rng):
    """Remove, repeat or move a line."""
    lines = content.split(b"\n")
    i, j = (int(k) for k in rng.integers(len(lines), size=2))
    match rng.integers(3):
        case 0:
            del lines[i]
        case 1:
            lines.insert(i, lines[j])
        case _:
            lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def inside(content, rng):
    """Damage the content of an archive, and compress it again."""
    if content[:2] == b"\x1f\x8b":
        return gzip.compress(damaged(gzip.decompress(content), rng)[0], mtime=0)
    if content[:2] != b"PK":
        return flip(content, rng)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    chosen = sorted(parts)[rng.integers(len(parts))]
    parts[chosen] = damaged(parts[chosen], rng)[0]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return buffer.getvalue()


PLAIN = (cut, flip, overwrite, zero, insert, leave_out, duplicate, swap, word, number, line)


def damaged(content, rng, ways=PLAIN):
    """Apply one to three kinds of damage; return the content and their names."""
    names = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if not content:
            break
        way = ways[rng.integers(len(ways))]
        content = way(content, rng)
        names.append(way.__name__)
    return content, names


def damage_file(path, rng, ways=PLAIN):
    """Damage a file; return the names of the damage."""
    content, names = damaged(path.read_bytes(), rng, ways)
    path.write_bytes(content)
    return names


def damage_folder(folder, rng, ways=PLAIN):
    """Damage or remove one of the files in a folder; return its name and the damage."""
    files = sorted(file for file in Path(folder).rglob("*") if file.is_file())
    file = files[rng.integers(len(files))]
    done = ["removed"]
    match rng.integers(10) if len(files) > 1 else 9:
        case 0:
            file.unlink()
        case 1:
            file.unlink()
            file.mkdir()
            done = ["made a folder"]
        case 2:
            other = files[rng.integers(len(files))]
            file.write_bytes(other.read_bytes())
            done = [f"replaced by {other.name}"]
        case _:
            done = damage_file(file, rng, ways)
    return [str(file.relative_to(folder)), *done]


def _places(content, rng, count):
    """Return random positions, half of the time near the beginning, where headers are."""
    most = len(content) if rng.random() < 0.5 else min(len(content), 1000)
    return rng.integers(most, size=count)


def _noise(content, size, rng):
    """Return random bytes, mostly taken from the content, so that text stays text."""
    if rng.random() < 0.3:
        return rng.bytes(size)
    return bytes(content[place] for place in rng.integers(len(content), size=size))


def _part(content, rng):
    """Return the ends of a short part, rarely of a long one."""
    start = int(_places(content, rng, 1)[0])
    longest = len(content) if rng.random() < 0.1 else 64
    return start, min(len(content), start + int(rng.integers(1, longest + 1)))
