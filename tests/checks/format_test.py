#!/usr/bin/env python3
"""tools/checks/format.py sees what clang-format would change, and can change it."""

import unittest

from check_test import CheckTest


class FormatTest(CheckTest):
    check = "format.py"

    def setUp(self):
        super().setUp()
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.write("src/good.h", "#pragma once\nint f(int a);\n")

    def test_formatted(self):
        self.assert_passes()

    def test_one_line_for_each_file(self):
        self.write("src/a.cc", "int f() { return 1; }\nint  g( ) {return 2;}\nint  h;\n")
        self.write("src/b.h", "int  x;\n")
        self.assert_fails("src/a.cc:2: not formatted", "src/b.h:1: not formatted")
        self.run_check("--root", self.root, "--write")
        self.assert_passes()

    def test_clang_format_that_does_not_work(self):
        self.write(".clang-format", "BasedOnStyle: Nobody\n")
        self.assert_fails(".clang-format:1: clang-format failed")


if __name__ == "__main__":
    unittest.main()
