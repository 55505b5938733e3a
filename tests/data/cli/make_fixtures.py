#!/usr/bin/env python3
"""Makes the files of this folder; needs Pillow, NumPy and tokenizers."""

import json
import os

import numpy as np
from PIL import Image
from tokenizers import Tokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.dirname(HERE)
# What turns the upright picture into the stored one.
STORED = {
    1: None,
    2: Image.FLIP_LEFT_RIGHT,
    3: Image.ROTATE_180,
    4: Image.FLIP_TOP_BOTTOM,
    5: Image.TRANSPOSE,
    6: Image.ROTATE_90,
    7: Image.TRANSVERSE,
    8: Image.ROTATE_270,
}
TEXTS = ["très", "🍎", "塑料瓶", "пластик", "ボトル 3個", "👩‍🚀", "a\u00ad b", "plastic bottle"]
TEXTS += ["a_b 11p223RF!! no.7 ½ Ⅷ", "dog", "black square", "²³ n°5", "don't  stop", "Ünïcödé É"]
TEXTS += ["a\tb\nc", "日本語テキスト", "-lead --x", "1234567890"]
TEXTS += [" ".join(["dog"] * count) for count in (29, 30, 31)] + ["red apple " * 40]
END, LENGTH = 49407, 32


def picture(name):
    return Image.open(os.path.join(DATA, "pictures", name)).convert("RGB")


def write(name, lines, brackets):
    with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
        file.write(brackets[0] + "\n" + ",\n".join(lines) + "\n" + brackets[1] + "\n")


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def make_orientations():
    for orientation, change in STORED.items():
        stored = picture("base.png")
        stored = stored if change is None else stored.transpose(change)
        block = Image.Exif()
        block[274] = orientation
        path = os.path.join(HERE, f"exif_{orientation}.jpg")
        stored.save(path, quality=80, exif=block.tobytes(), subsampling=0)


def make_tokens():
    tokenizer = Tokenizer.from_file(os.path.join(DATA, "text", "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    lines = []
    for text in TEXTS:
        ids = tokenizer.encode(text).ids
        ids = ids if len(ids) <= LENGTH else ids[: LENGTH - 1] + [END]
        rest = LENGTH - len(ids)
        mask = [1] * len(ids) + [0] * rest
        lines.append(compact({"text": text, "ids": ids + [END] * rest, "mask": mask}))
    write("tokens.json", lines, "[]")


def make_resized():
    """x, y, red, green, blue at 120 places on edges and 40 others, by side of the result."""
    random = np.random.default_rng(1)
    lines = []
    for side in (336, 1008):
        pixels = np.asarray(picture("slant.png").resize((side, side), Image.BILINEAR))
        grey = (pixels[..., 0] > 20) & (pixels[..., 0] < 235)
        chosen = []
        for places, count in ((np.argwhere(grey), 120), (np.argwhere(~grey), 40)):
            chosen += list(places[random.choice(len(places), count, replace=False)])
        values = [[int(x), int(y), *map(int, pixels[y, x])] for y, x in chosen]
        lines.append(f' "{side}": {compact(values)}')
    write("slant_resized.json", lines, "{}")


if __name__ == "__main__":
    make_orientations()
    make_tokens()
    make_resized()
