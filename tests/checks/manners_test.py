#!/usr/bin/env python3
"""tools/checks/manners.py finds calls in compiled objects."""

import os
import subprocess
import unittest

from check_test import CheckTest

BAD = {
    "abort": "#include <cstdlib>\nvoid f() { std::abort(); }",
    "exit": "#include <cstdlib>\nvoid f() { std::exit(1); }",
    "printf": '#include <cstdio>\nvoid f(int n) { std::printf("%d", n); }',
    "puts": '#include <cstdio>\nvoid f() { std::puts("x"); }',
    "stderr": '#include <cstdio>\nvoid f() { std::fwrite("x", 1, 1, stderr); }',
    "std::cout": '#include <iostream>\nvoid f() { std::cout << "x"; }',
    "std::cerr": "#include <ostream>\n"
    "namespace std { extern ostream cerr; }\nvoid f() { std::cerr << 1; }",
    "getenv": '#include <cstdlib>\nconst char* f() { return std::getenv("X"); }',
    "__assert_fail": "#include <cassert>\nvoid f(int n) { assert(n > 0); }",
    "starts a thread": "#include <thread>\nvoid f() { std::thread([] {}).join(); }",
    "setlocale": '#include <clocale>\nvoid f() { std::setlocale(LC_ALL, ""); }',
}
# What honest library code needs, with everything that the standard library inlines.
GOOD = """
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>
int printf_like(int aborted) { return aborted; }
std::string f(std::vector<int>& v, std::variant<int, std::string> x, std::optional<int> o) {
  char text[8];
  std::snprintf(text, sizeof text, "%d", v.at(0));
  std::ofstream("x") << o.value();
  if (v.empty()) throw std::runtime_error("x");
  return std::get<1>(x) + text + std::to_string(printf_like(std::stoi("1")));
}
"""


class MannersTest(CheckTest):
    check = "manners.py"

    def compile(self, layer, source):
        folder = os.path.join(self.root, "src", layer, "CMakeFiles", f"sam3_{layer}.dir")
        os.makedirs(folder, exist_ok=True)
        target = os.path.join(folder, "a.cc.o")
        command = ["g++", "-std=c++20", "-O1", "-x", "c++", "-c", "-", "-o", target]
        subprocess.run(command, input=source, text=True, check=True)

    def test_each_bad_call(self):
        for name, source in BAD.items():
            with self.subTest(name=name):
                self.compile("mask", source)
                status, lines = self.run_check("--build", self.root)
                self.assertEqual(status, 1)
                self.assertTrue(any(name in line for line in lines), lines)
                self.assertTrue(all(line.startswith("src/mask/a.cc:1: ") for line in lines), lines)

    def test_good_code(self):
        self.compile("mask", GOOD)
        self.assert_passes("--build", self.root)

    def test_only_base_starts_threads(self):
        self.compile("base", BAD["starts a thread"])
        self.assert_passes("--build", self.root)

    def test_nothing_built(self):
        self.assert_fails("build first", arguments=("--build", self.root))


if __name__ == "__main__":
    unittest.main()
