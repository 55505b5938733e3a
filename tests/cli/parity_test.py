"""The comparison with known values (tests/parity) on the tiny checkpoint, whose values come from
the reference implementation; and that it notices what is wrong."""

import json
import os
import subprocess
import sys
import unittest

from support import SANITIZED, SOURCE, ProgramTest, program

TINY = os.path.join(SOURCE, "tests", "data", "tiny")
VALUES = os.path.join(SOURCE, "tests", "parity", "tiny.json")


class ParityTest(ProgramTest):
    def parity(self, *arguments, values=VALUES, pictures=os.path.join(TINY, "io"), work="work"):
        command = [sys.executable, os.path.join(SOURCE, "tests", "parity", "parity.py")]
        command += ["--program", program(), "--checkpoint", os.path.join(TINY, "checkpoint")]
        command += ["--tokenizer", os.path.join(TINY, "dynamo", "tokenizer")]
        command += ["--pictures", pictures, "--values", values, "--work", self.path(work)]
        return subprocess.run([*command, *arguments], capture_output=True, text=True)

    def values(self, change):
        """The first case of the tiny checkpoint's values, changed."""
        with open(VALUES, encoding="utf-8") as file:
            values = json.load(file)
        del values["cases"][1:]
        change(values)
        return self.write("values.json", json.dumps(values))

    def test_known_values(self):
        # The gates run each graph many times, which sanitizers make slow.
        done = self.parity(*["--no-quality"] * SANITIZED)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(VALUES, encoding="utf-8") as file:
            values = json.load(file)
        rows = sum(len(case["checks"]) for case in values["cases"])
        rows += 0 if SANITIZED else len(values["quality"]["gates"])
        self.assertEqual(done.stdout.splitlines()[-1], f"{rows} passed, 0 failed")

    def test_wrong_value(self):
        def change(values):
            values["cases"][0]["checks"][1]["expected"] += 0.01

        done = self.parity("--no-quality", values=self.values(change))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("1 failed", done.stdout.splitlines()[-1])
        failed = [line for line in done.stdout.splitlines() if line.endswith("FAILED")]
        self.assertEqual(len(failed), 1, done.stdout)
        self.assertIn("score 0", failed[0])

    def test_wrong_quality_is_a_failure(self):
        def change(values):
            values["cases"][0]["checks"] = []
            values["quality"]["limit"] = 0
            values["quality"]["gates"] = {"prompt_decoder": None, "no_such_graph": None}

        done = self.parity(values=self.values(change))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(done.stdout.splitlines()[-1], "0 passed, 2 failed")

    def test_missing_picture(self):
        def change(values):
            values["cases"][0]["picture"] = "none.png"

        done = self.parity("--no-quality", values=self.values(change))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("none.png is missing", done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], "0 passed, 1 failed")

    def test_work_folder_is_there(self):
        done = self.parity(work=".")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
