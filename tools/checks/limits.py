#!/usr/bin/env python3
"""Functions over 100 lines, files over 800, more than five parameters: C++, Python, TypeScript.

Constructors that only take data (an empty body) may have more parameters. A function's length
counts from the line of its name to its closing brace, with all lambdas in it."""

import argparse
import ast
import re
import sys

from common import blanked, finish, line_of, listed_files, read, repository_root

FUNCTION_LINES, FUNCTION_NOTE, FILE_LINES, PARAMETERS = 100, 60, 800, 5
# Tables made from the Unicode character database.
GENERATED = ("src/text/unicode_tables.cc",)
SUFFIXES = (".cc", ".h", ".cpp", ".inc", ".py", ".ts", ".tsx")

_TYPE = re.compile(r"(?:^|\s)(?:class|struct|union|enum|interface)\b")
_CONTROL = re.compile(r"(?:^|[\s})])(?:if|for|while|switch|catch|else|do|try|return|with)\b")
_TRAILER = r"(?:const|noexcept|override|final|mutable|volatile|try|&&?)"


class Function:
    """One function: where it stands, how long it is, what it takes."""

    def __init__(self, name, line, lines, parameters, plain_data=False):
        self.name = name
        self.line = line
        self.lines = lines
        self.parameters = parameters
        self.plain_data = plain_data


def without_preprocessor(text):
    """Blanks directives; of an #if whose branches hold unbalanced braces, all but the first."""
    lines = text.split("\n")
    groups = []  # per open #if: [(first line, end line) of each branch]
    continued = False
    for number, line in enumerate(lines):
        directive = re.match(r"\s*#\s*(\w+)", line)
        if not directive and not continued:
            continue
        word = directive.group(1) if directive and not continued else ""
        continued = line.rstrip().endswith("\\")
        lines[number] = " " * len(line)
        if word in ("if", "ifdef", "ifndef"):
            groups.append([[number, number]])
        elif word in ("else", "elif", "endif") and groups:
            groups[-1][-1][1] = number
            if word == "endif":
                blank_branches(lines, groups.pop())
            else:
                groups[-1].append([number, number])
    return "\n".join(lines)


def blank_branches(lines, branches):
    def balance(branch):
        body = "".join(lines[branch[0] : branch[1]])
        return body.count("{") - body.count("}")

    if all(balance(branch) == 0 for branch in branches):
        return
    for first, end in branches[1:]:
        for number in range(first, end):
            lines[number] = " " * len(lines[number])


def spaced(pattern, text):
    """The text with every match as spaces."""
    return re.sub(pattern, lambda match: " " * len(match.group(0)), text)


def closing(text, start):
    """Offset of the bracket that closes the one at `start`, or -1."""
    pairs = {"(": ")", "{": "}", "[": "]"}
    stack = []
    for offset in range(start, len(text)):
        char = text[offset]
        if char in pairs:
            stack.append(pairs[char])
        elif char in ")}]":
            if not stack or stack.pop() != char:
                return -1
            if not stack:
                return offset
    return -1


def count_parameters(text, language):
    """Parameters in a list given without its parentheses. Those of C++ that have no name do not
    count: only a callback whose signature someone else has fixed leaves names out."""
    for pair in ("->", "<=", ">=", "=>"):
        text = text.replace(pair, "  ")
    depth = 0
    parameters = [""]
    for char in text:
        depth += {"(": 1, "<": 1, "[": 1, "{": 1, ")": -1, ">": -1, "]": -1, "}": -1}.get(char, 0)
        if char == "," and depth == 0:
            parameters.append("")
        else:
            parameters[-1] += char
    parameters = [parameter for parameter in parameters if parameter.strip()]
    return len(parameters) if language == "ts" else sum(map(is_named, parameters))


def is_named(parameter):
    qualified = re.sub(r"\w+\s*::\s*", "", parameter.split("=")[0])
    declaration = re.sub(r"\b(?:const|volatile|typename|struct|enum|class)\b", " ", qualified)
    return bool(re.search(r"[\w>)\]][\s*&.(]+\w+", declaration))


def without_templates(head):
    """The head of a declaration with `template <...>` and attributes blanked."""
    head = spaced(r"\[\[[^\]]*\]\]", head)
    while True:
        match = re.search(r"\btemplate\s*<", head)
        if not match:
            return head
        depth = 1
        end = match.end()
        while end < len(head) and depth:
            depth += {"<": 1, ">": -1}.get(head[end], 0)
            end += 1
        head = head[: match.start()] + " " * (end - match.start()) + head[end:]


def outer_parentheses(head):
    """(open, close) of each pair of parentheses that stands in no other."""
    found = []
    offset = 0
    while True:
        start = head.find("(", offset)
        if start < 0:
            return found
        end = closing(head, start)
        if end < 0:
            return found
        found.append((start, end))
        offset = end + 1


def outside_parentheses(head):
    for start, end in outer_parentheses(head):
        head = head[:start] + "(" + " " * (end - start - 1) + ")" + head[end + 1 :]
    return head


class Classifier:
    """What an opening brace begins, from the text since the last statement: 'scope' (a namespace or
    type, whose members are looked at), 'function', or 'data' (an initialiser, skipped)."""

    def __init__(self, language):
        self.language = language

    def classify(self, head):
        """(kind, offset of the name, parameter text)."""
        head = without_templates(head)
        flat = outside_parentheses(head)
        name, parameters = self.named(head, flat)
        if re.search(r"(?:^|\s)(?:namespace|extern)\b", flat) and "(" not in flat:
            return "scope", 0, ""
        if _TYPE.search(flat) and not re.search(rf"\)\s*(?:{_TRAILER}\s*)*(?:->.*|:.*)?$", flat):
            return "scope", 0, ""
        if self.language == "ts":
            return self.classify_ts(head, flat)
        lambda_at = self.lambda_start(flat)
        if lambda_at is not None:
            pairs = [pair for pair in outer_parentheses(head) if pair[0] > lambda_at]
            inner = head[pairs[0][0] + 1 : pairs[0][1]] if pairs else ""
            return "function", lambda_at, inner
        assignment = re.sub(r"operator\s*[^\s\w(]+", " ", flat)
        if re.search(r"(?<![=<>!])=(?!=)", assignment) or name is None:
            return "data", 0, ""
        if self.is_member_initialiser(flat):
            return "member", 0, ""
        return "function", name, parameters

    @staticmethod
    def lambda_start(flat):
        introducer = r"(?:=|\(|,|\breturn)\s*(\[[^\[\]]*\])"
        rest = rf"\s*(?:\(\s*\)\s*)?(?:{_TRAILER}\s*)*(?:->.*)?$"
        match = re.search(introducer + rest, flat)
        return match.start(1) if match else None

    @staticmethod
    def is_member_initialiser(flat):
        """`Foo::Foo() : a_(1), b_` before a brace: it belongs to b_, the body comes later."""
        match = re.search(r"\)[^:()]*(?<!:):(?!:)(.*)$", flat, re.DOTALL)
        return bool(match) and bool(re.search(r"[\w>]\s*$", match.group(1)))

    def named(self, head, flat):
        """(offset of the function's name, its parameter text), or (None, '')."""
        for start, end in outer_parentheses(head):
            before = flat[:start].rstrip()
            match = re.search(r"(?:operator\s*(?:\(\s*\)|[^\w\s]+|\w+)|[~\w:]+)$", before)
            if not match or re.search(r"\b(?:decltype|alignas|noexcept|requires)$", before):
                continue
            if before.endswith("operator"):  # operator(): its parameters are in the next pair
                continue
            return match.start(), head[start + 1 : end]
        return None, ""

    def classify_ts(self, head, flat):
        if re.search(r"\b(?:namespace|module|global)\s*[\w.]*\s*$", flat):
            return "scope", 0, ""
        pairs = outer_parentheses(head)
        arrow = re.search(r"=>\s*$", flat)
        if arrow or (pairs and not _CONTROL.search(flat[: pairs[-1][0]] + " ")):
            declared = re.search(r"\)\s*(?::[^=]*)?\s*(?:=>)?\s*$", flat)
            if declared and pairs:
                name = len(head) - len(head.lstrip())
                return "function", name, head[pairs[-1][0] + 1 : pairs[-1][1]]
            if arrow:
                return "function", len(head) - len(head.lstrip()), ""
        return "data", 0, ""


def scan_braces(text, language):
    """Functions of C++ or TypeScript source whose comments and strings are blanked.

    Looks only at braces outside functions, so a function's length covers everything in it.
    Raises ValueError, with an offset, when the brackets do not match."""
    classifier = Classifier(language)
    functions = []
    scopes = []
    head_start = offset = 0
    while offset < len(text):
        char = text[offset]
        if char in "([":
            end = closing(text, offset)
            if end < 0:
                raise ValueError(offset)
            # A callback given to a call at file level is a function of its own.
            if language == "ts" and "=>" in text[offset:end]:
                functions += scan_callbacks(text, offset + 1, end)
            offset = end
        elif char == ";":
            head_start = offset + 1
        elif char == "}":
            if not scopes:
                raise ValueError(offset)
            scopes.pop()
            head_start = offset + 1
        elif char == "{":
            head = spaced(r"\b(?:public|private|protected)\s*:(?!:)", text[head_start:offset])
            kind, name, parameters = classifier.classify(head)
            if kind == "scope":
                scopes.append(offset)
                head_start = offset + 1
            else:
                end = closing(text, offset)
                if end < 0:
                    raise ValueError(offset)
                if kind == "function":
                    count = count_parameters(parameters, language)
                    places = (head_start, name, offset, end)
                    functions.append(make_function(text, places, count, head))
                    head_start = end + 1
                offset = end
        offset += 1
    if scopes:
        raise ValueError(scopes[-1])
    return functions


def scan_callbacks(text, begin, end):
    found = []
    for match in re.finditer(r"=>\s*\{", text[begin:end]):
        brace = begin + match.end() - 1
        if found and brace < found[-1][1]:
            continue
        found.append((brace, closing(text, brace)))
    return [
        Function("callback", line_of(text, a), line_of(text, b) - line_of(text, a) + 1, 0)
        for a, b in found
    ]


def make_function(text, places, parameters, head):
    head_start, name_at, brace, end = places
    begin = head_start + name_at
    name = re.match(r"\s*(operator\s*(?:\(\s*\)|[^\w\s(]+|\w+)|[~\w:.]+)", text[begin:brace])
    label = name.group(1).strip() if name else "lambda"
    first = line_of(text, begin + len(text[begin:brace]) - len(text[begin:brace].lstrip()))
    is_constructor = re.search(r"(?:^|::)(\w+)$", label) and not re.search(
        r"[\w>&*]\s+$", head[:name_at].replace("explicit", "").replace("constexpr", "")
    )
    plain_data = bool(is_constructor) and text[brace + 1 : end].strip() == ""
    lines = line_of(text, end) - first + 1
    return Function(label, first, lines, parameters, plain_data)


def scan_python(source):
    functions = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        names = [a.arg for a in node.args.posonlyargs + node.args.args + node.args.kwonlyargs]
        if names and names[0] in ("self", "cls"):
            names = names[1:]
        plain_data = node.name == "__init__" and all(
            isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr)) for statement in node.body
        )
        lines = node.end_lineno - node.lineno + 1
        functions.append(Function(node.name, node.lineno, lines, len(names), plain_data))
    return functions


def functions_of(path, source):
    if path.endswith(".py"):
        return scan_python(source)
    language = "ts" if path.endswith((".ts", ".tsx")) else "cpp"
    text = blanked(source, language)
    if language == "cpp":
        text = without_preprocessor(text)
    return scan_braces(text, language)


def check_file(path, source):
    """(failures, notes) of one file."""
    failures, notes = [], []
    count = source.count("\n") + (0 if source.endswith("\n") else 1)
    if count > FILE_LINES:
        failures.append(f"{path}:{FILE_LINES + 1}: {count} lines, the limit is {FILE_LINES}")
    try:
        functions = functions_of(path, source)
    except SyntaxError as error:
        return failures + [f"{path}:{error.lineno}: cannot be parsed: {error.msg}"], notes
    except ValueError as error:
        line = line_of(source, error.args[0])
        return failures + [f"{path}:{line}: brackets do not match; cannot be measured"], notes
    for function in functions:
        place = f"{path}:{function.line}: {function.name}"
        if function.lines > FUNCTION_LINES:
            failures.append(f"{place}: {function.lines} lines, the limit is {FUNCTION_LINES}")
        elif function.lines > FUNCTION_NOTE:
            notes.append(f"{place}: {function.lines} lines (note)")
        if function.parameters > PARAMETERS and not function.plain_data:
            failures.append(
                f"{place}: {function.parameters} parameters, more than {PARAMETERS} want a struct"
            )
    return failures, notes


def main():
    parser = argparse.ArgumentParser(description=" ".join(__doc__.split()))
    parser.add_argument("--root", default=repository_root())
    parser.add_argument("--notes", action="store_true", help="also list functions over 60 lines")
    parser.add_argument("--list", action="store_true", help="print every function found")
    arguments = parser.parse_args()
    failures = []
    for path in listed_files(arguments.root, SUFFIXES):
        if path in GENERATED:
            continue
        source = read(arguments.root, path)
        found, notes = check_file(path, source)
        failures += found
        if arguments.notes:
            print(*notes, sep="\n", end="\n" if notes else "")
        if arguments.list:
            for function in functions_of(path, source):
                place = f"{path}:{function.line}: {function.name}"
                print(place, function.lines, function.parameters)
    return finish("limits", failures)


if __name__ == "__main__":
    sys.exit(main())
