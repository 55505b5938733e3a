"""Drawn scenes: one to eight flat shapes on a background, with exact masks, boxes and attributes.

Shapes are signed distance functions with analytic antialiasing. So a scene is drawn straight into
the square model input for training, or at the size of a photograph for measuring and as an example.

    rng = numpy.random.default_rng(7)
    scene = make_scene(rng, SceneSettings(width=960, height=640))
"""

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageFilter

from backgrounds import draw_background
from shapes import draw_colour, signed_distance
from vocabulary import COLOURS, SHAPES, SIZE_PIXELS, SIZES

SIZE_PROBABILITIES = [0.38, 0.36, 0.26]
# An object shows at least this part of its own area.
LEAST_VISIBLE = 0.6
# A cut object: the gap as a part of its radius, and the least area of a part, source pixels.
GAP = (0.07, 0.35)
LEAST_PART = 150


@dataclass(frozen=True)
class SceneSettings:
    """What a scene looks like.

    width, height  size of the picture in pixels
    reference      side of the square model input, in whose pixels the size words are defined
    aspect         width / height of the imagined source picture. Where it differs from that of the
                   picture, the scene is drawn squeezed, as inference squeezes a picture into the
                   model's square. None: that of the picture
    turn           largest rotation of a shape, radians
    camera         whether noise, blur and JPEG marks are added
    cut            probability that one of the objects is cut in two by a gap
    """

    width: int = 336
    height: int = 336
    reference: int = 336
    max_objects: int = 8
    photos: list | None = None
    aspect: float | None = None
    turn: float = np.pi
    camera: bool = True
    cut: float = 0.0


@dataclass
class SceneObject:
    """Attributes of one object. Centre and radius are in source pixels: those of a picture that has
    the scene's aspect ratio and the area of the model input."""

    shape: str
    colour: str
    size: str
    centre: tuple
    radius: float
    rgb: np.ndarray
    turn: float
    area: int = 0  # output pixels, hidden ones included
    box: tuple = ()  # x0, y0, x1, y1 of the visible part in 0..1


@dataclass
class Scene:
    """image u8 [h, w, 3], masks bool [n, h, w] of the visible pixels, n objects; of a cut object
    its index and the two parts' masks bool [2, h, w]."""

    image: np.ndarray
    masks: np.ndarray
    objects: list
    cut: int | None = None
    parts: np.ndarray | None = None


@dataclass
class _Patch:
    """The part of the picture around an object: slices, x over the radius, distances in source
    pixels, coverage in 0..1, and which pixels are inside; arrays [rows, columns]."""

    rows: slice
    columns: slice
    x_ratio: np.ndarray
    distance: np.ndarray
    coverage: np.ndarray
    inside: np.ndarray


class _Drawing:
    """A picture that grows object by object; an object that does not fit is not drawn."""

    def __init__(self, rng, settings):
        self.settings = settings
        self.width, self.height = settings.width, settings.height
        aspect = self.width / self.height if settings.aspect is None else settings.aspect
        self.source_width = settings.reference * np.sqrt(aspect)
        self.source_height = settings.reference / np.sqrt(aspect)
        # Source pixels per output pixel, along x, along y and on average.
        self.step_x = self.source_width / self.width
        self.step_y = self.source_height / self.height
        self.step = np.sqrt(self.step_x * self.step_y)
        self.image = draw_background(rng, self.width, self.height, settings.photos)
        self.background = self.image.copy() if settings.cut else None
        self.objects, self.masks = [], []
        self.cut, self.parts = None, None

    def propose(self, rng, shapes, colours):
        """A random object that keeps its distance from those of a similar colour, or None."""
        shape, colour = str(rng.choice(shapes)), str(rng.choice(colours))
        size = str(rng.choice(SIZES, p=SIZE_PROBABILITIES))
        if shape == "hexagon" and size == "small":
            size = "medium"  # a tiny hexagon is a circle
        radius = rng.uniform(*SIZE_PIXELS[size]) / 2
        margin = 0.9 * radius
        cx = rng.uniform(margin, self.source_width - margin)
        cy = rng.uniform(margin, self.source_height - margin)
        nearest = 0.66 if rng.random() < 0.3 else 1.1
        distances = [
            np.hypot(cx - other.centre[0], cy - other.centre[1]) / (radius + other.radius)
            for other in self.objects
        ]
        if any(distance < nearest for distance in distances):
            return None
        rgb = draw_colour(rng, colour)
        for distance, other in zip(distances, self.objects, strict=True):
            if distance < 1.25 and np.linalg.norm(rgb - other.rgb) < 0.33:
                return None
        limit = self.settings.turn
        turn = rng.uniform(-limit, limit) if rng.random() < 0.75 else 0.0
        return SceneObject(shape, colour, size, (cx, cy), radius, rgb, turn)

    def rasterise(self, item):
        """The object's patch, or None where almost nothing of it lies in the picture."""
        (cx, cy), reach = item.centre, 1.25 * item.radius
        x0 = max(0, int((cx - reach) / self.step_x))
        x1 = min(self.width, int((cx + reach) / self.step_x) + 2)
        y0 = max(0, int((cy - reach) / self.step_y))
        y1 = min(self.height, int((cy + reach) / self.step_y) + 2)
        if x1 - x0 < 4 or y1 - y0 < 4:
            return None
        x = ((np.arange(x0, x1, dtype=np.float32) + 0.5) * self.step_x - cx)[None, :]
        y = ((np.arange(y0, y1, dtype=np.float32) + 0.5) * self.step_y - cy)[:, None]
        cos, sin = np.cos(item.turn, dtype=np.float32), np.sin(item.turn, dtype=np.float32)
        distance = signed_distance(
            item.shape, x * cos + y * sin, y * cos - x * sin, np.float32(item.radius)
        )
        coverage = np.clip(0.5 - distance / self.step, 0, 1)
        inside = coverage > 0.5
        if inside.sum() < 60 * (1 / self.step) ** 2:
            return None
        return _Patch(slice(y0, y1), slice(x0, x1), x / item.radius, distance, coverage, inside)

    def is_clear(self, item, patch):
        """Whether it stands out from its surroundings and leaves enough of what it covers."""
        under = self.image[patch.rows, patch.columns][patch.inside]
        if (np.linalg.norm(under - item.rgb, axis=1) < 0.24).mean() > 0.12:
            return False
        for other, mask in zip(self.objects, self.masks, strict=True):
            hidden = (mask[patch.rows, patch.columns] & patch.inside).sum()
            if hidden and (mask.sum() - hidden) < LEAST_VISIBLE * other.area:
                return False
        return True

    def paint(self, rng, item, patch):
        """Draws the object, sometimes shaded from left to right and with a darker rim."""
        colour = np.broadcast_to(item.rgb, patch.coverage.shape + (3,)).copy()
        if rng.random() < 0.3:
            slope = rng.uniform(-0.14, 0.14)
            colour = np.clip(colour + slope * patch.x_ratio[..., None], 0, 1)
        if rng.random() < 0.2:
            rim = np.clip(0.5 + (patch.distance / self.step + rng.uniform(1, 2.5)), 0, 1)
            colour = colour * (1 - 0.45 * rim[..., None])
        region = self.image[patch.rows, patch.columns]
        region += (colour - region) * patch.coverage[..., None]
        for mask in self.masks:
            mask[patch.rows, patch.columns] &= ~patch.inside
        mask = np.zeros((self.height, self.width), bool)
        mask[patch.rows, patch.columns] = patch.inside
        self.masks.append(mask)
        item.area = int(patch.inside.sum())
        self.objects.append(item)

    def fill(self, rng):
        """Draws up to a random number of objects; some scenes repeat few shapes and colours."""
        count = int(rng.integers(1, self.settings.max_objects + 1))
        similar = rng.random() < 0.35
        shapes = list(rng.choice(SHAPES, 2)) if similar else SHAPES
        colours = list(rng.choice(COLOURS, 3)) if similar else COLOURS
        for _ in range(count * 8):
            item = self.propose(rng, shapes, colours)
            patch = self.rasterise(item) if item else None
            if patch and self.is_clear(item, patch):
                self.paint(rng, item, patch)
            if len(self.objects) == count:
                break

    def cut_one(self, rng):
        """Shows the background through a straight gap across one of the objects."""
        at = int(rng.integers(len(self.objects)))
        item, mask = self.objects[at], self.masks[at]
        y, x = np.mgrid[: self.height, : self.width] + 0.5
        angle = rng.choice([0, np.pi / 2]) if rng.random() < 0.6 else rng.uniform(0, np.pi)
        across = (x * self.step_x - item.centre[0]) * np.cos(angle)
        across += (y * self.step_y - item.centre[1]) * np.sin(angle)
        across -= rng.uniform(-0.3, 0.3) * item.radius
        half = max(2.0, rng.uniform(*GAP) * item.radius) / 2
        parts = np.stack([mask & (across < -half), mask & (across > half)])
        if parts.sum((1, 2)).min() * self.step_x * self.step_y < LEAST_PART:
            return
        others = np.zeros_like(mask)
        for other in self.masks[:at] + self.masks[at + 1 :]:
            others |= other
        opaque = np.clip((half - np.abs(across)) / self.step + 0.5, 0, 1) * ~others
        rim = np.hypot(x * self.step_x - item.centre[0], y * self.step_y - item.centre[1])
        opaque = (opaque * (rim < 1.25 * item.radius))[..., None].astype(np.float32)
        self.image += (self.background - self.image) * opaque
        self.masks[at] = parts.any(0)
        self.cut, self.parts = at, parts

    def set_boxes(self):
        for item, mask in zip(self.objects, self.masks, strict=True):
            item.box = mask_box(mask)


def mask_box(mask):
    """x0, y0, x1, y1 in 0..1 around a mask that is not empty."""
    height, width = mask.shape
    columns, rows = np.flatnonzero(mask.any(0)), np.flatnonzero(mask.any(1))
    return (
        columns[0] / width,
        rows[0] / height,
        (columns[-1] + 1) / width,
        (rows[-1] + 1) / height,
    )


def make_scene(rng, settings):
    """Draws one scene; the same generator state and settings give the same scene."""
    drawing = _Drawing(rng, settings)
    drawing.fill(rng)
    while not drawing.objects:  # vanishingly rare
        drawing = _Drawing(rng, settings)
        drawing.fill(rng)
    if settings.cut and rng.random() < settings.cut:
        drawing.cut_one(rng)
    drawing.set_boxes()
    if settings.camera:
        image = add_camera_effects(rng, drawing.image)
    else:
        image = (drawing.image * 255 + 0.5).astype(np.uint8)
    return Scene(image, np.stack(drawing.masks), drawing.objects, drawing.cut, drawing.parts)


def add_camera_effects(rng, image):
    """Contrast, brightness, noise, blur and JPEG marks, each at times; float 0..1 to u8."""
    if rng.random() < 0.5:
        image = (image - 0.5) * rng.uniform(0.88, 1.1) + 0.5 + rng.uniform(-0.05, 0.05)
    if rng.random() < 0.4:
        image = image + rng.normal(0, rng.uniform(0.004, 0.03), image.shape).astype(np.float32)
    picture = Image.fromarray((np.clip(image, 0, 1) * 255 + 0.5).astype(np.uint8))
    if rng.random() < 0.3:
        picture = picture.filter(ImageFilter.GaussianBlur(float(rng.uniform(0.3, 1.0))))
    if rng.random() < 0.3:
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=int(rng.integers(55, 95)))
        picture = Image.open(buffer)
    return np.array(picture)
