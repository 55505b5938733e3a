#!/usr/bin/env python3
"""From detector outputs to detections: boxes, masks, the merge of classes, memory."""

import os
import unittest

from pictures import read_png, scene, write_png
from support import DISC, SQUARE, Mask, ProgramTest, box_iou, picture


class NothingFoundTest(ProgramTest):
    def test_all_outputs_are_there(self):
        outputs = ("--json", "o.json", "--out", "o.png", "--masks", "m")
        done = self.sam3("segment", picture("blank.png"), "elephant", *outputs)
        answer = self.load("o.json")
        self.assertEqual((answer["width"], answer["height"]), (640, 480))
        self.assertEqual(answer["image"], picture("blank.png"))
        self.assertEqual(answer["detections"], [])
        self.assertIn("0 detections", done.text)
        self.assertEqual(os.listdir(self.path("m")), [])
        self.assertEqual(read_png(self.path("o.png")), read_png(picture("blank.png")))

    def test_overlay_equals_any_input(self):
        self.sam3("segment", picture("ring.png"), "elephant", "--out", "o.png")
        self.assertEqual(read_png(self.path("o.png")), read_png(picture("ring.png")))

    def test_classes_keep_the_picture(self):
        done = self.sam3(
            "classes", "--classes", "elephant", "--out", "o", "--", picture("blank.png")
        )
        self.assertEqual(done.json["detections"], [])
        self.assertEqual(self.load("o", "blank.png.json")["detections"], [])
        self.assertEqual(read_png(self.path("o", "blank.png.overlay.png"))[:2], (640, 480))


class BoxAndMaskTest(ProgramTest):
    def check(self, path, size, expected):
        """Box, mask and area of each prompt's best detection agree with what is drawn there."""
        done = self.segment(path, *expected, "--masks", "m", "--rle")
        for prompt, box in expected.items():
            found = self.assert_found(done, prompt, box)
            mask = Mask.from_rle(found["rle"])
            self.assertEqual(mask.size, size)
            self.assertEqual(mask.area, found["area"])
            self.assert_box(mask.tight_box(), box, 0.7, done)
            self.assert_box(mask.tight_box(), found["box"], 0.6, done)
        return done

    def test_base_scene(self):
        done = self.check(
            picture("base.png"), (640, 480), {"black square": SQUARE, "red circle": DISC}
        )
        square, disc = (done.found(prompt)[0] for prompt in ("black square", "red circle"))
        self.assertAlmostEqual(square["area"] / (160 * 160), 1, delta=0.15)
        self.assertAlmostEqual(disc["area"] / 11310, 1, delta=0.15)

    def test_wide_and_tall_scenes(self):
        for size, box in (((1200, 500), (700, 100, 960, 330)), ((480, 640), (60, 120, 220, 280))):
            with self.subTest(size=size):
                path = write_png(self.path("scene.png"), scene(size, box))
                self.check(path, size, {"black shape": box})

    def test_columns_of_the_mask_keep_their_order(self):
        # Bits unpacked in the wrong order mirror every eight columns: a comb of the right area.
        done = self.segment(picture("base.png"), "black square", "--rle")
        mask = Mask.from_rle(self.assert_found(done, "black square", SQUARE)["rle"])
        for y in (100, 140, 180):
            row = mask.rows[y]
            self.assertEqual(row.count(b"\0\xff"), 1, "more than one run in a row of the square")
            self.assertLess(abs(row.index(255) - 120), 10)
            self.assertLess(abs(row.rindex(255) + 1 - 280), 10)

    def test_order_of_the_detections(self):
        prompts = ["black square", "red circle", "shape"]
        found = self.segment(picture("split.png"), *prompts, "--threshold", "0.1").found()
        order = [(prompts.index(d["prompt"]), -d["score"]) for d in found]
        self.assertEqual(order, sorted(order))
        self.assertGreater(len(found), 2)

    def test_threshold(self):
        every = self.segment(picture("base.png"), "black square", "--threshold", "0").found()
        for threshold in (0.1, 0.5, 0.9):
            with self.subTest(threshold=threshold):
                arguments = ("black square", "--threshold", str(threshold))
                kept = self.segment(picture("base.png"), *arguments).found()
                self.assertEqual(len(kept), sum(d["score"] > threshold for d in every))


class MergeTest(ProgramTest):
    SYNONYMS = ("black square", "black shape", "black thing")

    def ask(self, *classes, image="base.png", overlap=None):
        arguments = () if overlap is None else ("--overlap", str(overlap))
        done = self.sam3("classes", "--classes", *classes, *arguments, "--", picture(image))
        self.assertEqual(len(done.lines), 1)
        return done.json["detections"]

    def without_prompts(self, found):
        return [(d["score"], d["box"], d["area"]) for d in found]

    def test_synonyms_in_any_order(self):
        found = self.ask(*self.SYNONYMS)
        self.assertEqual(len(found), 1, found)
        self.assert_box(found[0]["box"], SQUARE)
        merged = found[0]["merged"]
        self.assertEqual({found[0]["prompt"], *(m["prompt"] for m in merged)}, set(self.SYNONYMS))
        for other in merged:
            self.assertLessEqual(other["score"], found[0]["score"])
            self.assert_box(other["box"], SQUARE)
        backwards = self.ask(*reversed(self.SYNONYMS))
        self.assertEqual(self.without_prompts(backwards), self.without_prompts(found))
        self.assertEqual(backwards[0]["prompt"], found[0]["prompt"])

    def test_limits_of_the_overlap(self):
        apart = self.ask("black square", "red circle", overlap=0)
        self.assertEqual({d["prompt"] for d in apart}, {"black square", "red circle"})
        self.assertFalse([d for d in apart if "merged" in d])
        kept = self.ask(*self.SYNONYMS, overlap=1)
        self.assertEqual({d["prompt"] for d in kept}, set(self.SYNONYMS), kept)
        self.assertEqual([-d["score"] for d in kept], sorted(-d["score"] for d in kept))

    def test_every_detection_is_kept_or_merged(self):
        classes = ("black square", "red circle", "shape", "black thing")
        alone = self.segment(picture("base.png"), *classes).found()
        together = self.ask(*classes)
        everything = together + [m for d in together for m in d.get("merged", ())]
        described = [
            sorted((d["prompt"], d["score"], d["box"]) for d in found)
            for found in (everything, alone)
        ]
        self.assertEqual(*described)
        for i, one in enumerate(together):
            for other in together[:i]:
                self.assertLess(box_iou(one["box"], other["box"]), 0.7)


class BigPictureMemoryTest(ProgramTest):
    """Masks are made one at a time, so many of them on a big picture cost little memory."""

    def test_peak(self):
        small = self.segment(picture("base.png"), "black square", "--rle")
        big = self.segment(picture("grid_8000.png"), "black square", "--threshold", "0", "--rle")
        self.assertEqual((big.json["width"], big.json["height"]), (8000, 6000))
        self.assertGreater(len(big.found()), 10)
        self.assertLess(big.peak_bytes - small.peak_bytes, 500e6)


if __name__ == "__main__":
    unittest.main()
