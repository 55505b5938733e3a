#!/usr/bin/env python3
"""Reads every #include of src/, apps/, include/ and python/ and holds it against one table.

The table below is the only one; docs/architecture.md shows it between two marks, and this check
fails when the two differ (`layers.py --write` writes the text anew). Includes are direct: that
model may include runtime and runtime may include base does not say anything about api and runtime.
"""

import argparse
import os
import re
import sys

from common import blanked, finish, line_of, listed_files, read, repository_root

# layer: (layers whose headers it may include, other libraries that it may include).
# Every layer of src/ may include itself, base, include/sam3 and the standard library.
LAYERS = {
    "base": ((), ("posix",)),
    "image": ((), ("simd",)),
    "text": ((), ("utf8proc", "nlohmann-json")),
    "mask": ((), ("simd",)),
    "graph": ((), ("onnx schema", "protobuf", "posix")),
    "runtime": ((), ("onnxruntime", "posix", "simd")),
    "checksum": ((), ("glib",)),
    "formats": ((), ("libvips", "glib", "libpng", "zlib", "nlohmann-json", "posix")),
    "fetch": (("checksum",), ("libcurl", "nlohmann-json", "posix")),
    "rewrite": (("graph",), ("onnx schema", "protobuf")),
    "model": (("rewrite", "graph", "runtime", "image", "text", "mask"), ("nlohmann-json",)),
    "convert": (("graph",), ("onnx schema", "protobuf", "nlohmann-json", "posix")),
    "eval": (("model", "mask"), ("nlohmann-json",)),
    "quantize": (("checksum", "graph", "eval", "model", "runtime"), ("onnx schema", "protobuf", "nlohmann-json")),
    "api": (("model", "formats"), ()),
}

# Pure layers also build for WebAssembly: no files, no threads, no terminal.
PURE = ("image", "text", "mask")
IMPURE_HEADERS = {
    "condition_variable",
    "filesystem",
    "fstream",
    "future",
    "iostream",
    "semaphore",
    "stop_token",
    "syncstream",
    "thread",
}
TERMINAL_HEADERS = {"iostream", "syncstream"}

# apps/ and python/ call the library through include/sam3. Beyond that: these layers whole, and
# these single headers.
APPS_LAYERS = ("convert", "quantize", "eval", "formats", "fetch", "checksum")
APPS_HEADERS = (
    "base/log.h",
    "base/macros.h",
    "base/options.h",
    "base/parallel.h",
    "base/staged_folder.h",
    "base/utf8.h",
)
APPS_LIBRARIES = ("CLI11", "nlohmann-json", "cpp-httplib", "nanobind", "sqlite", "posix")

LIBRARIES = {
    "onnxruntime": r"onnxruntime\w*\.h|core/(session|providers)/.*|\w+_provider_factory\.h",
    "libvips": r"vips/.*|glib-object\.h",
    "glib": r"glib\.h",
    "libpng": r"png\w*\.h|libpng\w*/.*",
    "zlib": r"z(lib|conf)\.h",
    "libcurl": r"curl/.*",
    "onnx schema": r"(onnx/)?onnx[\w-]*\.pb\.h",
    "protobuf": r"google/protobuf/.*",
    "utf8proc": r"utf8proc\.h",
    "nlohmann-json": r"nlohmann/.*",
    "CLI11": r"CLI/.*",
    "cpp-httplib": r"httplib\.h",
    "nanobind": r"nanobind/.*",
    "sqlite": r"sqlite3\.h",
    "simd": r"\w*intrin\.h|cpuid\.h|arm_neon\.h|hwy/.*",
    "posix": r"(sys|linux|netinet|arpa)/.*|spawn\.h"
    r"|(dlfcn|fcntl|glob|poll|pthread|sched|signal|termios|unistd)\.h",
}

STANDARD = set(
    """algorithm any array atomic barrier bit bitset cassert ccomplex cctype cerrno cfenv cfloat
    charconv chrono cinttypes climits clocale cmath codecvt compare complex concepts
    condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring
    ctime cuchar cwchar cwctype deque exception execution expected filesystem format
    forward_list fstream functional future initializer_list iomanip ios iosfwd iostream istream
    iterator latch limits list locale map memory memory_resource mutex new numbers numeric
    optional ostream queue random ranges ratio regex scoped_allocator semaphore set shared_mutex
    source_location span sstream stack stdexcept stop_token streambuf string string_view
    syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map
    unordered_set utility valarray variant vector version
    stddef.h stdint.h stdbool.h string.h""".split()
)

DOCUMENT = "docs/architecture.md"
BEGIN, END = "<!-- layers: begin -->", "<!-- layers: end -->"
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|"([^"\n]+)"|(\w+))', re.MULTILINE)


def documented():
    """The table as Markdown."""
    rows = ["| folder | may include the headers of | and of |", "|---|---|---|"]
    rows.append("| `include/sam3` | itself | the standard library only |")
    for layer, (layers, libraries) in LAYERS.items():
        name = f"`src/{layer}`" + (" (pure)" if layer in PURE else "")
        others = [f"`{other}`" for other in (() if layer == "base" else ("base", *layers))]
        rows.append(f"| {name} | {', '.join(others) or 'itself'} | {', '.join(libraries) or '–'} |")
    apps = [f"`{layer}`" for layer in APPS_LAYERS] + [f"`{header}`" for header in APPS_HEADERS]
    rows.append(f"| `apps`, `python` | {', '.join(apps)} | {', '.join(APPS_LIBRARIES)} |")
    return "\n".join(rows)


def owner_of(path):
    """The layer, `apps` or `include` that a file belongs to; None when it belongs to none."""
    parts = path.split("/")
    if parts[0] == "src":
        return parts[1] if len(parts) > 2 and parts[1] in LAYERS else None
    return {"include": "include", "apps": "apps", "python": "apps"}.get(parts[0])


def library_of(header):
    for name, pattern in LIBRARIES.items():
        if re.fullmatch(pattern, header):
            return name
    return None


def complaint(root, path, owner, header, quoted):
    """What is wrong with one include line, or None."""
    if ".." in header.split("/") or header.startswith("/"):
        return "write the path from include/ or src/, without .."
    first = header.split("/")[0]
    if first == "sam3":
        exists = os.path.exists(os.path.join(root, "include", header))
        return None if exists else "no such header in include/"
    if first in LAYERS and "/" in header and os.path.isdir(os.path.join(root, "src", first)):
        return project_complaint(root, owner, first, header)
    if quoted and owner == "apps" and is_own_header(root, path, header):
        return None
    if header in STANDARD:
        return standard_complaint(owner, header)
    library = library_of(header)
    if library is None:
        return "neither standard nor of a library in the table of tools/checks/layers.py"
    allowed = {"include": (), "apps": APPS_LIBRARIES}.get(owner)
    if allowed is None:
        allowed = LAYERS[owner][1]
    return None if library in allowed else f"{owner} must not include {library}"


def standard_complaint(owner, header):
    if owner in PURE and header in IMPURE_HEADERS:
        return f"{owner} is pure: no files, no threads, no terminal"
    if owner != "apps" and header in TERMINAL_HEADERS:
        return "the library does not print"
    return None


def project_complaint(root, owner, layer, header):
    if not is_project_header(root, header):
        return "no such header in src/"
    if owner == "include":
        return "public headers include only each other and the standard library"
    if owner == "apps":
        allowed = layer in APPS_LAYERS or header in APPS_HEADERS
    else:
        allowed = layer in (owner, "base") or layer in LAYERS[owner][0]
    return None if allowed else f"{owner} must not include {layer}"


def is_project_header(root, header):
    # Headers that the build generates (unicode tables, option tables) carry .inc and may be absent.
    return header.endswith(".inc") or os.path.exists(os.path.join(root, "src", header))


def is_own_header(root, path, header):
    """Whether an application's include names a header of that same application."""
    application = "/".join(path.split("/")[:2])
    candidates = (os.path.join(os.path.dirname(path), header), os.path.join("apps", header))
    return any(
        os.path.normpath(c).startswith(application + "/") and os.path.exists(os.path.join(root, c))
        for c in candidates
    )


def check_includes(root):
    failures = []
    folders = ("src", "include", "apps", "python")
    for path in listed_files(root, (".h", ".cc", ".cpp", ".inc"), folders):
        owner = owner_of(path)
        if owner is None:
            failures.append(f"{path}:1: not in a folder of the table of tools/checks/layers.py")
            continue
        text = blanked(read(root, path), keep_strings=True)
        for match in _INCLUDE.finditer(text):
            angled, quoted, macro = match.groups()
            if macro:
                problem = "an include by macro cannot be checked"
            else:
                problem = complaint(root, path, owner, angled or quoted, bool(quoted))
            if problem:
                place = f"{path}:{line_of(text, match.start(match.lastindex))}"
                failures.append(f'{place}: "{angled or quoted or macro}": {problem}')
    return failures


def check_table():
    """The table must not go in a circle: layers are built one after the other."""
    done = set()
    while len(done) < len(LAYERS):
        ready = {layer for layer, (needs, _) in LAYERS.items() if done.issuperset(needs)} - done
        if not ready:
            return [f"tools/checks/layers.py:1: circle among {sorted(set(LAYERS) - done)}"]
        done |= ready
    return []


def check_document(root, write):
    path = os.path.join(root, DOCUMENT)
    if not os.path.exists(path):
        return [f"{DOCUMENT}:1: missing"]
    text = read(root, DOCUMENT)
    begin, end = text.find(BEGIN), text.find(END)
    if begin < 0 or end < begin:
        return [f"{DOCUMENT}:1: the marks {BEGIN} and {END} are missing"]
    wanted = f"{BEGIN}\n{documented()}\n"
    if text[begin:end] == wanted:
        return []
    if not write:
        line = line_of(text, begin)
        return [f"{DOCUMENT}:{line}: differs from the table; run tools/checks/layers.py --write"]
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[:begin] + wanted + text[end:])
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", default=repository_root())
    parser.add_argument("--write", action="store_true", help=f"write the table into {DOCUMENT}")
    arguments = parser.parse_args()
    failures = check_table() + check_includes(arguments.root)
    failures += check_document(arguments.root, arguments.write)
    return finish("layers", failures)


if __name__ == "__main__":
    sys.exit(main())
