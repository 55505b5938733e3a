"""Writes src/text/unicode_tables.cc.

    pip install -r tools/unicode/requirements.txt
    python tools/unicode/make_tables.py > src/text/unicode_tables.cc

Sources, one package for each kind of data:
  regex 2024.11.6    General_Category L*, N*, Cc, Cf, White_Space and Default_Ignorable_Code_Point of Unicode 16.0, the
                     version of the expression engine inside `tokenizers`
  tokenizers 0.23.3  lower case of single code points (Rust's, Unicode 17.0); and which code points its composition (NFC)
                     does not know: its data are those of Unicode 9.0, what came later neither moves nor composes
  unicodedata2 18.0  combining classes and decompositions of the newest Unicode: the code points worth asking about
"""
import sys

import regex
import unicodedata2
from tokenizers import normalizers

CODE_POINTS = [i for i in range(0x110000) if not 0xD800 <= i <= 0xDFFF]
CLASSES = [("L", 1, r"\p{L}"), ("N", 2, r"\p{N}"), ("S", 4, r"\p{White_Space}"),
           ("I", 8, r"(?V1)[[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]--[\p{Prepended_Concatenation_Mark}]]")]


def runs(values):
    """[(first, last, value)] of a {code point: value} dict, neighbours with one value joined."""
    result = []
    for code, value in sorted(values.items()):
        if result and result[-1][1] == code - 1 and result[-1][2] == value:
            result[-1][1] = code
        else:
            result.append([code, code, value])
    return result


def class_ranges():
    expressions = [(bit, regex.compile(text)) for _, bit, text in CLASSES]
    bits = {i: sum(bit for bit, e in expressions if e.match(chr(i))) for i in CODE_POINTS}
    return runs({i: b for i, b in bits.items() if b})


def lower_ranges():
    """[(first, last, step, delta)]: every `step`-th code point from first to last has its lower case `delta` further on."""
    lower = normalizers.Lowercase().normalize_str
    result = []
    for i in CODE_POINTS:
        low = lower(chr(i))
        if low == chr(i):
            continue
        if len(low) != 1:
            assert i == 0x130 and low == "i\u0307", hex(i)
            continue
        delta = ord(low) - i
        if result and result[-1][3] == delta:
            first, last, step, _ = result[-1]
            if i - last in (1, 2) and (first == last or i - last == step):
                result[-1] = [first, i, i - last, delta]
                continue
        result.append([i, i, 1, delta])
    return result


def inert_ranges():
    nfc = normalizers.NFC().normalize_str
    inert = {}
    for i in CODE_POINTS:
        c = chr(i)
        decomposed = unicodedata2.normalize("NFD", c)
        samples = [decomposed] if decomposed != c else []
        if unicodedata2.combining(c):
            samples += ["q" + c + "\u0334", "q" + c + "\u0323", "q\u0345" + c]
        if any(nfc(s) != unicodedata2.normalize("NFC", s) for s in samples):
            inert[i] = 0
    return runs(inert)


def table(type_name, name, rows):
    print(f"constexpr {type_name} {name}Data[] = {{")
    line = "   "
    for row in rows:
        text = " {" + ", ".join(row) + "},"
        if len(line) + len(text) > 100:
            print(line)
            line = "   "
        line += text
    print(line + "\n};")


def main():
    hexa = "0x{:X}".format
    print("// Made by tools/unicode/make_tables.py; change that instead.\n"
          "// clang-format off\n"
          '#include "text/unicode_tables.h"\n\nnamespace sam3::text {\nnamespace {\n')
    table("ClassRange", "kClassRanges", [(hexa(a), hexa(b), str(v)) for a, b, v in class_ranges()])
    print()
    table("LowerRange", "kLowerRanges", [(hexa(a), hexa(b), str(s), str(d)) for a, b, s, d in lower_ranges()])
    print()
    table("CodeRange", "kInertRanges", [(hexa(a), hexa(b)) for a, b, _ in inert_ranges()])
    print("\n}  // namespace\n\n"
          "const std::span<const ClassRange> kClassRanges = kClassRangesData;\n"
          "const std::span<const LowerRange> kLowerRanges = kLowerRangesData;\n"
          "const std::span<const CodeRange> kInertRanges = kInertRangesData;\n\n"
          "}  // namespace sam3::text")


if __name__ == "__main__":
    sys.exit(main())
