#!/usr/bin/env python3
"""tools/checks/headers.py compiles each public header by itself."""

import unittest

from check_test import CheckTest


class HeadersTest(CheckTest):
    check = "headers.py"

    def test_self_contained(self):
        self.write("include/sam3/a.h", "#pragma once\n#include <string>\nstd::string name();\n")
        self.write(
            "include/sam3/c/sam3.h", "#pragma once\n#include <stddef.h>\nsize_t sam3_n(void);\n"
        )
        self.assert_passes()

    def test_leans_on_another_header(self):
        self.write("include/sam3/a.h", "#pragma once\n#include <string>\n")
        self.write("include/sam3/b.h", "#pragma once\nstd::string name();\n")
        self.assert_fails("include/sam3/b.h:1: does not compile alone as c++")

    def test_warnings_count(self):
        body = "inline int f(unsigned a, int b) { return a < b; }\n"
        self.write("include/sam3/a.h", f"#pragma once\n{body}")
        self.assert_fails("include/sam3/a.h:1:")

    def test_c_header_is_c(self):
        self.write("include/sam3/c/sam3.h", "#pragma once\nnamespace sam3 {}\n")
        self.assert_fails("include/sam3/c/sam3.h:1: does not compile alone as c:")

    def test_nothing_to_check(self):
        self.assert_fails("include:1: no public header found")


if __name__ == "__main__":
    unittest.main()
