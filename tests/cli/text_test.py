#!/usr/bin/env python3
"""Prompt text: tokens as the reference makes them, long and blank prompts."""

import json
import os
import unittest

from support import DATA, ProgramTest, picture

START, END, LENGTH = 49406, 49407, 32
BLANKS = ("", " ", "\n\t", "\u200b", "\u00a0\u3000", "\ufeff")


class TokensTest(ProgramTest):
    def tokens(self, text):
        done = self.sam3("inspect", "tokens", "--json", "--", text)
        return done.json, done.err

    def test_same_as_the_reference(self):
        with open(os.path.join(DATA, "tokens.json"), encoding="utf-8") as file:
            cases = json.load(file)
        self.assertGreater(len(cases), 20)
        for case in cases:
            with self.subTest(text=case["text"][:40]):
                answer, _ = self.tokens(case["text"])
                self.assertEqual(answer["ids"], case["ids"])
                self.assertEqual(answer["mask"], case["mask"])

    def test_padding_is_the_end_mark_but_masked(self):
        done = self.sam3("inspect", "tokens", "dog")
        ids, mask = done.text.splitlines()
        self.assertEqual(ids.split(), ["ids", str(START), "1929", *[str(END)] * 30])
        self.assertEqual(mask.split(), ["mask", "1", "1", "1", *["0"] * 29])

    def test_long_prompts_keep_the_end_mark_and_say_what_is_dropped(self):
        for words in (29, 30, 31, 40):
            with self.subTest(words=words):
                answer, notes = self.tokens(" ".join(["dog"] * words))
                kept = min(words, LENGTH - 2)
                self.assertEqual(answer["ids"][: kept + 2], [START, *[1929] * kept, END])
                self.assertEqual(sum(answer["mask"]), kept + 2)
                self.assertEqual(answer["dropped"].split(), ["dog"] * (words - kept))
                self.assertEqual("does not fit" in notes, words > kept, notes)

    def test_very_long_words(self):
        # Merging pairs must not take quadratic time: minutes, for a word of this length.
        done = self.sam3("inspect", "tokens", "--json", "ab" * 50_000)
        self.assertEqual((len(done.json["ids"]), done.json["ids"][-1]), (LENGTH, END))
        self.assertLess(done.cpu_seconds, 20, done.command[:3])
        self.assertLess(len(done.err), 1000)  # a note, not the whole word

    def test_malformed_text(self):
        for text in (b"caf\xe9", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"a\xf0\x9f\x8d"):
            with self.subTest(text=text):
                done = self.sam3("inspect", "tokens", os.fsdecode(text), code=2)
                self.assert_refused(done, "not valid utf-8")
        done = self.sam3("segment", picture("base.png"), os.fsdecode(b"caf\xe9"), code=2)
        self.assert_refused(done, "not valid utf-8")


class PromptsTest(ProgramTest):
    def test_blank_prompts_are_wrong_usage(self):
        for blank in BLANKS:
            for command in ("segment", "detect"):
                with self.subTest(blank=blank, command=command):
                    done = self.sam3(command, picture("base.png"), blank, code=2)
                    self.assert_refused(done, "empty or blank")
        done = self.sam3("segment", picture("base.png"), "dog", " ", code=2)
        self.assert_refused(done, "empty or blank")
        done = self.sam3("classes", "--classes", "", "dog", "--", picture("base.png"), code=2)
        self.assert_refused(done, "empty or blank")

    def test_no_prompt_at_all(self):
        for command in ("segment", "detect"):
            self.assert_refused(self.sam3(command, picture("base.png"), code=2), "prompt")
        for classes in ((), ("--classes",)):
            done = self.sam3("classes", *classes, "--", picture("base.png"), code=2)
            self.assert_refused(done, "--classes")

    def test_too_long_prompts_are_asked_with_a_note(self):
        prompt = "red apple " * 40 + "last"
        done = self.segment(picture("base.png"), prompt)
        self.assertEqual(done.json["detections"], [])
        notes = [line for line in done.err.splitlines() if "does not fit" in line]
        self.assertEqual(len(notes), 1, done)
        self.assertIn("red apple", notes[0])
        (warning,) = done.json["warnings"]
        self.assertIn("does not fit", warning)

    def test_a_class_of_a_megabyte(self):
        self.write("classes.txt", "black square\n" + "word " * 200_000 + "\n")
        done = self.sam3("classes", "--file", "classes.txt", "--", picture("base.png"))
        self.assertTrue(done.found("black square"), done)
        self.assertIn("does not fit", done.err)
        self.assertLess(len(done.err), 2000)

    def test_repeated_prompts_are_asked_once(self):
        done = self.segment(picture("base.png"), "black square", "black square")
        self.assertEqual(len(done.found()), 1, done)

    def test_colours_matter(self):
        done = self.segment(picture("base.png"), "red circle", "blue circle")
        self.assertEqual({found["prompt"] for found in done.found()}, {"red circle"}, done)


if __name__ == "__main__":
    unittest.main()
