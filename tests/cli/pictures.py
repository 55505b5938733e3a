"""Pictures and masks for the tests, with nothing but the standard library."""

import struct
import zlib
from itertools import accumulate

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}


def write_png(path, rows, channels=3):
    """An 8-bit PNG of rows (bytes); grey for one channel, RGB for three."""
    kind = {1: 0, 3: 2}[channels]
    header = struct.pack(">IIBBBBB", len(rows[0]) // channels, len(rows), 8, kind, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows), 6)
    with open(path, "wb") as file:
        file.write(_SIGNATURE)
        for name, body in ((b"IHDR", header), (b"IDAT", data), (b"IEND", b"")):
            checksum = struct.pack(">I", zlib.crc32(name + body))
            file.write(struct.pack(">I", len(body)) + name + body + checksum)
    return path


def read_png(path):
    """(width, height, channels, rows) of a PNG with eight bits a channel, not interlaced."""
    with open(path, "rb") as file:
        content = file.read()
    if not content.startswith(_SIGNATURE):
        raise ValueError(f"{path} is no PNG")
    offset, data, header = len(_SIGNATURE), b"", None
    while offset < len(content):
        length, name = struct.unpack_from(">I4s", content, offset)
        body = content[offset + 8 : offset + 8 + length]
        if struct.unpack_from(">I", content, offset + 8 + length)[0] != zlib.crc32(name + body):
            raise ValueError(f"{path}: the checksum of {name} is wrong")
        header = struct.unpack(">IIBBBBB", body) if name == b"IHDR" else header
        data += body if name == b"IDAT" else b""
        offset += 12 + length
    width, height, depth, kind, _, _, interlaced = header
    if depth != 8 or interlaced or kind not in _CHANNELS:
        raise ValueError(f"{path}: depth {depth}, colour type {kind}, interlaced {interlaced}")
    channels = _CHANNELS[kind]
    return width, height, channels, list(_unfiltered(zlib.decompress(data), width, channels))


def _unfiltered(data, width, channels):
    stride = width * channels
    before = bytes(stride)
    for start in range(0, len(data), stride + 1):
        row = data[start + 1 : start + 1 + stride]
        before = _unfilter(data[start], row, before, channels)
        yield before


def _unfilter(kind, row, above, step):
    if kind == 0:
        return row
    if kind == 1:
        result = bytearray(row)
        for channel in range(step):
            result[channel::step] = accumulate(row[channel::step], lambda a, b: (a + b) & 255)
        return bytes(result)
    if kind == 2:
        return bytes((a + b) & 255 for a, b in zip(row, above))
    result = bytearray(row)
    for i, value in enumerate(row):
        left = result[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        guess = (left + above[i]) // 2 if kind == 3 else _paeth(left, above[i], corner)
        result[i] = (value + guess) & 255
    return bytes(result)


def _paeth(left, above, corner):
    estimate = left + above - corner
    return min((left, above, corner), key=lambda value: abs(estimate - value))


def scene(size, *boxes, colour=(0, 0, 0)):
    """Rows of a white RGB picture with filled boxes x0, y0, x1, y1 (half-open)."""
    width, height = size
    rows = [bytearray(b"\xff" * (3 * width)) for _ in range(height)]
    for x0, y0, x1, y1 in boxes:
        for row in rows[y0:y1]:
            row[3 * x0 : 3 * x1] = bytes(colour) * (x1 - x0)
    return [bytes(row) for row in rows]


class Mask:
    """Rows of bytes, 0 or 255."""

    def __init__(self, rows):
        self.rows = rows
        self.width = len(rows[0])
        self.height = len(rows)

    @classmethod
    def load(cls, path):
        _, _, channels, rows = read_png(path)
        if channels != 1:
            raise ValueError(f"{path} has {channels} channels")
        if set().union(*rows) - {0, 255}:
            raise ValueError(f"{path} has other values than 0 and 255")
        return cls(rows)

    @classmethod
    def from_rle(cls, rle):
        """Of {"size": [height, width], "counts": compressed text}."""
        height, width = rle["size"]
        counts = coco_counts(rle["counts"])
        if sum(counts) != height * width:
            raise ValueError(f"{sum(counts)} pixels in the run lengths of {width}x{height}")
        columns = b"".join((b"\0", b"\xff")[i % 2] * count for i, count in enumerate(counts))
        return cls([columns[y::height] for y in range(height)])

    @property
    def size(self):
        return self.width, self.height

    @property
    def area(self):
        return sum(row.count(255) for row in self.rows)

    def at(self, x, y):
        return self.rows[y][x] == 255

    def area_in(self, box):
        x0, y0, x1, y1 = box
        return sum(row[x0:x1].count(255) for row in self.rows[y0:y1])

    def tight_box(self):
        filled = [y for y, row in enumerate(self.rows) if 255 in row]
        if not filled:
            return (0, 0, 0, 0)
        x0 = min(self.rows[y].index(255) for y in filled)
        x1 = max(self.rows[y].rindex(255) for y in filled) + 1
        return (x0, filled[0], x1, filled[-1] + 1)

    def iou_with_box(self, box):
        shared = self.area_in(box)
        x0, y0, x1, y1 = box
        return shared / (self.area + (x1 - x0) * (y1 - y0) - shared)

    def iou(self, other):
        bits = [int.from_bytes(b"".join(mask.rows), "big") for mask in (self, other)]
        both, either = (bin(n).count("1") for n in (bits[0] & bits[1], bits[0] | bits[1]))
        return both / either if either else 1.0


def coco_counts(text):
    """Run lengths from COCO's compressed text: six bits a character from '0' on, of which the
    highest says that more follow and, in the last one, the next is the sign; from the fourth on,
    a count is stored as its difference to the one two before."""
    counts = []
    offset = 0
    while offset < len(text):
        value = shift = 0
        more = True
        while more:
            bits = ord(text[offset]) - 48
            if not 0 <= bits < 64:
                raise ValueError(f"{text[offset]!r} in the counts")
            value |= (bits & 31) << shift
            more = bool(bits & 32)
            offset += 1
            shift += 5
            if not more and bits & 16:
                value -= 1 << shift
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
    return counts
