"""What the checks share: the list of files, blanking of comments and strings, and the report."""

import os
import re
import subprocess
import sys

NEVER = ("build", ".deps", ".git", "out", "node_modules", "__pycache__")


def listed_files(root, suffixes=None, folders=None):
    """Paths below root, relative and sorted: tracked files and new ones that git does not ignore.

    A tree that is no git repository (an unpacked archive) is walked instead."""
    listing = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",  # a fixture's name need not be UTF-8
    )
    top = subprocess.run(
        ["git", "-C", root, "rev-parse", "--show-prefix"], capture_output=True, text=True
    )
    if listing.returncode == 0 and top.stdout.strip() == "":
        paths = [p for p in listing.stdout.split("\0") if os.path.isfile(os.path.join(root, p))]
    else:
        paths = walked_files(root)
    if suffixes:
        paths = [p for p in paths if p.endswith(tuple(suffixes))]
    if folders:
        paths = [p for p in paths if p.split("/")[0] in folders]
    return sorted(set(paths))


def walked_files(root):
    paths = []
    for folder, names, files in os.walk(root):
        names[:] = [n for n in names if n not in NEVER and not n.startswith("build-")]
        paths += [os.path.relpath(os.path.join(folder, name), root) for name in files]
    return paths


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


_CPP_TOKENS = re.compile(
    r"""//(?:\\\n|[^\n])*              # line comment, also a continued one
      | /\*.*?(?:\*/|\Z)               # block comment
      | (?:\b(?:u8|u|U|L))?R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"   # raw string
      | "(?:\\.|[^"\\\n])*"            # string
      | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'   # character, not the digit separator of 1'000
    """,
    re.VERBOSE | re.DOTALL,
)

_TS_TOKENS = re.compile(
    r"""//[^\n]*
      | /\*.*?(?:\*/|\Z)
      | "(?:\\.|[^"\\\n])*"
      | '(?:\\.|[^'\\\n])*'
      | `(?:\\.|[^`\\])*`
      | (?<=[=(,:;!&|?{}\n])[ \t]*/(?![/*])   # regular expression, after an operator
        (?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n])+/
    """,
    re.VERBOSE | re.DOTALL,
)


def blanked(text, language="cpp", keep_strings=False):
    """The text with comments (and the insides of strings) as spaces: same length, same lines."""

    def blank(match):
        token = match.group(0)
        if not token.startswith(("//", "/*")):
            if keep_strings:
                return token
            if len(token) > 1 and token[0] == token[-1] and token[0] in "\"'`":
                return token[0] + re.sub(r"[^\n]", " ", token[1:-1]) + token[-1]
        return re.sub(r"[^\n]", " ", token)

    return (_CPP_TOKENS if language == "cpp" else _TS_TOKENS).sub(blank, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def finish(name, failures):
    """Prints the failures, one `file:line: message` each, and returns the exit status."""
    for failure in failures:
        print(failure.encode("utf-8", "backslashreplace").decode())
    if failures:
        print(f"{name}: {len(failures)} found", file=sys.stderr)
    return 1 if failures else 0


def repository_root():
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
