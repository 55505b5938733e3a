"""Measures a checkpoint of the demo model on held-out scenes, by the stock classes of transformers.

    python evaluate.py --model CHECKPOINT --tokenizer DIR [--scenes 200] [--json FILE]

Pictures are drawn at their own size, squeezed into the model's square with Pillow's bilinear
filter, and answers are compared with the exact truth at the picture's size, by the rules of
inference:
  text    score = sigmoid(logit) * sigmoid(presence) > 0.5; mask bits (logit > 0) at mask
          resolution, enlarged bilinearly and cut at one half; boxes are corners in 0..1
  clicks  the candidate (tokens 1 to 3) with the highest predicted IoU; logits enlarged bilinearly
          and cut at zero
  boxes   token 0, or the best candidate where token 0 is unstable (multimask_output=False)
A detection counts when both its box and its mask have an IoU of at least 0.5 with the truth.
"""

import argparse
import collections
import json
import time
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from scipy.optimize import linear_sum_assignment
from transformers import CLIPTokenizer, Sam3Model, Sam3TrackerModel

from backgrounds import load_photos
from prompts import (
    Prompt,
    absent_prompt,
    click_beside,
    click_on,
    look_alikes,
    matching,
    phrase,
    present_prompt,
)
from scenes import SceneSettings, make_scene
from tokenizer import CONTEXT
from vocabulary import EXEMPLAR_TEXT, HELD_OUT

PICTURE_SIDE = 420  # square root of a picture's area, pixels
LEAST_IOU = 0.5
CLICKED_OBJECTS = 3  # of a scene
ON_OBJECT, BOX_CORNERS = 1, [2, 3]  # labels of points


def enlarge(masks, size):
    """[n, M, M] to [n, h, w], bilinearly."""
    return F.interpolate(masks[None].float(), size, mode="bilinear", align_corners=False)[0]


def mask_iou(a, b):
    union = (a | b).sum()
    return float((a & b).sum() / union) if union else 0.0


def box_iou(a, b):
    """Of corner boxes."""
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    shared = max(w, 0) * max(h, 0)
    area = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])
    return shared / (area - shared + 1e-9)


class Runner:
    """A checkpoint folder with its tokenizer."""

    def __init__(self, model, tokenizer):
        self.detector = Sam3Model.from_pretrained(model).eval()
        self.tracker = Sam3TrackerModel.from_pretrained(model).eval()
        self.tokenizer = CLIPTokenizer.from_pretrained(tokenizer)
        self.size = self.detector.config.image_size

    def pixels(self, image):
        """A picture u8 [h, w, 3] as model input [1, 3, S, S]."""
        square = Image.fromarray(image).resize((self.size, self.size), Image.BILINEAR)
        return torch.from_numpy(np.array(square)).permute(2, 0, 1)[None].float() / 127.5 - 1

    def detect(self, vision, question, size):
        """Boxes [n, 4], masks bool [n, h, w] and the presence score of a Question."""
        tokens = self.tokenizer(
            question.prompt.text,
            padding="max_length",
            max_length=CONTEXT,
            truncation=True,
            return_tensors="pt",
        )
        inputs = {key: tokens[key] for key in ("input_ids", "attention_mask")}
        if question.box is not None:
            inputs["input_boxes"] = torch.tensor([[question.box]], dtype=torch.float32)
            inputs["input_boxes_labels"] = torch.ones(1, 1, dtype=torch.long)
        out = self.detector(vision_embeds=vision, **inputs)
        presence = out.presence_logits.sigmoid()
        keep = out.pred_logits.sigmoid()[0] * presence[0] > 0.5
        masks = np.zeros((0, *size), bool)
        if keep.any():
            masks = (enlarge(out.pred_masks[0][keep] > 0, size) >= 0.5).numpy()
        return out.pred_boxes[0][keep].numpy(), masks, float(presence)


@dataclass
class Question:
    """A text prompt, the groups of statistics it counts in, and an exemplar box (centre and size in
    0..1) or None."""

    prompt: Prompt
    groups: list
    box: list | None = None


def _held_out_questions(rng, objects):
    """One about a pair that no training prompt named, where there is one; one about a random such
    pair, where it is absent."""
    questions = []
    there = [item for item in objects if (item.colour, item.shape) in HELD_OUT]
    if there:
        item = there[int(rng.integers(len(there)))]
        query = {"colour": item.colour, "shape": item.shape}
        prompt = Prompt(phrase(rng, query), matching(objects, query))
        questions.append(Question(prompt, ["held-out pairs", "held-out present"]))
    colour, shape = sorted(HELD_OUT)[int(rng.integers(len(HELD_OUT)))]
    query = {"colour": colour, "shape": shape}
    if not matching(objects, query):
        prompt = Prompt(phrase(rng, query))
        questions.append(Question(prompt, ["held-out pairs", "held-out absent"]))
    return questions


def draw_questions(rng, objects):
    """Three prompts that name something, two that name nothing, held-out pairs, an exemplar box."""
    questions = []
    for _ in range(3):
        prompt = present_prompt(rng, objects)
        questions.append(Question(prompt, ["ALL", "present", "kind " + prompt.kind]))
    for _ in range(2):
        prompt = absent_prompt(rng, objects)
        questions.append(Question(prompt, ["ALL", prompt.kind]))
    questions += _held_out_questions(rng, objects)
    item = objects[int(rng.integers(len(objects)))]
    x0, y0, x1, y1 = item.box
    prompt = Prompt(EXEMPLAR_TEXT, look_alikes(objects, item))
    box = [(x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0]
    return [*questions, Question(prompt, ["exemplar box"], box)]


class Tally:
    """Detections of many prompts against the truth."""

    def __init__(self):
        self.matches = collections.Counter()  # by "box", "mask" and "both"
        self.found = self.wanted = self.prompts = self.all_right = 0
        self.mask_ious, self.box_ious = [], []

    def add(self, boxes, masks, real_boxes, real_masks):
        shape = (len(boxes), len(real_boxes))
        box = np.array([[box_iou(a, b) for b in real_boxes] for a in boxes]).reshape(shape)
        mask = np.array([[mask_iou(a, b) for b in real_masks] for a in masks]).reshape(shape)
        box_ok, mask_ok = box >= LEAST_IOU, mask >= LEAST_IOU
        for name, ok in (("box", box_ok), ("mask", mask_ok), ("both", box_ok & mask_ok)):
            rows, columns = linear_sum_assignment(-(ok * (1 + mask)))
            pairs = [(i, j) for i, j in zip(rows, columns, strict=True) if ok[i, j]]
            self.matches[name] += len(pairs)
        self.mask_ious += [mask[pair] for pair in pairs]
        self.box_ious += [box[pair] for pair in pairs]
        self.found += shape[0]
        self.wanted += shape[1]
        self.prompts += 1
        self.all_right += shape[0] == len(pairs) == shape[1]

    def _f1(self, name):
        return round(2 * self.matches[name] / max(1, self.found + self.wanted), 4)

    def report(self):
        hits = self.matches["both"]
        return {
            "prompts": self.prompts,
            "objects": self.wanted,
            "f1": self._f1("both"),
            "f1_box": self._f1("box"),
            "f1_mask": self._f1("mask"),
            "tp": hits,
            "fp": self.found - hits,
            "fn": self.wanted - hits,
            "mask_iou": round(float(np.mean(self.mask_ious)) if hits else 0, 4),
            "box_iou": round(float(np.mean(self.box_ious)) if hits else 0, 4),
            "all_right": round(self.all_right / max(1, self.prompts), 4),
        }


class Clicker:
    """The click branch on one picture."""

    def __init__(self, run, pixels, size):
        self.tracker, self.size = run.tracker, size
        self.embeddings = run.tracker.get_image_embeddings(pixels)
        self.scale = np.array([run.size / size[1], run.size / size[0]])

    def point(self, x, y):
        """The centre of a pixel of the picture, in pixels of the model input."""
        return list((np.array([x, y]) + 0.5) * self.scale - 0.5)

    def answer(self, points, labels, several=False):
        """Masks bool [k, h, w] (three candidates or one), their predicted IoU, object logit."""
        out = self.tracker(
            multimask_output=several,
            image_embeddings=self.embeddings,
            input_points=torch.tensor(points, dtype=torch.float32)[None, None],
            input_labels=torch.tensor(labels)[None, None],
        )
        masks = [(enlarge(m[None], self.size)[0] > 0).numpy() for m in out.pred_masks[0, 0]]
        return masks, out.iou_scores[0, 0], float(out.object_score_logits.flatten()[0])

    def mask(self, points, labels):
        return self.answer(points, labels)[0][0]


class Evaluation:
    """Statistics over scenes."""

    def __init__(self, run):
        self.run = run
        self.text = collections.defaultdict(Tally)
        self.presence = []
        self.clicks = collections.defaultdict(list)

    def add_text(self, scene, pixels, questions):
        size = scene.image.shape[:2]
        boxes = [np.array(item.box) for item in scene.objects]
        vision = self.run.detector.get_vision_features(pixels)
        for question in questions:
            target = question.prompt.target
            found, masks, presence = self.run.detect(vision, question, size)
            real = [boxes[j] for j in target], [scene.masks[j] for j in target]
            for group in question.groups:
                self.text[group].add(found, masks, *real)
            if question.box is None:
                self.presence.append((presence > 0.5) == bool(target))

    def add_clicks(self, scene, pixels, rng):
        clicker = Clicker(self.run, pixels, scene.image.shape[:2])
        for j in rng.permutation(len(scene.objects))[:CLICKED_OBJECTS]:
            first = clicker.point(*click_on(rng, scene.masks[j]))
            self._add_single_click(clicker, scene.masks[j], first)
            self._add_corrections(clicker, scene.masks[j], first, rng)
            box = np.array(scene.objects[j].box).reshape(2, 2) * self.run.size
            self._add_box(clicker, scene.masks[j], (box, first), rng)
        beside = click_beside(rng, scene)
        if beside is not None:
            present = clicker.answer([clicker.point(*beside)], [ON_OBJECT], True)[2]
            self.clicks["object absent on background"].append(present <= 0)

    def _add_single_click(self, clicker, real, first):
        candidates, ious, present = clicker.answer([first], [ON_OBJECT], True)
        actual = [mask_iou(candidate, real) for candidate in candidates]
        chosen = actual[int(ious.argmax())]
        self.clicks["click, chosen of three"].append(chosen)
        self.clicks["click, best of three"].append(max(actual))
        self.clicks["predicted IoU error"].append(abs(float(ious.max()) - chosen))
        self.clicks["object present on object"].append(present > 0)
        single = mask_iou(clicker.mask([first], [ON_OBJECT]), real)
        self.clicks["click, single mask"].append(single)

    def _add_corrections(self, clicker, real, first, rng):
        points, labels = [first], [ON_OBJECT]
        candidates, ious, _ = clicker.answer(points, labels, True)
        mask = candidates[int(ious.argmax())]
        for _ in range(2):
            wrong = mask ^ real
            if not wrong.any():
                break
            ys, xs = np.nonzero(wrong)
            i = int(rng.integers(len(ys)))
            points.append(clicker.point(xs[i], ys[i]))
            labels.append(int(real[ys[i], xs[i]]))
            mask = clicker.mask(points, labels)
        self.clicks["three clicks (two corrective)"].append(mask_iou(mask, real))

    def _add_box(self, clicker, real, prompts, rng):
        box, first = prompts
        jittered = box + rng.normal(0, 0.04, (2, 2)) * (box[1] - box[0])
        exact = clicker.mask(box.tolist(), BOX_CORNERS)
        self.clicks["box"].append(mask_iou(exact, real))
        rough = clicker.mask(jittered.tolist(), BOX_CORNERS)
        self.clicks["box, 4 % jitter"].append(mask_iou(rough, real))
        both = clicker.mask([*jittered.tolist(), first], [*BOX_CORNERS, ON_OBJECT])
        self.clicks["jittered box + click"].append(mask_iou(both, real))

    def report(self):
        clicks = {
            name: {
                "mean": round(float(np.mean(values)), 4),
                "n": len(values),
                "minimum": round(float(np.min(values)), 3),
                "at_90": int((np.array(values, float) >= 0.9).sum()),
            }
            for name, values in self.clicks.items()
        }
        return {
            "text": {name: tally.report() for name, tally in sorted(self.text.items())},
            "presence_accuracy": round(float(np.mean(self.presence)), 4),
            "clicks": clicks,
        }


@torch.no_grad()
def evaluate(run, count, seed, photos=None):
    """Measures on `count` scenes, which depend on the seed alone."""
    evaluation = Evaluation(run)
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        root = np.sqrt(float(np.exp(rng.uniform(-0.45, 0.45))))
        size = (int(PICTURE_SIDE * root), int(PICTURE_SIDE / root))
        scene = make_scene(rng, SceneSettings(*size, reference=run.size, photos=photos))
        pixels = run.pixels(scene.image)
        evaluation.add_text(scene, pixels, draw_questions(rng, scene.objects))
        evaluation.add_clicks(scene, pixels, np.random.default_rng([seed, i, 1]))
    return evaluation.report()


def show(report):
    for name, row in report["text"].items():
        print(
            f"{name:28s} prompts {row['prompts']:4d}  F1 {row['f1']:.3f}"
            f" (box {row['f1_box']:.3f}, mask {row['f1_mask']:.3f})"
            f"  tp {row['tp']} fp {row['fp']} fn {row['fn']}  mask IoU {row['mask_iou']:.3f}"
            f"  box IoU {row['box_iou']:.3f}  prompts all right {row['all_right']:.3f}"
        )
    print("presence accuracy", report["presence_accuracy"])
    for name, row in report["clicks"].items():
        print(
            f"{name:32s} mean {row['mean']:.3f}  min {row['minimum']:.2f}"
            f"  >= 0.9: {row['at_90']}/{row['n']}"
        )


def main():
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--model", required=True, help="folder with config.json, model.safetensors")
    parser.add_argument("--tokenizer", required=True, help="folder with tokenizer.json")
    parser.add_argument("--scenes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=990001)
    parser.add_argument("--photos", help="folder of pictures for some of the backgrounds")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", help="file for the result")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    started = time.time()
    photos = load_photos(options.photos) if options.photos else None
    run = Runner(options.model, options.tokenizer)
    report = {"scenes": options.scenes, "seed": options.seed, "photos": bool(photos)}
    report |= evaluate(run, options.scenes, options.seed, photos)
    report["seconds"] = round(time.time() - started, 1)
    show(report)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
