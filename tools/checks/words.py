#!/usr/bin/env python3
"""Text that no file of the repository may hold: paths of one machine, hosts of package registries
(mirrors are a matter of the machine's set-up), conflict marks, skipped tests, unfinished notes."""

import argparse
import os
import re
import sys

from common import finish, line_of, listed_files, repository_root

HOSTS = (
    "pypi.org",
    "pythonhosted.org",
    "registry.npmjs",
    "registry.yarnpkg",
    "deb.debian.org",
    "security.debian.org",
    "archive.ubuntu.com",
    "crates.io",
    "proxy.golang.org",
    "conda.anaconda.org",
    "registry.hub.docker",
)

_CODE = (".cc", ".h", ".py", ".ts")

# (pattern, what it is, file suffixes or () for all). Written so that no pattern matches itself.
RULES = (
    (r"/wor[k]/\w|/roo[t]/|/tmp/bas[h]_jobs|/home/[a-z]\w*/[.\w]", "a path of one machine", ()),
    ("|".join(re.escape(host) for host in HOSTS), "the host of a package registry", ()),
    (
        r"https?://(pypi|files\.python|registry|deb|repo|static|index|proxy)\.\w",
        "the host of a package registry",
        (),
    ),
    (r"^(<{7}|>{7}|\|{7})( |$)", "a conflict mark", ()),
    (
        r"\bshare[d]/(golden|spec|design|style|trouble|cards|demo|recipes|reference)",
        "a path outside the repository",
        (),
    ),
    (r"\bGTEST_SKI[P]\b|\bDISABLE[D]_\w", "a skipped test", _CODE),
    (
        r"\bpytest\.ski[p]\b|\bmark\.(ski[p]|xfai[l])\b|@(unittest\.)?ski[p]\b",
        "a skipped test",
        _CODE,
    ),
    (r"\b(TOD[O]|FIXM[E]|XX[X])\b", "an unfinished note", _CODE + (".sh", ".cmake", ".txt")),
)

# This file must name what it forbids.
EXEMPT = ("tools/checks/words.py",)
# Vocabularies and fixtures hold any word there is; only what no fixture may hold counts there.
DATA = ("models/", "tests/data/")


def text_of(path):
    """The text of a file, or None for one that is not text."""
    with open(path, "rb") as file:
        data = file.read()
    if b"\0" in data[:8192]:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def check(root):
    compiled = [(re.compile(p, re.MULTILINE), what, suffixes) for p, what, suffixes in RULES]
    failures = []
    for path in listed_files(root):
        text = None if path in EXEMPT else text_of(os.path.join(root, path))
        if text is None:
            continue
        for pattern, what, suffixes in compiled:
            if suffixes and (not path.endswith(suffixes) or path.startswith(DATA)):
                continue
            for match in pattern.finditer(text):
                found = match.group(0).strip()
                failures.append(f"{path}:{line_of(text, match.start())}: {what}: {found}")
    return failures


def main():
    parser = argparse.ArgumentParser(description=" ".join(__doc__.split()))
    parser.add_argument("--root", default=repository_root())
    return finish("words", check(parser.parse_args().root))


if __name__ == "__main__":
    sys.exit(main())
