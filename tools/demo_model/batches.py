"""Training batches. Every step draws fresh scenes; batch i depends only on (seed, stream, i)."""

from dataclasses import dataclass, fields

import numpy as np
import torch
from PIL import Image

from model import MASK_SCALE, PATCH
from prompts import absent_prompt, click_beside, click_on, look_alikes, present_prompt
from scenes import SceneSettings, make_scene, mask_box
from tokenizer import TRAINING_CONTEXT
from vocabulary import COLOURS, EXEMPLAR_TEXT, SHAPES

OBJECTS = 8  # slots for objects of a picture
BOX_JITTER = 0.04  # spread of a box corner, as a part of the box's side (two standard deviations)
POINT_COUNTS = [1, 2, 3, 4, 5]  # points of a click prompt; one number for the whole batch
POINT_COUNT_PROBABILITIES = (0.22, 0.4, 0.2, 0.1, 0.08)
LOOSE = 0.15  # most that a box around a cut object is wider, as a part of its side, at each end
CUT_PROMPTS = 0.85  # part of the click prompts of a picture with a cut object that are about it
BESIDE_OBJECT, ON_OBJECT, BOX_CORNERS, NO_POINT = 0, 1, (2, 3), -10  # labels of points
TEXT_ONLY, CLS_ONLY, BOX_AND_CLS = 0, 1, 2  # values of TextPrompts.box_mode


@dataclass(frozen=True)
class Plan:
    """What a training batch of one process holds.

    size               side of the square model input, pixels
    images             pictures
    prompts            text prompts of a picture
    mask_images        last pictures, whose masks of the text branch are trained
    click_images       first pictures, which get click prompts
    click_mask_images  first ones of those, whose masks of the click branch are trained
    click_prompts      click prompts of a picture
    max_objects        objects of a picture
    aspect_spread      standard deviation of the logarithm of the aspect ratio
    cut                part of the pictures with an object that a gap cuts in two; its parts take the
                       two slots behind the objects, so max_objects is at most 6, and only clicks
                       may be trained
    point_odds         probabilities of 1 to 5 points of a click prompt
    """

    size: int
    images: int
    prompts: int = 0
    mask_images: int = 0
    click_images: int = 0
    click_mask_images: int = 0
    click_prompts: int = 0
    max_objects: int = OBJECTS
    aspect_spread: float = 0.3
    cut: float = 0.0
    point_odds: tuple = POINT_COUNT_PROBABILITIES


class _Tensors:
    """Fields that are filled as arrays and read as tensors."""

    def to_tensors(self):
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, np.ndarray):
                setattr(self, entry.name, torch.from_numpy(value))
        return self


@dataclass
class Scenes(_Tensors):
    """B pictures with O = 8 object slots.

    images u8 [B, S, S, 3]; coverage u8 [B, O, M, M], 255 where a mask pixel lies in the visible
    part; boxes f32 [B, O, 4], corners in 0..1; shape and colour i64 [B, O], -1 for a free slot."""

    images: np.ndarray
    coverage: np.ndarray
    boxes: np.ndarray
    shape: np.ndarray
    colour: np.ndarray

    @classmethod
    def empty(cls, plan):
        count, side = plan.images, MASK_SCALE * (plan.size // PATCH)
        return cls(
            images=np.zeros((count, plan.size, plan.size, 3), np.uint8),
            coverage=np.zeros((count, OBJECTS, side, side), np.uint8),
            boxes=np.zeros((count, OBJECTS, 4), np.float32),
            shape=np.full((count, OBJECTS), -1, np.int64),
            colour=np.full((count, OBJECTS), -1, np.int64),
        )

    def fill(self, b, scene):
        self.images[b] = scene.image
        for i, (item, mask) in enumerate(zip(scene.objects, scene.masks, strict=True)):
            self._cover(b, i, mask)
            self.boxes[b, i] = item.box
            self.shape[b, i] = SHAPES.index(item.shape)
            self.colour[b, i] = COLOURS.index(item.colour)
        if scene.cut is not None:
            for part, mask in enumerate(scene.parts):
                self._cover(b, len(scene.objects) + part, mask)

    def _cover(self, b, i, mask):
        side = self.coverage.shape[-1]
        whole = Image.fromarray(mask.astype(np.uint8) * 255)
        self.coverage[b, i] = np.asarray(whole.resize((side, side), Image.BOX))

    def pixels(self):
        """The pictures as model input f32 [B, 3, S, S] in -1..1, channels last in memory."""
        return self.images.permute(0, 3, 1, 2).float().div_(127.5).sub_(1)

    def soft_masks(self):
        """The coverage f32 [B, O, M, M] in 0..1."""
        return self.coverage.float() / 255


@dataclass
class Texts(_Tensors):
    """K text prompts of each picture: ids and attention i64 [B, K, L]; target bool [B, K, O], the
    objects that are named; box f32 [B, K, 4] and box_mode i64 [B, K] as in model.TextPrompts."""

    ids: np.ndarray
    attention: np.ndarray
    target: np.ndarray
    box: np.ndarray
    box_mode: np.ndarray

    @classmethod
    def empty(cls, plan):
        slots = (plan.images, plan.prompts)
        return cls(
            ids=np.zeros((*slots, TRAINING_CONTEXT), np.int64),
            attention=np.zeros((*slots, TRAINING_CONTEXT), np.int64),
            target=np.zeros((*slots, OBJECTS), bool),
            box=np.zeros((*slots, 4), np.float32),
            box_mode=np.zeros(slots, np.int64),
        )

    def fill(self, rng, at, scene, encode):
        """Draws prompt `at` = (picture, prompt); the first one of a picture names more often."""
        objects, u = scene.objects, rng.random()
        if u < 0.12:
            item = objects[int(rng.integers(len(objects)))]
            text, target = EXEMPLAR_TEXT, look_alikes(objects, item)
            self.box_mode[at], self.box[at] = BOX_AND_CLS, jittered_centre_box(rng, item.box)
        else:
            present = rng.random() < (0.75 if at[1] == 0 else 0.5)
            prompt = present_prompt(rng, objects) if present else absent_prompt(rng, objects)
            text, target = prompt.text, prompt.target
            if u < 0.2:
                self.box_mode[at] = CLS_ONLY
            elif u < 0.24 and target:
                box = np.float32(objects[int(rng.choice(target))].box)  # as the batch holds it
                self.box_mode[at], self.box[at] = BOX_AND_CLS, jittered_centre_box(rng, box)
        self.ids[at], self.attention[at] = encode(text, TRAINING_CONTEXT)
        self.target[at][target] = True


@dataclass
class Clicks(_Tensors):
    """P click prompts of n points for each of T pictures.

    points f32 [T, P, n, 2] in pixels of the model input; labels i64 [T, P, n]; item i64 [T, P], the
    object that is meant, -1 for a click beside all; free i64 [T, P], how many points are left to be
    set where the first answer is wrong; seed of these."""

    points: np.ndarray
    labels: np.ndarray
    item: np.ndarray
    free: np.ndarray
    seed: int = 0

    @classmethod
    def empty(cls, plan, points):
        slots = (plan.click_images, plan.click_prompts)
        return cls(
            points=np.zeros((*slots, points, 2), np.float32),
            labels=np.full((*slots, points), NO_POINT, np.int64),
            item=np.full(slots, -1, np.int64),
            free=np.zeros(slots, np.int64),
        )

    def fill(self, rng, at, scene):
        """Draws prompt `at` = (picture, prompt)."""
        if scene.cut is not None and rng.random() < CUT_PROMPTS:
            self._fill_cut(rng, at, scene)
            return
        if rng.random() < 0.1:
            beside = click_beside(rng, scene)
            if beside is not None:
                self.points[at][0], self.labels[at][0] = beside, ON_OBJECT
                return
        i = int(rng.integers(len(scene.objects)))
        self.item[at] = i
        slots = self.labels.shape[-1]
        if slots >= 2 and rng.random() < 0.65:
            box = jittered_box(rng, scene.objects[i].box) * scene.image.shape[0]
            self.points[at][:2] = box.reshape(2, 2)
            self.labels[at][:2] = BOX_CORNERS
            used = 2
        else:
            self.points[at][0], self.labels[at][0] = click_on(rng, scene.masks[i]), ON_OBJECT
            used = 1
        self.free[at] = 0 if rng.random() < 0.25 else slots - used

    def _fill_cut(self, rng, at, scene):
        """A prompt about the cut object: a click or a box, which mean the whole or one part, and
        often a negative click that leaves one part only."""
        slots = self.labels.shape[-1]
        part = int(rng.integers(2))
        mine, other = scene.parts[part], scene.parts[1 - part]
        is_box = slots >= 2 and rng.random() < 0.85
        used = 2 if is_box else 1
        is_negative = slots > used and rng.random() < 0.8
        is_part = is_negative or rng.random() < 0.4
        if is_box:
            around = mine if is_part and not is_negative else scene.masks[scene.cut]
            x0, y0, x1, y1 = jittered_box(rng, mask_box(around))
            loose = rng.uniform(0, LOOSE) * np.array([x0 - x1, y0 - y1, x1 - x0, y1 - y0])
            box = np.clip((x0, y0, x1, y1) + loose, 0, 1) * scene.image.shape[0]
            self.points[at][:2], self.labels[at][:2] = box.reshape(2, 2), BOX_CORNERS
        else:
            self.points[at][0], self.labels[at][0] = click_on(rng, mine), ON_OBJECT
        if is_negative:
            self.points[at][used], self.labels[at][used] = click_on(rng, other), BESIDE_OBJECT
            used += 1
        self.item[at] = len(scene.objects) + part if is_part else scene.cut
        self.free[at] = 0 if rng.random() < 0.6 else slots - used


@dataclass
class Batch:
    scenes: Scenes
    texts: Texts
    clicks: Clicks


def jittered_box(rng, box):
    """A corner box in 0..1 with its corners moved a little, [4]."""
    x0, y0, x1, y1 = box
    w, h = x1 - x0, y1 - y0
    offset = rng.normal(0, BOX_JITTER / 2, 4) * (w, h, w, h)
    return np.clip(np.array([x0, y0, x1, y1]) + offset, 0, 1)


def jittered_centre_box(rng, box):
    """The same as centre and size."""
    x0, y0, x1, y1 = jittered_box(rng, box)
    return (x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0


def draw_scene(rng, plan, photos, turn=np.pi):
    """A scene that fills the model input, squeezed as pictures of many aspect ratios would be."""
    aspect = float(np.exp(np.clip(rng.normal(0, plan.aspect_spread), -0.55, 0.55)))
    settings = SceneSettings(
        width=plan.size,
        height=plan.size,
        reference=plan.size,
        max_objects=plan.max_objects,
        photos=photos,
        aspect=aspect,
        turn=turn,
        cut=plan.cut,
    )
    return make_scene(rng, settings)


def draw_scenes(rng, plan, photos, turn):
    """Pictures without prompts; `turn` is the largest rotation of a shape in radians."""
    scenes = Scenes.empty(plan)
    for b in range(plan.images):
        scenes.fill(b, draw_scene(rng, plan, photos, turn))
    return scenes.to_tensors()


class BatchSource:
    """Draws batches. encode: text and length to ids and mask; photos: backgrounds or None."""

    def __init__(self, plan, encode, photos):
        self.plan, self.encode, self.photos = plan, encode, photos

    def draw(self, key):
        """The batch of a sequence of integers."""
        plan, rng = self.plan, np.random.default_rng(key)
        points = int(rng.choice(POINT_COUNTS, p=plan.point_odds))
        scenes, texts, clicks = Scenes.empty(plan), Texts.empty(plan), Clicks.empty(plan, points)
        for b in range(plan.images):
            scene = draw_scene(rng, plan, self.photos)
            scenes.fill(b, scene)
            for k in range(plan.prompts):
                texts.fill(rng, (b, k), scene, self.encode)
            if b < plan.click_images:
                for k in range(plan.click_prompts):
                    clicks.fill(rng, (b, k), scene)
        clicks.seed = int(rng.integers(1 << 30))
        return Batch(scenes.to_tensors(), texts.to_tensors(), clicks.to_tensors())
