#!/usr/bin/env python3
"""Every public header compiles alone, without warnings."""

import argparse
import concurrent.futures
import os
import subprocess
import sys

from common import finish, listed_files, repository_root

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


def check_header(root, path):
    """The C ABI (include/sam3/c) is also compiled as C."""
    languages = [("c++", "-std=c++20", os.environ.get("CXX", "g++"))]
    if path.startswith("include/sam3/c/"):
        languages.append(("c", "-std=c11", os.environ.get("CC", "gcc")))
    failures = []
    for language, standard, compiler in languages:
        # The header is included from an empty source: compiled directly, its #pragma once warns.
        name = path[len("include/") :]
        command = [
            compiler,
            "-fsyntax-only",
            standard,
            *WARNINGS,
            "-I",
            "include",
            "-x",
            language,
            "-",
        ]
        source = f'#include "{name}"\n'
        run = subprocess.run(command, cwd=root, input=source, capture_output=True, text=True)
        if run.returncode != 0:
            first = next((line for line in run.stderr.splitlines() if "error" in line), "no output")
            failures.append(f"{path}:1: does not compile alone as {language}: {first}")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", default=repository_root())
    root = parser.parse_args().root
    paths = listed_files(root, (".h",), ("include",))
    if not paths:
        return finish("headers", ["include:1: no public header found"])
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = pool.map(lambda path: check_header(root, path), paths)
    return finish("headers", [failure for result in results for failure in result])


if __name__ == "__main__":
    sys.exit(main())
