#!/usr/bin/env python3
"""All C++ files look as clang-format would have them (`format.py --write` makes it so)."""

import argparse
import os
import re
import subprocess
import sys

from common import finish, listed_files, repository_root


def check(root, paths):
    """The first line of each file that clang-format would change."""
    command = ["clang-format", "--dry-run", "-Werror", *paths]
    run = subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", errors="replace")
    failures = {}
    for path, line in re.findall(
        r"^([^:\n]+):(\d+):\d+: error: code should be", run.stderr, re.MULTILINE
    ):
        failures.setdefault(path, f"{path}:{line}: not formatted; run make format")
    if run.returncode != 0 and not failures:
        return [f".clang-format:1: clang-format failed: {' '.join(run.stderr.split())}"]
    return list(failures.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", default=repository_root())
    parser.add_argument("--write", action="store_true", help="format the files")
    arguments = parser.parse_args()
    paths = listed_files(arguments.root, (".cc", ".h"))
    if not paths:
        return finish("format", [f"{os.path.basename(arguments.root)}:1: no C++ files found"])
    if arguments.write:
        return subprocess.run(["clang-format", "-i", *paths], cwd=arguments.root).returncode
    return finish("format", check(arguments.root, paths))


if __name__ == "__main__":
    sys.exit(main())
