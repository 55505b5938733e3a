"""Makes the files of this folder: python make_fixtures.py GOLDEN, the folder with the reference
implementation's results.json, results_masks, detector_* and prompt_* files.

Needs numpy, safetensors and pycocotools.
"""
import json
import os
import sys

import numpy as np
from pycocotools import mask as coco
from safetensors.numpy import load_file, save_file

HERE = os.path.dirname(os.path.abspath(__file__))
TEXT_CASES = {"text_0": "detector_0", "text_1": "detector_1", "text_3": "detector_3"}
MAX_MASKS = 5  # results_masks holds the first five kept detections
POINT_CASES = ["click", "click_2", "click_neg_only", "clicks", "box", "box_clicks", "three_objects",
               "mask_click", "mask_only"]


def reference_masks(golden):
    """Low-resolution masks and what the reference made of them at picture size."""
    results = json.load(open(os.path.join(golden, "results.json")))
    packed = load_file(os.path.join(golden, "results_masks.safetensors"))
    out, info = {}, {"width": results["width"], "height": results["height"], "points": []}
    for case in results["text"]:
        name = case["case"]
        if name not in TEXT_CASES:
            continue
        tensors = load_file(os.path.join(golden, TEXT_CASES[name] + ".safetensors"))
        low = tensors["pred_masks"][0][case["kept"][:MAX_MASKS]]
        out[name + ".logits"] = np.ascontiguousarray(low)
        for order in ("big", "little"):
            out[f"{name}.bits_{order}"] = np.packbits(low > 0, axis=-1, bitorder=order)
        for reading in ("logits_bilinear", "bits_bilinear"):
            out[f"{name}.{reading}"] = packed[f"{name}.{reading}"]
    for case in results["points"]:
        name = case["case"]
        if name not in POINT_CASES or case["no_mem"]:
            continue
        tensors = load_file(os.path.join(golden, f"prompt_{name}.safetensors"))
        for i, expected in enumerate(case["objects"]):
            # Of the four masks only these two matter: token 0 decides, one is chosen.
            masks = tensors["pred_masks"][0, i]
            out[f"{name}.{i}.token_0"] = masks[0].copy()
            out[f"{name}.{i}.chosen"] = masks[expected["token"]].copy()
            out[f"{name}.{i}.ious"] = tensors["iou_scores"][0, i].copy()
            out[f"{name}.{i}.mask"] = packed[f"points_{name}"][i].copy()
            info["points"].append(dict(
                name=f"{name}.{i}", labels=case["labels"][i], mask_input=case["mask_input"],
                token=expected["token"], iou=expected["iou"], stability=expected["stability"]))
    save_file(out, os.path.join(HERE, "reference_masks.safetensors"), {"info": json.dumps(info)})


def coco_masks():
    """Masks of awkward sizes and shapes with the compressed counts that pycocotools makes."""
    rng = np.random.default_rng(7)
    masks = []
    for width, height in [(1, 1), (1, 9), (9, 1), (3, 2), (63, 5), (64, 7), (65, 66), (130, 70)]:
        y, x = np.mgrid[:height, :width]
        masks += [np.zeros((height, width)), np.ones((height, width)),
                  (x - width / 2) ** 2 + (y - height / 2) ** 2 < (height / 3) ** 2,
                  (x + y) % 2, y >= height / 2, x >= width / 2, (x == width - 1) & (y == height - 1),
                  rng.random((height, width)) < 0.5, rng.random((height, width)) < 0.03]
    # Counts of more than 20 bits, and falling ones.
    big = np.zeros((1100, 1300))
    big[:, 1000:1002] = 1
    big[600:603, 1200:] = 1
    masks.append(big)
    entries = []
    for mask in masks:
        mask = mask.astype(np.uint8)
        rle = coco.encode(np.asfortranarray(mask))
        entry = dict(width=mask.shape[1], height=mask.shape[0], counts=rle["counts"].decode(),
                     area=int(coco.area(rle)), iou_with_previous=None)
        if mask.size < 10000:
            entry["rows"] = ["".join(map(str, row)) for row in mask]
        if entries and entries[-1]["width"] == mask.shape[1] and entries[-1]["height"] == mask.shape[0]:
            entry["iou_with_previous"] = float(coco.iou([rle], [previous], [0])[0, 0])
        x, y, w, h = coco.toBbox(rle).tolist()
        entry["box"] = [x, y, x + w, y + h]
        entries.append(entry)
        previous = rle
    with open(os.path.join(HERE, "coco_masks.json"), "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(entry) for entry in entries) + "\n]\n")


reference_masks(sys.argv[1])
coco_masks()
