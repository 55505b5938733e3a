#!/usr/bin/env python3
"""The members of the JSON documents, as docs/formats.md promises them."""

import os
import re
import unittest

from support import BLACK, SOURCE, ProgramTest, picture

HEAD = ["image", "width", "height", "model", "device", "timings"]


class SchemaTest(ProgramTest):
    def check_head(self, answer, image, stages):
        self.assertEqual(list(answer)[: len(HEAD)], HEAD)
        self.assertEqual(answer["image"], image)
        self.assertEqual((answer["width"], answer["height"]), (640, 480))
        self.assertEqual(answer["device"], "cpu")
        self.assertIn("demo", answer["model"])
        self.assertEqual(list(answer["timings"]), stages)
        for seconds in answer["timings"].values():
            self.assertTrue(0 <= seconds < 600)

    def check_detections(self, answer, members, more=()):
        self.assertIsInstance(answer["detections"], list)
        self.assertTrue(answer["detections"])
        for found in answer["detections"]:
            self.assertEqual(list(found), [*members, *[m for m in more if m in found]])
            self.check_scored(found)
            if "area" in found:
                self.assertIsInstance(found["area"], int)
                self.assertTrue(0 <= found["area"] <= 640 * 480)
            if "rle" in found:
                self.assertEqual(list(found["rle"]), ["size", "counts"])
                self.assertEqual(found["rle"]["size"], [480, 640])
                self.assertIsInstance(found["rle"]["counts"], str)

    def check_scored(self, found):
        self.assertIsInstance(found["prompt"], str)
        self.assertTrue(0 < found["score"] <= 1)
        x0, y0, x1, y1 = found["box"]
        self.assertTrue(0 <= x0 <= x1 <= 640 and 0 <= y0 <= y1 <= 480, found)

    def test_segment(self):
        base = picture("base.png")
        stages = ["read", "load", "encode", "detect", "write"]
        answer = self.segment(base, "black square", "shape").json
        self.assertEqual(list(answer), [*HEAD, "detections"])
        self.check_head(answer, base, stages)
        self.check_detections(answer, ["prompt", "score", "box", "area"])
        self.sam3("segment", base, "black square", "--json", "o.json", "--rle")
        answer = self.load("o.json")
        self.check_head(answer, base, stages)
        self.check_detections(answer, ["prompt", "score", "box", "area", "rle"])

    def test_detect(self):
        answer = self.sam3("detect", picture("base.png"), "black square").json
        self.assertEqual(list(answer), [*HEAD, "detections"])
        self.check_head(answer, picture("base.png"), ["read", "load", "encode", "detect"])
        self.check_detections(answer, ["prompt", "score", "box"])

    def test_classes(self):
        run = ("classes", "--classes", "black square", "black shape", "red circle", "--")
        answer = self.sam3(*run, picture("base.png")).json
        self.assertEqual(list(answer), [*HEAD, "detections"])
        self.check_head(answer, picture("base.png"), ["read", "encode", "detect", "write"])
        self.check_detections(answer, ["prompt", "score", "box", "area"], more=["merged"])
        merged = [other for found in answer["detections"] for other in found.get("merged", ())]
        self.assertTrue(merged)
        for one in merged:
            self.assertEqual(list(one), ["prompt", "score", "box"])
            self.check_scored(one)

    def test_points(self):
        run = ("points", picture("base.png"), "--point", "200,140", "--json")
        self.sam3(*run, "o.json")
        for answer in (self.sam3(*run, "-").json, self.load("o.json")):
            members = ["iou", "present", "object_score", "stability", "token", "area", "box"]
            self.assertEqual(list(answer), [*HEAD, *members])
            self.check_head(answer, picture("base.png"), ["read", "load", "encode", "decode"])
            self.assertIs(answer["present"], True)
            for name in ("object_score", "stability"):
                self.assertTrue(0 <= answer[name] <= 1, answer)
            self.assertEqual(answer["present"], answer["object_score"] > 0.5)
            self.assertIn(answer["token"], range(4))
            self.assertTrue(all(value == int(value) for value in answer["box"]))

    def test_failed_pictures_and_warnings(self):
        pictures = [picture("zero.jpg"), picture("gray12in16.png")]
        failed, warned = self.sam3("classes", "--classes", "dog", "--", *pictures, code=1).lines
        self.assertEqual(list(failed), ["image", "error"])
        self.assertTrue(failed["error"].startswith(picture("zero.jpg") + ": "))
        self.assertEqual(list(warned), [*HEAD, "detections", "warnings"])
        for command in (("segment", "--json", "-"), ("detect",)):
            answer = self.sam3(command[0], picture("gray12in16.png"), "dog", *command[1:]).json
            self.assertEqual(answer["warnings"], warned["warnings"])
        run = ("points", picture("gray12in16.png"), "--point", "200,140", "--json", "-")
        answer = self.sam3(*run).json
        self.assertEqual(list(answer)[-1], "warnings")
        self.assertEqual(answer["warnings"], warned["warnings"])

    def test_pixels(self):
        run = ("inspect", "pixels", picture("base.png"), "200,140")
        answer = self.sam3(*run, "--json").json
        self.assertEqual(answer, {"width": 640, "height": 480, "pixels": [list(BLACK)]})
        self.assertEqual(self.sam3(*run).text, "640x480\n200,140: 0 0 0\n")

    def test_model(self):
        answer = self.sam3("inspect", "model", "--json").json
        self.assertIn("demo", answer["name"])
        self.assertEqual(answer["family"], "five-graph")
        self.assertEqual(answer["workflows"], ["text", "point"])
        self.assertEqual(answer["problems"], [])
        self.assertEqual(len(answer["graphs"]), 5)
        page = self.sam3("inspect", "model").text
        for graph in answer["graphs"]:
            self.assertIn(f"\n{graph['name']}: ", page)

    def test_every_member_is_documented(self):
        with open(os.path.join(SOURCE, "docs", "formats.md"), encoding="utf-8") as file:
            page = file.read()
        documented = set(re.findall(r'"(\w+)"', page)) | set(re.findall(r"`(\w+)`", page))
        base = picture("base.png")
        documents = [
            self.segment(base, "black square", "--rle").json,
            self.sam3("classes", "--classes", "black square", "black shape", "--", base).json,
            self.sam3("points", base, "--point", "200,140", "--json", "-").json,
        ]

        def members(value):
            if isinstance(value, dict):
                return set(value).union(*map(members, value.values()))
            return set().union(*map(members, value)) if isinstance(value, list) else set()

        used = members(documents)
        self.assertGreater(len(used), 20)
        self.assertEqual(used - documented, set())


if __name__ == "__main__":
    unittest.main()
