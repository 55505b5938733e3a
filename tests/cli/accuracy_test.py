#!/usr/bin/env python3
"""The demo model on the drawn example pictures, against their truth."""

import json
import os
import unittest

from pictures import read_png
from support import EXAMPLES, Mask, ProgramTest, box_iou

MATCH = 0.5  # a box counts as found from this IoU on
LEAST_F1 = 0.85


def load_truth():
    with open(os.path.join(EXAMPLES, "truth.json"), encoding="utf-8") as file:
        return json.load(file)["pictures"]


def matches(found, expected):
    """How many of the expected boxes are found, each by another detection, best first."""
    left = list(expected)
    for detection in sorted(found, key=lambda d: -d["score"]):
        best = max(left, key=lambda box: box_iou(detection["box"], box), default=None)
        if best is not None and box_iou(detection["box"], best) >= MATCH:
            left.remove(best)
    return len(expected) - len(left)


class AccuracyTest(ProgramTest):
    def test_phrases(self):
        hits = found_count = expected_count = 0
        report = []
        for entry in load_truth():
            boxes = {thing["id"]: thing["box"] for thing in entry["objects"]}
            prompts = [prompt["text"] for prompt in entry["prompts"]]
            done = self.sam3("detect", os.path.join(EXAMPLES, entry["file"]), *prompts)
            size = (done.json["width"], done.json["height"])
            self.assertEqual(size, (entry["width"], entry["height"]))  # as displayed
            for prompt in entry["prompts"]:
                expected = [boxes[i] for i in prompt["objects"]]
                found = done.found(prompt["text"])
                hit = matches(found, expected)
                hits, found_count = hits + hit, found_count + len(found)
                expected_count += len(expected)
                if not hit == len(found) == len(expected):
                    counts = f"{hit} right of {len(found)} found, {len(expected)} drawn"
                    report.append(f"{entry['file']} '{prompt['text']}': {counts}")
        f1 = 2 * hits / (found_count + expected_count)
        print(f"F1 {f1:.3f} at IoU {MATCH} over {expected_count} objects")
        self.assertGreaterEqual(f1, LEAST_F1, "\n".join(report))

    def test_clicks(self):
        """A click inside a thing gives its visible pixels."""
        overlaps = []
        for entry in load_truth():
            _, _, channels, rows = read_png(os.path.join(EXAMPLES, entry["labels"]))
            self.assertEqual(channels, 1)
            thing = max(entry["objects"], key=lambda thing: thing["area"])
            wanted = bytes(255 if value == thing["id"] else 0 for value in range(256))
            drawn = Mask([row.translate(wanted) for row in rows])
            self.assertEqual(drawn.size, (entry["width"], entry["height"]))
            click = ",".join(map(str, thing["inside"]))
            _, mask = self.points(os.path.join(EXAMPLES, entry["file"]), "--point", click)
            self.assertEqual(mask.size, drawn.size)
            overlaps.append(round(mask.iou(drawn), 3))
        mean = sum(overlaps) / len(overlaps)
        print(f"mean IoU of clicks {mean:.3f}: {overlaps}")
        self.assertGreaterEqual(mean, 0.75, overlaps)


if __name__ == "__main__":
    unittest.main()
