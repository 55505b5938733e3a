#!/usr/bin/env python3
"""What the library's objects call: a library does not print, end the process, read the environment
or start threads unasked. Reads the undefined symbols of every object below BUILD/src with nm."""

import argparse
import os
import re
import subprocess
import sys

from common import finish, repository_root

# (a whole demangled symbol, as a pattern; what it does; layers that may)
FORBIDDEN = (
    (r"abort|exit|_exit|_Exit|quick_exit|at_quick_exit", "ends the process", ()),
    (
        r"__assert(_fail|_perror_fail)?|std::__glibcxx_assert_fail\(.*",
        "asserts: NDEBUG is missing",
        (),
    ),
    (r"v?[fd]?printf|f?puts|f?putc|putchar|perror|psignal|__v?[fd]?printf_chk", "prints", ()),
    (r"stdout|stderr|stdin|std::w?(cout|cerr|clog|cin)", "uses the terminal", ()),
    (r"(secure_)?getenv|setenv|putenv|unsetenv|clearenv|_*environ", "touches the environment", ()),
    (r"system|popen|v?fork|exec[lv]p?e?|posix_spawnp?", "starts a process", ()),
    (
        r"signal|sigaction|atexit|setlocale|std::set_(terminate|new_handler)\(.*",
        "changes the process",
        (),
    ),
    (r"pthread_create|thrd_create|std::thread::_M_start_thread\(.*", "starts a thread", ("base",)),
)


def objects(build):
    """(layer, path) of every object file below BUILD/src."""
    found = []
    for folder, _, names in os.walk(os.path.join(build, "src")):
        for name in sorted(names):
            if name.endswith(".o"):
                path = os.path.join(folder, name)
                found.append((os.path.relpath(path, build).split(os.sep)[1], path))
    return found


def undefined_symbols(path):
    run = subprocess.run(
        ["nm", "-C", "--undefined-only", path], capture_output=True, text=True, check=True
    )
    for line in run.stdout.splitlines():
        # "                 U name", also "w name"; glibc's version mark is not part of the name
        parts = line.strip().split(" ", 1)
        if len(parts) == 2:
            yield parts[1].split("@")[0]


def check(build):
    rules = [(re.compile(pattern), what, may) for pattern, what, may in FORBIDDEN]
    failures = []
    found = objects(build)
    if not found:
        return [f"{build}:1: no objects below src; build first"]
    for layer, path in found:
        source = os.path.relpath(path, build)
        source = re.sub(r"CMakeFiles/[^/]+\.dir/", "", source)[: -len(".o")]
        for symbol in undefined_symbols(path):
            for pattern, what, may in rules:
                if layer not in may and pattern.fullmatch(symbol):
                    failures.append(f"{source}:1: {what}: {symbol}")
    return failures


def main():
    parser = argparse.ArgumentParser(description=" ".join(__doc__.split()))
    parser.add_argument("--build", default=os.path.join(repository_root(), "build"))
    return finish("manners", check(parser.parse_args().build))


if __name__ == "__main__":
    sys.exit(main())
