#!/usr/bin/env python3
"""Makes the golden files of this folder, from reference implementations only.

    python make_goldens.py CGF1_EVAL.PY

needs pycocotools 2.0.11 (average precision, rasterised polygons), SciPy (the best assignment), tqdm
and Pillow, and sam3/eval/cgf1_eval.py of facebookresearch/sam3 at 99d02f28 (cgF1, pmF1, IL_MCC)."""

import contextlib
import copy
import importlib.util
import io
import json
import os
import sys

import numpy as np
from PIL import Image
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from scipy.optimize import linear_sum_assignment

HERE = os.path.dirname(os.path.abspath(__file__))
SCENES = os.path.join(HERE, os.pardir, "scenes")
THRESHOLD = 0.5  # of score, box IoU and mask IoU


def load_reference(path):
    spec = importlib.util.spec_from_file_location("cgf1_eval", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def quiet(function, *arguments):
    with contextlib.redirect_stdout(io.StringIO()):
        return function(*arguments)


# --- what COCO's evaluation says ---


def coco_of(truth):
    def build():
        coco = COCO()
        coco.dataset = copy.deepcopy(truth)
        coco.createIndex()
        return coco

    return quiet(build)


def average_precision(truth, results, kind):
    """The twelve numbers over all categories and over each."""

    def run(categories):
        truths = coco_of(truth)
        evaluation = COCOeval(truths, truths.loadRes(copy.deepcopy(results)), kind)
        if categories:
            evaluation.params.catIds = categories
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
        return [float(value) for value in evaluation.stats]

    identities = [category["id"] for category in truth["categories"]]
    return {
        "all": quiet(run, None),
        "categories": [quiet(run, [identity]) for identity in identities],
    }


def as_queries(truth, results):
    """Every picture with every category as a picture of its own, as SA-Co wants it."""
    if "text_input" in truth["images"][0]:
        return truth, results
    category_count = len(truth["categories"])
    rank = {category["id"]: i for i, category in enumerate(truth["categories"])}

    def place(entry):
        moved = copy.deepcopy(entry)
        moved["image_id"] = entry["image_id"] * category_count + rank[entry["category_id"]]
        moved["category_id"] = 1
        return moved

    images = []
    for image in truth["images"]:
        for i, category in enumerate(truth["categories"]):
            images.append(
                {
                    **image,
                    "id": image["id"] * category_count + i,
                    "text_input": category["name"],
                    "is_instance_exhaustive": 1,
                }
            )
    queries = {
        "images": images,
        "categories": [{"id": 1, "name": "object"}],
        "annotations": [place(annotation) for annotation in truth["annotations"]],
    }
    return queries, [place(result) for result in results if result["category_id"] in rank]


def sa_co(reference, truth, results, kind, folder):
    truth, results = as_queries(truth, results)
    truth_path, result_path = (os.path.join(folder, name) for name in ("truth.json", "results.json"))
    for path, document in ((truth_path, truth), (result_path, results)):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)

    def run():
        return reference.CGF1Evaluator(truth_path, iou_type=kind).evaluate(result_path)

    numbers = quiet(run)
    return {name.replace(f"cgF1_eval_{kind}_", ""): value for name, value in numbers.items()}


def matching(truth, results):
    """Matches with box and mask IoU of at least THRESHOLD: as many as can be, and then the largest
    sum of IoUs. Also for detections that choose one after the other by falling score."""
    truths = coco_of(truth)
    identities = [category["id"] for category in truth["categories"]]
    counts = []
    for identity in identities:
        entry = dict(detections=0, objects=0, matches=0, box_iou=0.0, mask_iou=0.0, greedy=0)
        for image in truth["images"]:
            here = (image["id"], identity)
            wanted = [a for a in truth["annotations"] if (a["image_id"], a["category_id"]) == here]
            wanted = [a for a in wanted if not a["iscrowd"]]
            found = [r for r in results if (r["image_id"], r["category_id"]) == here]
            found = [r for r in found if r["score"] >= THRESHOLD]
            entry["detections"] += len(found)
            entry["objects"] += len(wanted)
            if not found or not wanted:
                continue
            none = [0] * len(wanted)
            masks = [truths.annToRLE(a) for a in wanted]
            box = coco_mask.iou([r["bbox"] for r in found], [a["bbox"] for a in wanted], none)
            mask = coco_mask.iou([truths.annToRLE(r) for r in found], masks, none)
            possible = (box >= THRESHOLD) & (mask >= THRESHOLD)
            gains = np.where(possible, 1000 + box + mask, 0)
            for d, t in zip(*linear_sum_assignment(-gains)):
                if possible[d, t]:
                    entry["matches"] += 1
                    entry["box_iou"] += float(box[d, t])
                    entry["mask_iou"] += float(mask[d, t])
            free = np.ones(len(wanted), dtype=bool)
            for d in sorted(range(len(found)), key=lambda d: -found[d]["score"]):
                candidates = np.where(possible[d] & free, box[d] + mask[d], -1)
                if candidates.max() > 0:
                    free[candidates.argmax()] = False
                    entry["greedy"] += 1
        counts.append(entry)
    return counts


# --- cases ---


class Maker:
    """Random pictures, objects and results that are more or less right."""

    def __init__(self, seed, categories=3, images=5):
        self.random = np.random.default_rng(seed)
        self.truth = {
            "images": [],
            "categories": [
                {"id": 3 * i + 1, "name": f"thing {i}"} for i in range(categories)
            ],
            "annotations": [],
        }
        self.results = []
        # Not in the order of the ids, which decides between equal scores.
        for i in self.random.permutation(images):
            width, height = (int(side) for side in self.random.integers(150, 300, 2))
            self.truth["images"].append(
                {"id": int(i) + 10, "file_name": f"{i}.jpg", "width": width, "height": height}
            )

    def polygon(self, image):
        """A star-shaped outline, which may reach beyond the picture."""
        random = self.random
        centre = random.uniform((0, 0), (image["width"], image["height"]))
        radius = random.choice((8, 20, 50, 110)) * random.uniform(0.8, 1.2)
        corners = int(random.integers(3, 12))
        angles = np.sort(random.uniform(0, 2 * np.pi, corners))
        radii = radius * random.uniform(0.7, 1, corners)
        points = centre + np.stack((np.cos(angles), np.sin(angles)), 1) * radii[:, None]
        return [round(float(v), 2) for v in points.reshape(-1)]

    def segmentation(self, image, polygons):
        """The polygons, or their mask in one of the two other ways."""
        kind = self.random.integers(3)
        if kind == 0:
            return polygons
        rle = merged(polygons, image)
        return rle if kind == 1 else uncompressed(rle)

    def annotate(self, image, category, crowd=False):
        polygons = [self.polygon(image) for _ in range(int(self.random.integers(1, 3)))]
        rle = merged(polygons, image)
        if coco_mask.area(rle) == 0:
            return None
        annotation = {
            "id": len(self.truth["annotations"]) + 1,
            "image_id": image["id"],
            "category_id": category["id"],
            "iscrowd": int(crowd),
            "area": float(coco_mask.area(rle)),
            "bbox": [float(v) for v in coco_mask.toBbox(rle)],
            "segmentation": uncompressed(rle) if crowd else self.segmentation(image, polygons),
        }
        self.truth["annotations"].append(annotation)
        return rle

    def detect(self, image, category, rle, scores):
        """The object moved by some pixels, mostly with a high score; None: something where there
        is nothing."""
        score = self.random.choice(scores)
        if rle is not None:
            score = max(score, self.random.choice(scores))
        else:
            rle = merged([self.polygon(image)], image)
        pixels = coco_mask.decode(rle)
        step = int(self.random.choice((0, 1, 2, 5, 12)))
        pixels = np.roll(pixels, self.random.integers(-step, step + 1, 2), (0, 1))
        rle = coco_mask.encode(np.asfortranarray(pixels))
        box = coco_mask.toBbox(rle) + self.random.uniform(-0.5, 0.5, 4) * (step > 0)
        if min(box[2:]) <= 0:
            return
        self.results.append(
            {
                "image_id": image["id"],
                "category_id": category["id"],
                "score": float(score),
                "bbox": [round(float(v), 2) for v in box],
                "segmentation": text_of(rle),
            }
        )

    def fill(self, objects=4, noise=2, crowds=True, scores=np.linspace(0.05, 0.95, 19)):
        """Empty pictures, a category that is nowhere and one that is never found are among them."""
        images, categories = self.truth["images"], self.truth["categories"]
        for number, image in enumerate(images):
            if number == 1:
                continue
            for rank, category in enumerate(categories):
                if rank == 1 and number % 2:
                    continue
                masks = [
                    self.annotate(image, category) for _ in range(self.random.integers(objects + 1))
                ]
                if crowds and self.random.random() < 0.4:
                    masks.append(self.annotate(image, category, crowd=True))
                for mask in masks:
                    for _ in range(int(self.random.choice((0, 1, 1, 1, 2)))):
                        self.detect(image, category, mask, scores)
                for _ in range(int(self.random.integers(noise + 1))):
                    self.detect(image, category, None, scores)
        self.results = [self.results[i] for i in self.random.permutation(len(self.results))]
        return self


def merged(polygons, image):
    parts = coco_mask.frPyObjects(polygons, image["height"], image["width"])
    return text_of(coco_mask.merge(parts))


def text_of(rle):
    counts = rle["counts"]
    return {**rle, "counts": counts.decode("ascii") if isinstance(counts, bytes) else counts}


def uncompressed(rle):
    pixels = coco_mask.decode(rle).reshape(-1, order="F")
    edges = np.flatnonzero(np.diff(np.concatenate(([0], pixels, [1 - pixels[-1]]))))
    counts = np.diff(np.concatenate(([0], edges)))
    return {"size": rle["size"], "counts": [int(count) for count in counts]}


def small_case():
    """Squares, small enough to follow by hand."""
    maker = Maker(0, categories=2, images=2)
    for image in maker.truth["images"]:
        image["width"], image["height"] = 60, 40
    first, second = maker.truth["images"]
    square = {"size": [40, 60]}
    for image, category, x in ((first, 0, 5), (first, 0, 30), (second, 1, 5)):
        pixels = np.zeros((40, 60), dtype=np.uint8, order="F")
        pixels[5:25, x : x + 20] = 1
        square = text_of(coco_mask.encode(pixels))
        maker.truth["annotations"].append(
            {
                "id": len(maker.truth["annotations"]) + 1,
                "image_id": image["id"],
                "category_id": maker.truth["categories"][category]["id"],
                "iscrowd": 0,
                "area": 400.0,
                "bbox": [x, 5, 20, 20],
                "segmentation": [[x, 5, x, 25, x + 20, 25, x + 20, 5]],
            }
        )
        maker.results.append(
            {
                "image_id": image["id"],
                "category_id": maker.truth["categories"][category]["id"],
                "score": 0.9 - x / 100,
                "bbox": [x + 1, 5, 20, 20],
                "segmentation": square,
            }
        )
    return maker


def many_detections():
    """More than a hundred results of a picture and category."""
    maker = Maker(6, categories=1, images=2)
    image, category = maker.truth["images"][0], maker.truth["categories"][0]
    masks = [maker.annotate(image, category) for _ in range(5)]
    for i in range(130):
        maker.detect(image, category, masks[i % 5], np.linspace(0.1, 0.9, 5))
    return maker


def boxes_only(maker):
    for result in maker.results:
        del result["segmentation"]
    return maker


def masks_only(maker):
    for result in maker.results:
        del result["bbox"]
    return maker


def identity_zero(maker):
    for annotation in maker.truth["annotations"]:
        annotation["id"] -= 1
    return maker


def no_crowds(maker):
    maker.truth["annotations"] = [a for a in maker.truth["annotations"] if not a["iscrowd"]]
    return maker


def phrases(maker):
    """In the way of SA-Co: an entry for each picture and phrase, boxes of the truth in parts of the
    picture, one entry that is not exhaustive."""
    maker.truth, maker.results = as_queries(maker.truth, maker.results)
    maker.truth["images"][2]["is_instance_exhaustive"] = 0
    sizes = {image["id"]: (image["width"], image["height"]) for image in maker.truth["images"]}
    for annotation in maker.truth["annotations"]:
        width, height = sizes[annotation["image_id"]]
        x, y, w, h = annotation["bbox"]
        annotation["bbox"] = [x / width, y / height, w / width, h / height]
    return maker


def cases():
    coarse = np.array([0.3, 0.5, 0.7])
    return {
        "small": small_case(),
        "random_1": Maker(1).fill(),
        "random_2": Maker(2, categories=4, images=6).fill(),
        "ties": Maker(3).fill(scores=coarse),
        "crowds": Maker(4, categories=2, images=8).fill(objects=2, noise=3),
        "no_crowds": no_crowds(Maker(5).fill(crowds=False)),
        "many_detections": many_detections(),
        "boxes_only": boxes_only(Maker(7).fill()),
        "masks_only": masks_only(Maker(8).fill()),
        "identity_zero": identity_zero(Maker(9, categories=2).fill(objects=3)),
        "phrases": phrases(Maker(10, categories=2).fill()),
    }


def make_case(reference, maker, folder):
    truth, results = maker.truth, maker.results
    with_phrases = "text_input" in truth["images"][0]
    expected = {}
    for kind in ("bbox", "segm"):
        if with_phrases and kind == "bbox":
            continue
        expected[kind] = average_precision(truth, results, kind)
        expected[kind]["sa_co"] = sa_co(reference, truth, results, kind, folder)
    if all("bbox" in r and "segmentation" in r for r in results) and not with_phrases:
        expected["matching"] = matching(truth, results)
    return {"truth": truth, "results": results, "expected": expected}


def polygon_cases():
    """Outlines that are easily got wrong: on borders, beyond them, thin, crossing themselves."""
    random = np.random.default_rng(11)
    size = {"width": 30, "height": 20}
    lists = [
        [[0, 0, 30, 0, 30, 20, 0, 20]],
        [[-10, -10, 40, -10, 40, 30, -10, 30]],
        [[5, 5, 5, 6, 6, 6, 6, 5]],
        [[5.5, 5.5, 5.5, 6.5, 6.5, 6.5, 6.5, 5.5]],
        [[3, 3, 20, 3, 10, 3]],
        [[4, 1, 4, 15, 4, 8]],
        [[7, 7, 7, 7, 7, 7]],
        [[2, 2, 28, 18, 28, 2, 2, 18]],
        [[1, 1, 12, 1, 12, 12, 1, 12], [8, 8, 20, 8, 20, 18, 8, 18]],
        [[1, 1, 12, 1, 12, 12, 1, 12], [12, 1, 20, 1, 20, 12, 12, 12]],
        [[0.1, 0.1, 29.9, 10.3, 15.7, 19.9]],
        [[-5, 10, 15, -5, 35, 10, 15, 25]],
        [[100, 100, 120, 100, 110, 130]],
        [[2, 2, 2, 2, 18, 2, 18, 2, 18, 15, 2, 15]],
        [[2, 19.5, 10, 19.5, 10, 20, 2, 20]],
    ]
    sizes = [size] * len(lists) + [{"width": 1, "height": 9}, {"width": 9, "height": 1}]
    lists += [[[0, 1, 1, 1, 1, 7.4, 0, 7.4]], [[1, 0, 1, 1, 7.4, 1, 7.4, 0]]]
    for _ in range(60):
        corners = int(random.integers(3, 9))
        low, high = ((-8, -8), (38, 28)) if random.random() < 0.5 else ((0, 0), (30, 20))
        decimals = int(random.integers(0, 3))
        parts = [
            [round(float(v), decimals) for v in random.uniform(low, high, (corners, 2)).reshape(-1)]
            for _ in range(int(random.integers(1, 3)))
        ]
        lists.append(parts)
        sizes.append(size)
    return [
        {"size": [s["width"], s["height"]], "polygons": p, "counts": merged(p, s)["counts"]}
        for p, s in zip(lists, sizes)
    ]


# --- the demo model's scenes ---


def scene_truth(count=4):
    """Pictures of tests/data/scenes as an instance file whose categories are shapes, and one in the
    way of SA-Co."""
    with open(os.path.join(SCENES, "truth.json"), encoding="utf-8") as file:
        scenes = json.load(file)["pictures"][:count]
    shapes = sorted({thing["shape"] for scene in scenes for thing in scene["objects"]})
    coco = {"images": [], "categories": [], "annotations": []}
    coco["categories"] = [{"id": i + 1, "name": shape} for i, shape in enumerate(shapes)]
    queries = {"images": [], "categories": [{"id": 1, "name": "object"}], "annotations": []}
    for number, scene in enumerate(scenes):
        labels = np.asarray(Image.open(os.path.join(SCENES, scene["labels"])))
        image = {key: value for key, value in scene.items() if key in ("width", "height")}
        image["file_name"] = scene["file"]
        coco["images"].append({"id": number + 1, **image})
        things = {}
        for thing in scene["objects"]:
            rle = text_of(coco_mask.encode(np.asfortranarray(labels == thing["id"])))
            things[thing["id"]] = {
                "iscrowd": 0,
                "area": float(coco_mask.area(rle)),
                "bbox": [float(v) for v in coco_mask.toBbox(rle)],
                "segmentation": rle,
            }
            category = shapes.index(thing["shape"]) + 1
            add(coco, {**things[thing["id"]], "image_id": number + 1, "category_id": category})
        for prompt in scene["prompts"]:
            identity = len(queries["images"]) + 1
            entry = {"id": identity, **image, "text_input": prompt["text"]}
            queries["images"].append({**entry, "is_instance_exhaustive": 1})
            for thing in prompt["objects"]:
                add(queries, {**things[thing], "image_id": identity, "category_id": 1})
    return coco, queries


def add(document, annotation):
    document["annotations"].append({"id": len(document["annotations"]) + 1, **annotation})


def write(name, document):
    with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
        json.dump(document, file, separators=(",", ":"))
        file.write("\n")


def main():
    import tempfile

    reference = load_reference(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for name, maker in cases().items():
            write(f"{name}.case.json", make_case(reference, maker, folder))
    write("polygons.json", polygon_cases())
    coco, queries = scene_truth()
    write("scenes.json", coco)
    write("scenes_phrases.json", queries)


if __name__ == "__main__":
    main()
