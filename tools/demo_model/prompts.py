"""Prompts for a scene: phrases that name objects or nothing, clicks on objects or beside them.

A query is a dict with any of the keys shape, colour, size; the empty query fits every object."""

from dataclasses import dataclass, field

import numpy as np

from vocabulary import (
    COLOUR_WORDS,
    COLOURS,
    GENERIC_WORDS,
    HELD_OUT,
    SHAPE_WORDS,
    SHAPES,
    SIZE_WORDS,
    UNKNOWN_ADJECTIVES,
    UNKNOWN_NOUNS,
)

PATTERNS = [
    ("shape",),
    ("colour",),
    ("colour", "shape"),
    ("size", "shape"),
    ("size", "colour", "shape"),
    ("size",),
    ("size", "colour"),
    (),
]
PATTERN_PROBABILITIES = [0.21, 0.12, 0.33, 0.09, 0.08, 0.05, 0.03, 0.09]

ABSENT_KINDS = ["swap", "random", "unknown", "colour+unknown", "unknown+shape"]
ABSENT_PROBABILITIES = [0.52, 0.16, 0.18, 0.09, 0.05]
SWAP_PATTERNS = [
    ("colour", "shape"),
    ("size", "shape"),
    ("size", "colour", "shape"),
    ("shape",),
    ("colour",),
]
SWAP_PROBABILITIES = [0.55, 0.12, 0.09, 0.12, 0.12]


@dataclass
class Prompt:
    """A phrase, the indices of the objects that it names, and the kind of phrase for statistics."""

    text: str
    target: list = field(default_factory=list)
    kind: str = ""


def matches(item, query):
    return all(getattr(item, key) == value for key, value in query.items())


def matching(objects, query):
    """Indices of the objects that a query fits."""
    return [i for i, item in enumerate(objects) if matches(item, query)]


def phrase(rng, query):
    """Random words for a query."""
    plural = rng.random() < 0.4
    words = []
    if "size" in query:
        words.append(str(rng.choice(SIZE_WORDS[query["size"]])))
    if "colour" in query:
        words.append(str(rng.choice(COLOUR_WORDS[query["colour"]])))
    if "shape" in query:
        forms = SHAPE_WORDS[query["shape"]]
        words.append(forms[int(rng.integers(len(forms)))][plural])
    elif "colour" not in query or "size" in query or rng.random() < 0.5:
        words.append(GENERIC_WORDS[int(rng.integers(len(GENERIC_WORDS)))][plural])
    if plural:
        determiner = str(rng.choice(["", "all", "the", "all the"], p=[0.72, 0.06, 0.18, 0.04]))
    else:
        determiner = str(rng.choice(["", "a", "the"], p=[0.64, 0.22, 0.14]))
    if determiner == "a" and words[0][0] in "aeiou":
        determiner = "an"
    return " ".join(([determiner] if determiner else []) + words)


def _is_held_out(query):
    return (query.get("colour"), query.get("shape")) in HELD_OUT


def present_prompt(rng, objects):
    """A phrase that names at least one of the objects and no held-out pair."""
    for _ in range(40):
        item = objects[int(rng.integers(len(objects)))]
        pattern = PATTERNS[int(rng.choice(len(PATTERNS), p=PATTERN_PROBABILITIES))]
        if "size" in pattern and item.size == "medium":
            continue
        query = {key: getattr(item, key) for key in pattern}
        if not _is_held_out(query):
            break
    else:
        query = {}
    return Prompt(phrase(rng, query), matching(objects, query), "+".join(query) or "any")


def _swapped_query(rng, objects):
    """The query of an object with one attribute drawn anew, or None for a size without a word."""
    item = objects[int(rng.integers(len(objects)))]
    pattern = SWAP_PATTERNS[int(rng.choice(5, p=SWAP_PROBABILITIES))]
    query = {key: getattr(item, key) for key in pattern}
    key = str(rng.choice(list(pattern)))
    choices = {"shape": SHAPES, "colour": COLOURS, "size": ["small", "large"]}
    query[key] = str(rng.choice(choices[key]))
    return None if query.get("size") == "medium" else query


def _random_query(rng):
    query = {"shape": str(rng.choice(SHAPES))}
    if rng.random() < 0.6:
        query["colour"] = str(rng.choice(COLOURS))
    return query


def _unknown_phrase(rng, kind):
    noun = str(rng.choice(UNKNOWN_NOUNS))
    if rng.random() < 0.4:
        noun += "s"
    if kind == "colour+unknown":
        return f"{rng.choice(COLOURS)} {noun}"
    if kind == "unknown+shape":
        return f"{rng.choice(UNKNOWN_ADJECTIVES)} {rng.choice(SHAPES)}"
    text = noun if rng.random() < 0.7 else f"{rng.choice(['a', 'the'])} {noun}"
    if rng.random() < 0.25:
        text = f"{rng.choice(UNKNOWN_ADJECTIVES)} {text}"
    return text


def absent_prompt(rng, objects):
    """A phrase that names none of the objects: known words (kind "absent") or unknown ones."""
    kind = str(rng.choice(ABSENT_KINDS, p=ABSENT_PROBABILITIES))
    if kind in ("swap", "random"):
        for _ in range(60):
            query = _swapped_query(rng, objects) if kind == "swap" else _random_query(rng)
            if query is None or _is_held_out(query) or matching(objects, query):
                continue
            return Prompt(phrase(rng, query), [], "absent")
    return Prompt(_unknown_phrase(rng, kind), [], "unknown")


def look_alikes(objects, item):
    """Indices of the objects that an exemplar box around `item` stands for, itself included."""
    return matching(objects, {"shape": item.shape, "colour": item.colour})


def erode(mask):
    """The mask without the pixels that have one of the four neighbours outside it.

    Pixels beyond the picture's edge do not count as outside."""
    eroded = mask.copy()
    eroded[1:] &= mask[:-1]
    eroded[:-1] &= mask[1:]
    eroded[:, 1:] &= mask[:, :-1]
    eroded[:, :-1] &= mask[:, 1:]
    return eroded


def click_on(rng, mask):
    """(x, y) of a pixel of the mask, mostly away from its edge."""
    if rng.random() < 0.8:
        for _ in range(3):
            eroded = erode(mask)
            if not eroded.any():
                break
            mask = eroded
    ys, xs = np.nonzero(mask)
    i = int(rng.integers(len(ys)))
    return xs[i], ys[i]


def click_beside(rng, scene):
    """(x, y) of a pixel at least six pixels away from every object's box, or None."""
    height, width = scene.image.shape[:2]

    def is_near(x, y, box):
        x0, y0, x1, y1 = box
        return x0 * width - 6 < x < x1 * width + 6 and y0 * height - 6 < y < y1 * height + 6

    for _ in range(20):
        x, y = int(rng.integers(width)), int(rng.integers(height))
        if not any(is_near(x, y, item.box) for item in scene.objects):
            return x, y
    return None
