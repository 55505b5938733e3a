"""Base of the tests of tools/checks: a small tree in a temporary folder, and the check on it."""

import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHECKS = os.path.join(SOURCE, "tools", "checks")
sys.path.insert(0, CHECKS)


class CheckTest(unittest.TestCase):
    check = ""  # file name in tools/checks

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
        return full

    def run_check(self, *arguments):
        """(exit status, lines on standard output)."""
        script = os.path.join(CHECKS, self.check)
        arguments = arguments or ("--root", self.root)
        command = [sys.executable, script, *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.returncode, done.stdout.splitlines()

    def assert_passes(self, *arguments):
        self.assertEqual(self.run_check(*arguments), (0, []))

    def assert_fails(self, *expected, arguments=()):
        """The check fails with exactly one line for each expected part, in that order."""
        status, lines = self.run_check(*arguments)
        self.assertEqual(status, 1)
        self.assertEqual(len(lines), len(expected), lines)
        for part, line in zip(expected, lines):
            self.assertIn(part, line)
            self.assertRegex(line, r"^[^:]+:\d+: ")
