"""sam3 bench, and that rewrites change nothing but time."""

import json
import os
import unittest

from support import EXAMPLES, SOURCE, ProgramTest

PICTURE = os.path.join(EXAMPLES, "circles.jpg")
TINY = os.path.join(SOURCE, "tests", "data", "tiny")
CHECKPOINT = os.path.join(TINY, "checkpoint")
TINY_PICTURE = os.path.join(TINY, "io", "picture.png")
PIXELS = 421 * 317
STEPS = {"load", "encode", "first_prompt", "next_prompt", "next_boxes", "classes_20", "embed", "click"}


class BenchTest(ProgramTest):
    def test_compares_with_the_plain_engine(self):
        done = self.sam3("bench", "--runs", "1", "--baseline", "--profile", "--json", "-", "--quiet")
        document = json.loads(done.text)
        self.assertEqual(
            set(document["ratios"]),
            {"encode", "next_prompt", "next_boxes", "classes_20", "click", "memory"},
        )
        for name, ratio in document["ratios"].items():
            if name != "memory":
                self.assertAlmostEqual(
                    ratio,
                    document["plain"][name]["median_ms"] / document["sam3"][name]["median_ms"],
                )
        for side in ("sam3", "plain"):
            self.assertEqual(set(document[side]), STEPS | {"peak_bytes"})
            self.assertGreater(document[side]["peak_bytes"], 10_000_000)
        self.assertIn("Attention", document["profile"]["vision_encoder"])
        self.assertNotIn("Softmax", document["profile"]["vision_encoder"])
        self.assertLessEqual(
            {"detector_picture", "detector_phrase", "detector_objects", "detector_masks"},
            set(document["profile"]),
        )

    def test_prints_a_table(self):
        done = self.sam3("bench", "--runs", "1", "--image", PICTURE, "--quiet")
        for step in STEPS | {"memory"}:
            self.assertIn(step, done.text)
        self.assertNotIn("ratio", done.text)

    def test_wrong_usage(self):
        done = self.sam3("bench", "--baseline", "--rewrite", "plain", code=2)
        self.assertIn("--rewrite plain", done.err)
        self.assertIn("bogus", self.sam3("bench", "--rewrite", "bogus", code=2).err)


class RewriteTest(ProgramTest):
    """On float32 graphs, where only the order of sums differs: in int8 graphs such a difference
    can move a rounding, as any other processor does."""

    def answers(self, rewrite):
        self.sam3("segment", TINY_PICTURE, "dog", "plastic bottle", "--model", self.model,
                  "--rewrite", rewrite, "--json", "out.json", "--quiet")  # fmt: skip
        with open(self.path("out.json"), encoding="utf-8") as file:
            return json.load(file)["detections"]

    def test_the_answers_are_those_of_the_plain_engine(self):
        self.model = self.path("model")
        self.sam3("convert", CHECKPOINT, "-o", self.model, "--precision", "fp32", "--quiet")
        expected = self.answers("plain")
        self.assertGreater(len(expected), 10)
        for rewrite in ("none", "all", "-attention", "-kept-masks", "-detector-stages"):
            with self.subTest(rewrite=rewrite):
                found = self.answers(rewrite)
                self.assertEqual([one["prompt"] for one in found], [one["prompt"] for one in expected])
                for mine, theirs in zip(found, expected):
                    self.assertAlmostEqual(mine["score"], theirs["score"], delta=1e-3)
                    for a, b in zip(mine["box"], theirs["box"]):
                        self.assertAlmostEqual(a, b, delta=0.1)
                    self.assertAlmostEqual(mine["area"], theirs["area"], delta=0.001 * PIXELS)


if __name__ == "__main__":
    unittest.main()
