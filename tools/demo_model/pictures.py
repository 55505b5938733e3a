"""Draws the example pictures with their truth: python pictures.py FOLDER

For each picture NAME: NAME.labels.png (u8, 0 background, k the visible pixels of object k) and an
entry in truth.json: objects, and prompts with the objects that they name."""

import argparse
import json
import os
from dataclasses import dataclass

import numpy as np
from PIL import Image

from prompts import absent_prompt, erode, matches, matching, present_prompt
from scenes import SceneSettings, make_scene
from vocabulary import COLOUR_WORDS, SHAPE_WORDS, SIZE_WORDS

SCENE_SEED, PROMPT_SEED = 5150, 5151
LEAST_OBJECTS = 7
JPEG_QUALITY = 92
EXIF_ORIENTATION = 0x0112
NOTE = (
    "Coordinates are pixels of the picture as displayed (after EXIF rotation); box is x0, y0, x1,"
    " y1; the label map holds the visible pixels of object id; inside is a pixel well inside it."
)


@dataclass(frozen=True)
class Picture:
    """A picture to draw: file, displayed size, seed, queries of distinct objects that must be
    there, prompts to list besides the random ones, EXIF orientation of the file (1 or 6)."""

    file: str
    size: tuple
    seed: int
    wanted: list
    prompts: list
    orientation: int = 1


PICTURES = [
    Picture(
        "circles.jpg",
        (960, 640),
        11,
        [{"shape": "circle", "colour": "red"}, {"shape": "circle"}, {"shape": "circle"}],
        ["red circle", "circles"],
    ),
    Picture("triangles.png", (900, 600), 12, [{"shape": "triangle"}] * 3, ["triangles"]),
    Picture(
        "stars.jpg",
        (640, 960),
        13,
        [{"shape": "star", "colour": "blue", "size": "small"}, {"shape": "star"}],
        ["small blue star", "stars"],
    ),
    Picture(
        "rings.jpg",
        (1024, 576),
        14,
        [{"shape": "ring"}, {"shape": "ring"}, {"shape": "cross"}],
        ["rings", "cross"],
    ),
    Picture(
        "hearts.png",
        (800, 600),
        15,
        [{"shape": "heart"}, {"shape": "heart"}, {"colour": "pink"}],
        ["hearts", "pink"],
    ),
    Picture(
        "rotated.jpg",
        (640, 960),
        16,
        [{"shape": "square"}, {"shape": "square"}, {"shape": "hexagon"}],
        ["squares", "hexagon"],
        orientation=6,
    ),
]


def parse(text):
    """The query of a phrase made of known words."""
    meanings = {word: ("size", name) for name, words in SIZE_WORDS.items() for word in words}
    for colour, words in COLOUR_WORDS.items():
        meanings |= {word: ("colour", colour) for word in words}
    for shape, forms in SHAPE_WORDS.items():
        meanings |= {word: ("shape", shape) for form in forms for word in form}
    return dict(meanings[word] for word in text.split() if word in meanings)


def has_wanted(objects, wanted):
    """Whether each query finds an object of its own, taken in turn."""
    free = list(objects)
    for query in wanted:
        found = [item for item in free if matches(item, query)]
        if not found:
            return False
        free.remove(found[0])
    return True


def draw(picture):
    """The first scene of the picture's seed that holds what is wanted."""
    attempt = 0
    while True:
        rng = np.random.default_rng([SCENE_SEED, picture.seed, attempt])
        width, height = picture.size
        scene = make_scene(rng, SceneSettings(width, height, camera=False))
        if len(scene.objects) >= LEAST_OBJECTS and has_wanted(scene.objects, picture.wanted):
            return scene
        attempt += 1


def save_image(image, picture, path):
    if picture.orientation == 6:  # stored lying on its side, displayed upright
        exif = Image.Exif()
        exif[EXIF_ORIENTATION] = picture.orientation
        image.transpose(Image.ROTATE_90).save(path, quality=JPEG_QUALITY, exif=exif)
    elif path.endswith(".jpg"):
        image.save(path, quality=JPEG_QUALITY)
    else:
        image.save(path)


def inner_point(mask):
    """[x, y] of one of the pixels that are farthest from the mask's edge."""
    while True:
        eroded = erode(mask)
        if not eroded.any():
            ys, xs = np.nonzero(mask)
            return [int(xs[len(xs) // 2]), int(ys[len(ys) // 2])]
        mask = eroded


def describe_objects(scene, picture):
    scale = (*picture.size, *picture.size)
    return [
        {
            "id": i + 1,
            "shape": item.shape,
            "colour": item.colour,
            "size": item.size,
            "box": [round(float(value), 1) for value in np.array(item.box) * scale],
            "area": int(mask.sum()),
            "inside": inner_point(mask),
        }
        for i, (item, mask) in enumerate(zip(scene.objects, scene.masks, strict=True))
    ]


def describe_prompts(scene, picture):
    """The picture's own prompts, three that name something and two that name nothing."""
    rng = np.random.default_rng([PROMPT_SEED, picture.seed])
    targets = {text: matching(scene.objects, parse(text)) for text in picture.prompts}
    prompts = [present_prompt(rng, scene.objects) for _ in range(3)]
    prompts += [absent_prompt(rng, scene.objects) for _ in range(2)]
    for prompt in prompts:
        targets.setdefault(prompt.text, prompt.target)
    return [{"text": text, "objects": [i + 1 for i in hit]} for text, hit in targets.items()]


def write_pictures(folder):
    os.makedirs(folder, exist_ok=True)
    entries = []
    for picture in PICTURES:
        scene = draw(picture)
        save_image(Image.fromarray(scene.image), picture, os.path.join(folder, picture.file))
        labels = np.zeros(scene.image.shape[:2], np.uint8)
        for i, mask in enumerate(scene.masks):
            labels[mask] = i + 1
        labels_file = os.path.splitext(picture.file)[0] + ".labels.png"
        Image.fromarray(labels).save(os.path.join(folder, labels_file))
        entries.append(
            {
                "file": picture.file,
                "labels": labels_file,
                "width": picture.size[0],
                "height": picture.size[1],
                "exif_orientation": picture.orientation,
                "objects": describe_objects(scene, picture),
                "prompts": describe_prompts(scene, picture),
            }
        )
    with open(os.path.join(folder, "truth.json"), "w", encoding="utf-8") as file:
        json.dump({"note": NOTE, "pictures": entries}, file, indent=1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=" ".join(__doc__.split()))
    parser.add_argument("folder")
    write_pictures(parser.parse_args().folder)
