#!/usr/bin/env python3
"""Installs the build into a folder, moves that folder, and uses it there: the program, a CMake
project with find_package, and a compiler call with pkg-config's flags."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD, LIBDIR = (os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3])
PICTURE = os.path.join(SOURCE, "examples/pictures/circles.jpg")
PROMPT = "red circle"
CONSUMER = os.path.join(SOURCE, "tests/checks/consumer")


def run(*command, **environment):
    """Standard output of a command that must succeed."""
    # A library path from outside would hide a missing run path.
    variables = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"} | environment
    done = subprocess.run(command, capture_output=True, text=True, env=variables)
    if done.returncode != 0:
        raise AssertionError(f"{command} gave {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="sam3-install-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        first = os.path.join(cls.folder, "first")
        run("cmake", "--install", BUILD, "--prefix", first)
        cls.tree = os.path.join(cls.folder, "moved here")
        os.rename(first, cls.tree)
        cls.library = os.path.join(cls.tree, LIBDIR)
        cls.model = os.path.join(cls.tree, "share/sam3/models/demo")

    def check_consumer(self, program, **environment):
        lines = run(program, self.model, PICTURE, PROMPT, **environment).splitlines()
        self.assertGreaterEqual(len(lines), 1, "nothing found")
        for line in lines:
            self.assertRegex(line, r"^0\.\d\d \d+$|^1\.00 \d+$")

    def test_program_finds_libraries_and_demo_model(self):
        program = os.path.join(self.tree, "bin/sam3")
        answer = json.loads(run(program, "detect", PICTURE, PROMPT))
        self.assertEqual({found["prompt"] for found in answer["detections"]}, {PROMPT})

    def test_find_package(self):
        build = os.path.join(self.folder, "consumer")
        run("cmake", "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={self.tree}")
        run("cmake", "--build", build)
        self.check_consumer(os.path.join(build, "consumer"))

    def test_pkg_config(self):
        packages = {"PKG_CONFIG_PATH": os.path.join(self.library, "pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "sam3", **packages)
        # pkg-config writes a space in a path as "\ ".
        flags = [flag.replace("\\ ", " ") for flag in re.split(r"(?<!\\)\s+", flags.strip())]
        program = os.path.join(self.folder, "by_pkg_config")
        source = os.path.join(CONSUMER, "main.cc")
        run(os.environ.get("CXX", "g++"), "-std=c++20", source, *flags, "-o", program)
        self.check_consumer(program, LD_LIBRARY_PATH=self.library)

    def test_no_path_of_the_build_is_left(self):
        """Neither in text files nor in a run path: the tree must work on another machine."""
        for folder, _, names in os.walk(self.tree):
            for path in (os.path.join(folder, name) for name in names):
                if path.endswith((".cmake", ".pc", ".h")):
                    with open(path, encoding="utf-8") as file:
                        text = file.read()
                    for place in (SOURCE, BUILD, self.folder):
                        self.assertNotIn(place, text, path)
        for path in ("bin/sam3", os.path.join(LIBDIR, "libsam3.so")):
            entries = run("readelf", "-d", os.path.join(self.tree, path))
            run_path = re.search(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", entries)
            self.assertIsNotNone(run_path, path)
            for entry in run_path.group(1).split(":"):
                self.assertTrue(entry.startswith("$ORIGIN"), f"{path}: {entry}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
