#!/usr/bin/env python3
"""What is written: run lengths, names, numbers, streams, and where files go."""

import json
import os
import re
import shutil
import subprocess
import unittest

from pictures import coco_counts
from support import PICTURES, SQUARE, Mask, ProgramTest, environment, picture, program

BATCH = os.path.join(PICTURES, "batch")
# Bytes, since one of them is in Latin-1.
BATCH_NAMES = sorted(n for n in os.listdir(os.fsencode(BATCH)) if n.endswith((b".jpg", b".JPG")))


class RunLengthsTest(ProgramTest):
    def test_decoder_of_these_tests(self):
        with open(os.path.join(os.path.dirname(PICTURES), "mask", "coco_masks.json")) as file:
            for case in json.load(file):
                rle = {"size": [case["height"], case["width"]], "counts": case["counts"]}
                mask = Mask.from_rle(rle)
                self.assertEqual(mask.area, case["area"])
                if "rows" in case:
                    rows = ["".join("1" if v else "0" for v in row) for row in mask.rows]
                    self.assertEqual(rows, case["rows"])

    def test_same_as_the_masks(self):
        prompts = ("black square", "red circle", "shape")
        done = self.segment(
            picture("base.png"), *prompts, "--threshold", "0.05", "--rle", "--masks", "m"
        )
        masks = {name: Mask.load(self.path("m", name)) for name in os.listdir(self.path("m"))}
        self.assertGreater(len(masks), 2)
        self.assertEqual(len(masks), len(done.found()))
        counted = {prompt: 0 for prompt in prompts}
        for found in done.found():
            counted[found["prompt"]] += 1
            self.assertEqual(found["rle"]["size"], [480, 640])
            self.assertEqual(sum(coco_counts(found["rle"]["counts"])), 480 * 640)
            words = found["prompt"].replace(" ", ".")
            number = counted[found["prompt"]]
            names = [n for n in masks if re.fullmatch(rf"base\.png_{words}_{number}\.png", n)]
            self.assertEqual(len(names), 1, masks.keys())
            mask = masks[names[0]]
            self.assertEqual(Mask.from_rle(found["rle"]).rows, mask.rows)
            self.assertEqual(mask.area, found["area"])

    def test_of_a_click(self):
        answer, mask = self.points(picture("base.png"), "--point", "200,140", "--rle")
        self.assertEqual(answer["rle"]["size"], [480, 640])
        self.assertEqual(Mask.from_rle(answer["rle"]).rows, mask.rows)


class NamesTest(ProgramTest):
    def test_awkward_names_in_json(self):
        arguments = ("classes", "--classes", "dog", "--json", "o.json", "--")
        names = [os.fsdecode(os.path.join(b"batch", name)) for name in BATCH_NAMES]
        os.symlink(BATCH, self.path("batch"))
        self.assertGreater(len(names), 9)
        self.sam3(*arguments, *names, code=1)  # bad.jpg and zero.jpg
        entries = self.load("o.json")
        self.assertEqual(len(entries), len(names))
        for name, entry in zip(names, entries):
            with self.subTest(name=name):
                bytes_of_name = os.fsencode(name)
                try:
                    self.assertEqual(entry["image"], bytes_of_name.decode("utf-8"))
                    self.assertNotIn("image_bytes", entry)
                except UnicodeDecodeError:
                    self.assertIn("\ufffd", entry["image"])
                    self.assertEqual(unquote(entry["image_bytes"]), bytes_of_name)

    def test_latin1_name_alone(self):
        (name,) = [n for n in BATCH_NAMES if n.startswith(b"latin1")]
        path = os.path.join(os.fsencode(BATCH), name)
        done = self.segment(os.fsdecode(path), "dog", "--masks", "m", "--out", "o.png")
        self.assertEqual(unquote(done.json["image_bytes"]), path)
        self.assertRegex(done.json["image_bytes"], r"latin1-%E9\.jpg$")

    def test_inputs_of_one_base_name(self):
        pictures = [
            os.path.join(BATCH, *name) for name in (("a.jpg",), ("a.png",), ("sub", "a.jpg"))
        ]
        self.sam3("classes", "--classes", "black square", "--out", "o", "--", *pictures)
        files = self.files("o")
        for ending in (".json", ".overlay.png", "_black.square_1.png"):
            found = [
                f for f in files if re.search(re.escape(ending).replace(r"black\.", "black."), f)
            ]
            self.assertEqual(len(found), 3, files)
        self.assertEqual(len(files), 9, files)
        self.assertEqual(self.files("."), sorted(os.path.join("o", f) for f in files))
        self.assertIn("a.jpg.json", files)
        self.assertIn(os.path.join("sub", "a.jpg.json"), files)
        images = {self.load("o", f)["image"] for f in files if f.endswith(".json")}
        self.assertEqual(images, set(pictures))

    def test_the_same_picture_twice(self):
        self.sam3("classes", "--classes", "dog", "--out", "o", "--", *[picture("base.png")] * 2)
        self.assertEqual(len([f for f in self.files("o") if f.endswith(".json")]), 2)

    def test_prompts_with_awkward_letters(self):
        prompts = (
            "black square",
            "black/square",
            "Black Square",
            "../black square",
            "/black square",
        )
        prompts += ("black\nsquare", "black square ", "%s black square", "black:square*?")
        done = self.segment(picture("base.png"), *prompts, "--threshold", "0", "--masks", "m")
        files = self.files(".")
        self.assertEqual(len(files), len(done.found()))
        self.assertGreaterEqual(len({found["prompt"] for found in done.found()}), 5)
        for name in files:
            self.assertRegex(name, r"^m/[^/\\:*?\"<>|\x00-\x1f]+\.png$")
        self.assertEqual(len({name.lower() for name in files}), len(files))
        names = [name for name in os.listdir(os.path.dirname(self.folder)) if "black" in name]
        self.assertEqual(names, [])

    def files(self, folder):
        """All files below a folder of the test, relative to it."""
        root = self.path(folder)
        found = []
        for base, _, names in os.walk(root):
            found += [os.path.relpath(os.path.join(base, name), root) for name in names]
        return sorted(found)

    def test_endings_decide_and_others_are_refused(self):
        starts = {"o.png": b"\x89PNG", "o.JPEG": b"\xff\xd8", "o.webp": b"RIFF"}
        for name, start in starts.items():
            with self.subTest(name=name):
                self.sam3("segment", picture("base.png"), "dog", "--out", name)
                self.assertTrue(self.read(name).startswith(start))
        for option, name in (
            ("--out", "m.xyz"),
            ("--out", "m"),
            ("--json", "m.txt"),
            ("--out", "."),
        ):
            for command in (("segment", picture("base.png"), "dog"),) + (
                ("points", picture("base.png"), "--point", "9,9"),
            ):
                with self.subTest(name=name, command=command[0]):
                    done = self.sam3(*command, option, name, code=2)
                    self.assert_refused(done, name)
        done = self.sam3("points", picture("base.png"), "--point", "9,9", "--out", "m.jpg", code=2)
        self.assert_refused(done, "m.jpg", ".png")
        self.assertEqual(sorted(self.files(".")), sorted(starts))

    def test_the_input_is_not_overwritten(self):
        copy = self.path("scene.png")
        shutil.copy(picture("base.png"), copy)
        os.symlink(copy, self.path("link.png"))
        for target in ("scene.png", "./scene.png", "link.png"):
            for command in (("segment", "scene.png", "dog"), ("points", copy, "--point", "9,9")):
                with self.subTest(target=target, command=command[0]):
                    done = self.sam3(*command, "--out", target, code=2)
                    self.assert_refused(done, target, "overwrite")
        with open(picture("base.png"), "rb") as file:
            self.assertEqual(self.read("scene.png"), file.read())

    def test_folders_that_are_not_there(self):
        done = self.sam3("segment", picture("base.png"), "dog", "--json", "no/o.json", code=None)
        self.assert_refused(done, "no")
        self.write("file", "")
        done = self.sam3("segment", picture("base.png"), "dog", "--masks", "file/m", code=None)
        self.assert_refused(done, "file/m")
        done = self.sam3(
            "classes",
            "--classes",
            "dog",
            "--json",
            "no/o.json",
            "--",
            picture("base.png"),
            code=None,
        )
        self.assert_refused(done, "no")


def unquote(text):
    """Bytes of percent-encoded text."""
    parts = re.split(r"%([0-9A-F]{2})", text)
    return b"".join(
        bytes.fromhex(part) if i % 2 else part.encode("ascii") for i, part in enumerate(parts)
    )


class LocaleTest(ProgramTest):
    """A system with a decimal comma changes nothing."""

    def variables(self):
        known = subprocess.run(["locale", "-a"], stdout=subprocess.PIPE, check=True).stdout.lower()
        if b"de_de.utf8" in known:
            return {"LC_ALL": "de_DE.UTF-8"}
        made = self.path("locales", "de_DE.UTF-8")
        os.makedirs(os.path.dirname(made))
        # Exit code 1: it was made, with warnings.
        done = subprocess.run(
            ["localedef", "-i", "de_DE", "-f", "UTF-8", made],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self.assertTrue(os.path.exists(os.path.join(made, "LC_NUMERIC")), done.stderr)
        return {"LC_ALL": "de_DE.UTF-8", "LOCPATH": os.path.dirname(made)}

    def test_numbers(self):
        german = self.variables()
        comma = subprocess.run(
            ["locale", "decimal_point"], env=environment(german), stdout=subprocess.PIPE
        ).stdout
        self.assertEqual(comma, b",\n", "the locale does not work")
        arguments = (picture("base.png"), "black square", "--threshold", "0.25")
        plain, other = (
            [(d["score"], d["box"]) for d in self.segment(*arguments, env=env).found()]
            for env in ({"LC_ALL": "C"}, german)
        )
        self.assertTrue(plain)
        self.assertEqual(other, plain)
        answer, _ = self.points(picture("base.png"), "--point", "200.5,140.5", env=german)
        self.assert_box(answer["box"], SQUARE, 0.8)
        done = self.sam3("points", picture("base.png"), "--point", "200.5,140.5", env=german)
        self.assertRegex(done.text, r"predicted IoU [01]\.\d{3}, \d+ pixels")
        done = self.sam3("inspect", "pixels", picture("rgb.tif"), "9.5,9.5", env=german)
        self.assertIn("640x480\n", done.text)
        done = self.sam3("options", env=german)
        self.assertIn("`0.5`", done.text)

    def test_digits(self):
        """Up to six significant digits for scores and times, two decimals for places."""
        texts = [
            self.segment(picture("base.png"), "black square", "shape", "--threshold", "0.01").text,
            self.sam3("points", picture("base.png"), "--point", "200,140", "--json", "-").text,
        ]
        for text in texts:
            for number in re.findall(r"-?\d[-\d.e+]*(?=[,}\]])", re.sub(r'"[^"]*"', '""', text)):
                # One number in a thousand is written with more digits than it needs.
                self.assertEqual(float(number), float(f"{float(number):.6g}"), text)
            for box in re.findall(r'"box":\[([^]]*)\]', text):
                for number in box.split(","):
                    self.assertRegex(number, r"^\d+(\.\d{1,2})?$")


class StreamsTest(ProgramTest):
    def test_standard_output_holds_only_the_document(self):
        runs = (
            ("segment", picture("base.png"), "black square", "--json", "-"),
            ("detect", picture("gray12in16.png"), "black square"),
            ("points", picture("base.png"), "--point", "200,140", "--json", "-"),
            ("classes", "--classes", "black square", "dog", "--", picture("base.png")),
        )
        for run in runs:
            with self.subTest(command=run[0]):
                done = self.sam3(*run, "--verbose")
                self.assertIn("image", done.json)
                self.assertTrue(done.text.endswith("}\n"))
                self.assertEqual(done.text.count("\n"), 1)
                self.assertNotEqual(done.err, "", "--verbose says nothing")

    def test_quiet(self):
        run = ("classes", "--classes", "dog", "cat " * 40, "--quiet")
        done = self.sam3(*run, "--", picture("gray12in16.png"), picture("base.png"))
        self.assertEqual(done.err, "")
        done = self.sam3(*run, "--", picture("zero.jpg"), code=1)
        self.assertIn("zero.jpg", done.err, "an error is no note: --quiet keeps it")

    def test_a_reader_who_leaves(self):
        self.check_closed_pipe("segment", picture("base.png"), "black square", "--json", "-")
        self.check_closed_pipe("options")
        pictures = [picture("base.png"), picture("blank.png"), picture("ring.png")]
        self.check_closed_pipe(
            "classes", "--classes", "dog", "--masks", self.path("m"), "--quiet", "--", *pictures
        )

    def check_closed_pipe(self, *arguments):
        process = subprocess.Popen(
            [program(), *arguments],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        if arguments[0] == "options":
            process.stdout.read(1)
        process.stdout.close()
        error = process.stderr.read()
        process.stderr.close()
        self.assertEqual((process.wait(), error), (0, b""), arguments)

    def test_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [program(), "detect", picture("base.png"), "dog"],
                env=environment(),
                stdout=full,
                stderr=subprocess.PIPE,
            )
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertNotEqual(done.returncode, 0, "the result is lost")


if __name__ == "__main__":
    unittest.main()
