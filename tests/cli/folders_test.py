#!/usr/bin/env python3
"""Many pictures: failures among them, interruption, names, folders, class lists."""

import os
import shutil
import signal
import subprocess
import time
import unittest

from support import (
    PICTURES,
    SQUARE,
    TIMEOUT,
    ProgramTest,
    environment,
    parse_json,
    picture,
    program,
)

BATCH = os.path.join(PICTURES, "batch")


class FailuresTest(ProgramTest):
    MIXED = [
        picture(*name)
        for name in (("base.png",), ("batch", "bad.jpg"), ("zero.jpg",), ("base.jpg",))
    ]

    def check(self, entries, done):
        self.assertEqual([entry["image"] for entry in entries], self.MIXED)
        self.assertEqual(["error" in entry for entry in entries], [False, True, True, False])
        for entry in entries:
            if "error" in entry:
                self.assertEqual(set(entry), {"image", "error"})
                self.assertIn(entry["image"], entry["error"])
                self.assertIn(entry["error"], done.err)
            else:
                self.assert_box(entry["detections"][0]["box"], SQUARE)
        self.assertIn("2 ok, 2 failed", done.err.splitlines()[-1])

    def test_the_others_go_on(self):
        run = ("classes", "--classes", "black square")
        done = self.sam3(*run, "--json", "o.json", "--out", "o", "--", *self.MIXED, code=1)
        self.assertEqual(done.out, b"")
        self.check(self.load("o.json"), done)
        self.assertIn("error", self.load("o", "batch", "bad.jpg.json"))

    def test_json_lines(self):
        run = ("classes", "--classes", "black square")
        done = self.sam3(*run, "--", *self.MIXED, code=1)
        self.check(done.lines, done)
        done = self.sam3(*run, "--json", "o.jsonl", "--", *self.MIXED, code=1)
        self.check([parse_json(line) for line in self.read("o.jsonl").splitlines()], done)

    def test_all_good(self):
        done = self.sam3(
            "classes", "--classes", "dog", "--", picture("base.png"), picture("ring.png")
        )
        self.assertIn("2 ok, 0 failed", done.err)

    def test_names_that_are_not_there(self):
        names = [picture("missing.jpg"), picture("no*.jpeg")]
        done = self.sam3("classes", "--classes", "dog", "--", *names, code=1)
        self.assertEqual([entry["image"] for entry in done.lines], names)
        for name, entry in zip(names, done.lines):
            self.assertIn("no such file", entry["error"])
        os.mkdir(self.path("empty"))
        done = self.sam3("classes", "--classes", "dog", "--", "empty", code=2)
        self.assert_refused(done, "no picture")


class InterruptTest(ProgramTest):
    def start(self, *arguments):
        os.mkdir(self.path("in"))
        for i in range(200):
            os.symlink(picture("base.png"), self.path("in", f"{i}.png"))
        return subprocess.Popen(
            [program(), "classes", "--classes", "black square", *arguments, "--", "in"],
            cwd=self.folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def wait_for(self, condition):
        for _ in range(TIMEOUT * 20):
            if condition():
                return
            time.sleep(0.05)
        self.fail("nothing was written")

    def finished(self, process):
        out, error = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 130, error)
        self.assertRegex(error.decode(), r"\d+ ok, 0 failed, \d+ not started")
        return out

    def test_an_array_is_whole_at_any_time(self):
        process = self.start("--json", "o.json")
        path = self.path("o.json")
        self.wait_for(lambda: os.path.exists(path) and self.read("o.json").count(b'"image"') > 1)
        process.send_signal(signal.SIGINT)
        self.finished(process)
        entries = self.load("o.json")
        self.assertTrue(2 <= len(entries) < 200)
        for i, entry in enumerate(entries):
            self.assertEqual(entry["image"], os.path.join("in", f"{i}.png"))
            self.assert_box(entry["detections"][0]["box"], SQUARE)

    def test_lines_come_as_they_are_done(self):
        process = self.start()
        first = parse_json(process.stdout.readline())
        self.assertEqual(first["image"], os.path.join("in", "0.png"))
        process.send_signal(signal.SIGINT)
        rest = [parse_json(line) for line in self.finished(process).splitlines()]
        self.assertLess(len(rest), 199)

    def test_killed(self):
        process = self.start("--json", "o.jsonl")
        path = self.path("o.jsonl")
        self.wait_for(lambda: os.path.exists(path) and os.path.getsize(path) > 0)
        process.kill()
        process.communicate()
        for line in self.read("o.jsonl").splitlines()[:-1]:
            self.assertIn("detections", parse_json(line))


class AwkwardNamesTest(ProgramTest):
    def test_names_are_names_first(self):
        for name in os.listdir(os.fsencode(BATCH)):
            path = os.path.join(os.fsencode(BATCH), name)
            if os.path.isfile(path):
                os.symlink(path, os.path.join(os.fsencode(self.folder), name))
        names = ["br[1].jpg", "pct%20d.jpg", "with space.jpg", "-dash.jpg", "quote'\".jpg"]
        names += ["line\nbreak.jpg", "橋-мост-é.jpg", "UPPER.JPG"]
        shutil.copy(picture("zero.jpg"), self.path("br1.jpg"))  # what the pattern would match
        done = self.sam3("classes", "--classes", "black square", "--out", "o", "--", *names)
        self.assertEqual([entry["image"] for entry in done.lines], names)
        for entry in done.lines:
            self.assertEqual(len(entry["detections"]), 1, entry)
        self.assertIn("8 ok, 0 failed", done.err)

        for command in (("segment", "--"), ("detect", "--"), ("inspect", "--", "pixels")):
            words = ("dog",) if "inspect" not in command else ()
            self.sam3(*command, "-dash.jpg", *words)
        self.sam3("segment", "./-dash.jpg", "dog")
        self.sam3("points", "--point", "200,140", "--", "-dash.jpg")
        # Never a format, also in messages.
        for name in ("%s%n%20d.jpg", "{}.jpg", "\x1b[31m.jpg"):
            done = self.sam3("segment", name, "dog", code=1)
            self.assert_refused(done, name.replace("\x1b", "\\x1b"), "no such file")

    def test_patterns(self):
        for name in ("img10.png", "img2.png", "img1.png", "other.jpg"):
            os.symlink(picture("base.png"), self.path(name))
        done = self.sam3("classes", "--classes", "dog", "--", "img*.png", "o[st]her.jpg")
        images = [entry["image"] for entry in done.lines]
        self.assertEqual(images, ["img1.png", "img2.png", "img10.png", "other.jpg"])

    def test_folders(self):
        done = self.sam3("classes", "--classes", "dog", "--quiet", "--", BATCH, code=1)
        found = [os.path.relpath(entry["image"], BATCH) for entry in done.lines]
        self.assertEqual(len(found), 17, found)
        for name in (os.path.join("sub", "a.jpg"), "UPPER.JPG", "c.jpeg", "br[1].jpg", "-dash.jpg"):
            self.assertIn(name, found)
        # Neither hidden files nor what is no picture by its name.
        self.assertFalse({"._a.jpg", ".DS_Store", "Thumbs.db", "notes.txt"} & set(found))
        self.assertLess(found.index("img2.png"), found.index("img10.png"))
        failed = {os.path.basename(e["image"]) for e in done.lines if "error" in e}
        self.assertEqual(failed, {"bad.jpg", "zero.jpg"})


class ClassListTest(ProgramTest):
    def ask(self, content, code=0):
        self.write("classes.txt", content)
        return self.sam3("classes", "--file", "classes.txt", "--", picture("base.png"), code=code)

    def prompts(self, done):
        """All class names that the answer mentions, kept or merged."""
        found = done.json["detections"]
        merged = [other for one in found for other in one.get("merged", ())]
        return {one["prompt"] for one in [*found, *merged]}

    def test_marks_of_other_systems(self):
        done = self.ask(b"\xef\xbb\xbfblack square\r\n\r\n  red circle \t\r\n")
        self.assertEqual(self.prompts(done), {"black square", "red circle"})
        self.assertEqual(done.err, "")

    def test_repetitions_are_merged_with_a_note(self):
        done = self.ask("black square\nred circle\nblack square\n")
        self.assertEqual(self.prompts(done), {"black square", "red circle"})
        self.assertEqual(done.err.count("black square"), 1, done)
        self.assertEqual(len(done.json["detections"]), 2)

    def test_names_keep_spaces_commas_and_signs(self):
        names = ["black square, dark", "# black square", '"black square"', "[black square, x]"]
        self.write("classes.txt", "\n".join(names))  # no newline at the end
        run = ("classes", "--file", "classes.txt", "--threshold", "0", "--overlap", "1", "--")
        self.assertEqual(self.prompts(self.sam3(*run, picture("base.png"))), set(names))

    def test_only_the_first_mark_is_none_of_the_name(self):
        marked = self.ask(b"\xef\xbb\xbfblack square\n").json["detections"]
        plain = self.ask(b"black square\n").json["detections"]
        self.assertEqual(marked, plain)

    def test_latin1_is_refused_with_its_line(self):
        done = self.ask(b"dog\nblack square\ncaf\xe9\n", code=2)
        self.assert_refused(done, "classes.txt", "line 3", "utf-8")

    def test_lists_without_a_name(self):
        for content in ("", "\n \n\t\r\n", b"\xef\xbb\xbf", "\u200b\n"):
            with self.subTest(content=content):
                self.assert_refused(self.ask(content, code=2), "classes.txt", "no name")

    def test_lists_that_cannot_be_read(self):
        os.mkdir(self.path("folder"))
        for name in ("missing.txt", "folder"):
            done = self.sam3("classes", "--file", name, "--", picture("base.png"), code=None)
            self.assert_refused(done, name)
        run = ("classes", "--classes", "dog", "--file", "classes.txt", "--", picture("base.png"))
        self.assert_refused(self.sam3(*run, code=2), "--file")


if __name__ == "__main__":
    unittest.main()
