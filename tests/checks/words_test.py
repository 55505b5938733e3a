#!/usr/bin/env python3
"""tools/checks/words.py finds what it forbids, where it is forbidden."""

import unittest

from check_test import CheckTest

# Put together here, so that this file passes the check itself.
MACHINE = "/wo" + "rk/main/x", "/ro" + "ot/.cache", "/tmp/ba" + "sh_jobs.0", "/ho" + "me/me/.cache"
HOSTS = "https://py" + "pi.org/simple", "deb.deb" + "ian.org", "https://registry" + ".example/x"
MARKS = "<" * 7 + " HEAD", ">" * 7 + " topic"
CODE = "TO" + "DO: later", "FIX" + "ME", "GTEST_" + "SKIP();", "TEST(A, DISAB" + "LED_B) {}"


class WordsTest(CheckTest):
    check = "words.py"

    def test_clean(self):
        text = "work/main, the root/ folder, <<<<<<< is no mark here\n=======\nTODOS\n"
        self.write("README.md", text)
        self.write("src/a.cc", "// a method_of(root) / work /\n")
        self.assert_passes()

    def test_everywhere(self):
        for text in (*MACHINE, *HOSTS, *MARKS):
            with self.subTest(text=text):
                self.write("docs/a.md", f"fine\n{text}\n")
                status, lines = self.run_check()
                self.assertEqual(status, 1)
                self.assertTrue(lines[0].startswith("docs/a.md:2: "), lines)

    def test_in_code_only(self):
        for text in CODE:
            with self.subTest(text=text):
                self.write("src/a.cc", f"\n// {text}\n")
                self.assert_fails("src/a.cc:2: ")
        self.write("src/a.cc", "")
        self.write("models/demo/vocabulary.txt", f"{CODE[0]}\n")
        self.write("docs/a.md", f"{CODE[0]}\n")
        self.assert_passes()

    def test_binary_files_are_not_read(self):
        self.write("a.bin", "\0" + MACHINE[0])
        self.assert_passes()


if __name__ == "__main__":
    unittest.main()
