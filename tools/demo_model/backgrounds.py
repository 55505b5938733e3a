"""Backgrounds of the scenes: plain, gradient, clouds, stripes, texture, photograph."""

import os
from dataclasses import dataclass

import numpy as np
from PIL import Image

from shapes import hsv_to_rgb

KINDS = ["plain", "gradient", "clouds", "stripes", "texture", "photo"]
KIND_PROBABILITIES = [0.2, 0.18, 0.2, 0.12, 0.15, 0.15]
SCRIBBLE_PROBABILITY = 0.15


def load_photos(folder):
    """The pictures of a folder as RGB, at most 800 pixels a side; other files are skipped."""
    photos = []
    for name in sorted(os.listdir(folder)):
        try:
            photo = Image.open(os.path.join(folder, name)).convert("RGB")
        except OSError:
            continue
        if min(photo.size) < 200:
            continue
        photo.thumbnail((800, 800))
        photos.append(photo)
    return photos


@dataclass
class _Ground:
    """Size in pixels, pixel coordinates f32 [h, w], two RGB colours f32 [3], photographs."""

    width: int
    height: int
    x: np.ndarray
    y: np.ndarray
    base: np.ndarray
    other: np.ndarray
    photos: list | None


def _noise(rng, ground, cells, channels=1):
    """Smooth noise float32 [h, w, channels], about 0..1, with `cells` cells on the longer side."""
    w, h = ground.width, ground.height
    rows = max(2, round(cells * h / max(w, h))) + 1
    columns = max(2, round(cells * w / max(w, h))) + 1
    grid = rng.random((rows, columns, channels)).astype(np.float32)
    layers = [
        np.asarray(Image.fromarray(grid[..., c]).resize((w, h), Image.BICUBIC))
        for c in range(channels)
    ]
    return np.stack(layers, -1)


def _plain(rng, ground):
    return np.broadcast_to(ground.base, (ground.height, ground.width, 3)).copy()


def _gradient(rng, ground):
    angle = rng.uniform(0, 2 * np.pi)
    t = np.cos(angle) * ground.x / ground.width + np.sin(angle) * ground.y / ground.height
    t = (t - t.min()) / (np.ptp(t) + 1e-6)
    return ground.base + (ground.other - ground.base) * t[..., None]


def _clouds(rng, ground):
    t = sum(_noise(rng, ground, cells) * k for cells, k in ((3, 0.5), (6, 0.3), (14, 0.2)))
    t = np.clip((t - 0.5) * rng.uniform(1, 2.5) + 0.5, 0, 1)
    return ground.base + (ground.other - ground.base) * t


def _stripes(rng, ground):
    angle = rng.uniform(0, np.pi)
    period = rng.uniform(0.03, 0.12) * max(ground.width, ground.height)
    wave = np.sin(2 * np.pi * (np.cos(angle) * ground.x + np.sin(angle) * ground.y) / period)
    t = np.clip(wave * rng.uniform(0.6, 4) * 0.5 + 0.5, 0, 1)[..., None]
    other = ground.base + (ground.other - ground.base) * rng.uniform(0.2, 0.7)
    return ground.base + (other - ground.base) * t


def _texture(rng, ground):
    cells = int(rng.uniform(20, 60))
    image = ground.base + (_noise(rng, ground, cells, 3) - 0.5) * rng.uniform(0.1, 0.45)
    return image + (_noise(rng, ground, 4) - 0.5) * rng.uniform(0, 0.4)


def _photo(rng, ground):
    photo = ground.photos[int(rng.integers(len(ground.photos)))]
    part = rng.uniform(0.35, 1)
    width, height = int(photo.width * part), int(photo.height * part)
    x0 = int(rng.uniform(0, photo.width - width + 1))
    y0 = int(rng.uniform(0, photo.height - height + 1))
    crop = photo.crop((x0, y0, x0 + width, y0 + height))
    crop = crop.resize((ground.width, ground.height), Image.BILINEAR)
    image = np.asarray(crop, np.float32) / 255
    if rng.random() < 0.5:
        image = image[:, ::-1]
    return 0.5 + (image - 0.5) * rng.uniform(0.4, 1)


_PAINTERS = {
    "plain": _plain,
    "gradient": _gradient,
    "clouds": _clouds,
    "stripes": _stripes,
    "texture": _texture,
    "photo": _photo,
}


def _add_scribbles(rng, image, ground):
    """Draws a few thin straight lines over the image."""
    w, h = ground.width, ground.height
    for _ in range(int(rng.integers(1, 5))):
        angle, offset = rng.uniform(0, np.pi), rng.uniform(0.1, 0.9)
        width = rng.uniform(0.5, 1.6) * max(w, h) / 336
        distance = np.abs(
            np.cos(angle) * (ground.x - offset * w) + np.sin(angle) * (ground.y - offset * h)
        )
        line = np.clip(width - distance, 0, 1)[..., None]
        colour = hsv_to_rgb(rng.uniform(0, 360), rng.uniform(0, 1), rng.uniform(0, 1))
        image = image + (colour - image) * line * rng.uniform(0.3, 0.9)
    return image


def _pale_colour(rng):
    """Any colour, weak ones more often."""
    u = rng.uniform
    return hsv_to_rgb(u(0, 360), u(0, 0.8) * u(0, 1), u(0.08, 1))


def draw_background(rng, width, height, photos=None):
    """A random background, RGB float32 [height, width, 3] in 0..1.

    Without photographs their share of the pictures gets clouds."""
    base, other = _pale_colour(rng), _pale_colour(rng)
    kind = rng.choice(KINDS, p=KIND_PROBABILITIES)
    if kind == "photo" and not photos:
        kind = "clouds"
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    ground = _Ground(width, height, x, y, base, other, photos)
    image = _PAINTERS[kind](rng, ground)
    if rng.random() < SCRIBBLE_PROBABILITY:
        image = _add_scribbles(rng, image, ground)
    return np.clip(image, 0, 1).astype(np.float32)
