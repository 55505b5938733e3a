#!/usr/bin/env python3
"""Arguments and options: help, wrong usage, options behind `--`, the page made from them."""

import os
import unittest

from support import SOURCE, SQUARE, ProgramTest, picture

COMMANDS = (
    "segment", "detect", "classes", "points", "inspect", "convert", "verify", "quantize", "eval", "pull",
    "bench",
)  # fmt: skip


class HelpTest(ProgramTest):
    def test_help_of_every_command(self):
        top = self.sam3("--help").text
        described = self.sam3("options", "--json").json
        self.assertEqual(set(described), set(COMMANDS))
        for command in (*COMMANDS, "options"):
            with self.subTest(command=command):
                self.assertIn(f"  {command} ", top)
                page = self.sam3(command, "--help").text
                self.assertEqual(self.sam3(command, "-h").text, page)
                for option in described.get(command, {"options": []})["options"]:
                    argument = option["kind"].startswith("argument")
                    self.assertIn(("" if argument else "--") + option["name"], page)

    def test_nothing_and_version(self):
        done = self.sam3(code=2)
        self.assertIn("Usage", done.text + done.err)
        self.assertTrue(self.sam3("--version").text.startswith("sam3 "))

    def test_page_in_the_docs(self):
        with open(os.path.join(SOURCE, "docs", "cli.md"), encoding="utf-8") as file:
            page = file.read()
        self.assertEqual(
            self.sam3("options").text, page, "write docs/cli.md anew with `sam3 options`"
        )

    def test_options_as_json(self):
        for command, described in self.sam3("options", "--json").json.items():
            self.assertTrue(described["help"])
            names = [option["name"] for option in described["options"]]
            self.assertEqual(len(set(names)), len(names), command)
            for option in described["options"]:
                kinds = ("flag", "integer", "real", "text", "list", "argument", "arguments")
                self.assertIn(option["kind"], kinds)
                self.assertTrue(option["help"])
                self.assertTrue(
                    option["value"] or option["kind"] in ("flag", "argument", "arguments")
                )


class WrongUsageTest(ProgramTest):
    def test_unknown_things(self):
        cases = (
            ("nope",),
            ("--nope",),
            ("segment",),
            ("segment", "--nope", picture("base.png"), "dog"),
            ("segment", picture("base.png"), "dog", "--masks"),
            ("detect", picture("base.png"), "dog", "--masks", "m"),
            ("points", picture("base.png"), "surplus", "--point", "1,1"),
            ("classes", "--classes", "dog"),
            ("classes", "--", picture("base.png")),
            ("inspect",),
            ("inspect", "nothing"),
            ("inspect", "tokens"),
            ("inspect", "tokens", "a", "b"),
            ("inspect", "pixels"),
            ("inspect", "tokens", "a", "--input", "x.npy"),
            ("options", "surplus"),
        )
        for arguments in cases:
            with self.subTest(arguments=arguments):
                self.assert_refused(self.sam3(*arguments, code=2))

    def test_values_out_of_range(self):
        cases = {
            "--threshold": ("1", "-0.1", "2", "nan", "inf", "x", "0,5", ""),
            "--max-pixels": ("0", "-5", "x", "1e99"),
        }
        for option, values in cases.items():
            for value in values:
                with self.subTest(option=option, value=value):
                    done = self.sam3(
                        "detect", picture("base.png"), "dog", f"{option}={value}", code=2
                    )
                    self.assert_refused(done, option)
        for value in ("-0.1", "1.1", "nan"):
            run = ("classes", "--classes", "dog", f"--overlap={value}", "--", picture("base.png"))
            self.assert_refused(self.sam3(*run, code=2), "--overlap")

    def test_examples_are_for_another_family(self):
        for option in ("--box", "--negative-box"):
            done = self.sam3("detect", picture("base.png"), "dog", option, "9,9,90,90", code=None)
            self.assert_refused(done, "example")


class OrderTest(ProgramTest):
    """Options may stand anywhere, also behind the pictures that follow `--`."""

    def test_options_behind_the_end_mark(self):
        done = self.sam3(
            "classes", "--classes", "black square", "--", picture("base.png"), "--json", "-"
        )
        self.assertEqual(len(done.lines), 1)
        self.assertTrue(done.json["detections"])
        run = ("classes", "--classes", "black square", "--", picture("base.png"))
        done = self.sam3(
            *run, "--json", "o.json", "--threshold", "0.99999", "--rle", picture("ring.png")
        )
        self.assertEqual(done.out, b"")
        entries = self.load("o.json")
        self.assertEqual(
            [entry["image"] for entry in entries], [picture("base.png"), picture("ring.png")]
        )
        self.assertEqual([entry["detections"] for entry in entries], [[], []])
        done = self.sam3("classes", "--", picture("base.png"), "--classes", "black square", "dog")
        self.assertEqual(len(done.json["detections"]), 1)
        done = self.sam3("classes", "--", picture("base.png"), "--json=p.json", "--classes", "dog")
        self.assertEqual(len(self.load("p.json")), 1)
        answer, _ = self.points("--", picture("base.png"), "--point", "200,140")
        self.assert_box(answer["box"], SQUARE, 0.8)

    def test_a_file_named_like_an_option_is_a_file(self):
        os.symlink(picture("base.png"), self.path("--rle"))
        done = self.sam3("classes", "--classes", "black square", "--", "./--rle", "--rle")
        self.assertEqual([entry["image"] for entry in done.lines], ["./--rle", "--rle"])
        self.assertNotIn("rle", done.lines[0]["detections"][0])

    def test_names_that_begin_with_a_dash_follow_a_list(self):
        os.symlink(picture("base.png"), self.path("-dash.png"))
        done = self.sam3("classes", "--classes", "black square", "--", "-dash.png")
        self.assertEqual(done.json["image"], "-dash.png")
        self.sam3("points", "--point", "200,140", "--", "-dash.png")

    def test_prompts_are_taken_as_they_are(self):
        prompts = [
            "[black, square]",
            "{}",
            "[]",
            "black,square",
            '"black square"',
            "%s",
            "#x",
            "a=b",
        ]
        run = ("detect", picture("base.png"), *prompts, "--threshold", "0")
        self.assertEqual({found["prompt"] for found in self.sam3(*run).found()}, set(prompts))
        os.symlink(picture("base.png"), self.path("[a,b]"))
        done = self.sam3(
            "classes", "--classes", *prompts, "--threshold", "0", "--overlap", "1", "--", "[a,b]"
        )
        self.assertEqual(done.json["image"], "[a,b]")

    def test_lists_need_a_value(self):
        done = self.sam3("points", picture("base.png"), "--point", "--box", "1,1,90,90", code=2)
        self.assert_refused(done, "--box")
        done = self.sam3("points", picture("base.png"), "--box=", "--out", "m.png", code=2)
        self.assert_refused(done, "--box")


if __name__ == "__main__":
    unittest.main()
