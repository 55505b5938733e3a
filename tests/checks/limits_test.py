#!/usr/bin/env python3
"""tools/checks/limits.py measures what it should, and nothing fools it."""

import unittest

from check_test import CheckTest
import limits


def lines(count, text="  step();\n"):
    return text * count


def found(source, path="a.cc"):
    """{name: (first line, lines, parameters)} of the functions in a source text."""
    return {f.name: (f.line, f.lines, f.parameters) for f in limits.functions_of(path, source)}


class LimitsTest(CheckTest):
    check = "limits.py"

    def test_function_length(self):
        self.write("src/a.cc", "namespace x {\nvoid f() {\n" + lines(98) + "}\n}\n")
        self.assert_passes()
        self.write("src/a.cc", "namespace x {\nvoid f() {\n" + lines(99) + "}\n}\n")
        self.assert_fails("src/a.cc:2: f: 101 lines")

    def test_notes_do_not_fail(self):
        self.write("src/a.cc", "void f() {\n" + lines(60) + "}\n")
        status, notes = self.run_check("--root", self.root, "--notes")
        self.assertEqual((status, notes), (0, ["src/a.cc:1: f: 62 lines (note)"]))

    def test_file_length(self):
        self.write("src/a.h", lines(800, "// x\n"))
        self.assert_passes()
        self.write("src/a.h", lines(801, "// x\n"))
        self.write("src/text/unicode_tables.cc", lines(5000, "// x\n"))
        self.assert_fails("src/a.h:801: 801 lines")

    def test_parameters(self):
        self.write("src/a.cc", "void five(int a, int b, int c, int d, std::map<int, int> e) {}\n")
        self.assert_passes()
        self.write("src/a.cc", "\nvoid six(int a, int b, int c, int d, int e, int f) {}\n")
        self.assert_fails("src/a.cc:2: six: 6 parameters")

    def test_constructors_of_data(self):
        six = "(int a, int b, int c, int d, int e, int f)"
        self.write("src/a.h", f"struct P {{\n  P{six} : a_(a), b_{{b}} {{}}\n}};\n")
        self.assert_passes()
        self.write(
            "src/a.h", f"struct P {{\n  P{six} : a_(a), b_{{b}} {{\n    work();\n  }}\n}};\n"
        )
        self.assert_fails("src/a.h:2: P: 6 parameters")

    def test_callbacks_with_a_given_signature(self):
        source = (
            "void on_log(void*, Level level, const char*, const char*, Id, const char* text) {}"
        )
        self.assertEqual(found(source)["on_log"], (1, 1, 2))

    def test_lambdas_count_for_the_function_around_them(self):
        body = "  run(n, [&](int i) {\n" + lines(99) + "  });\n"
        self.write("src/a.cc", "void f() {\n" + body + "}\n")
        self.assert_fails("src/a.cc:1: f: 103 lines")

    def test_lambda_outside_functions(self):
        self.assertEqual(
            list(found("const auto k = [](int a) {\n  x();\n};\n").values()), [(1, 3, 1)]
        )

    def test_strings_and_comments(self):
        source = (
            "void f() {\n"
            '  call("}}}", \'}\', "\\"}");  // }}}\n'
            '  text = R"x(}}}\n)}" )x";\n'
            "  /* }\n  } */\n"
            "  n = 1'000'000;\n"
            "}\n"
            "void g() {}\n"
        )
        self.assertEqual(found(source), {"f": (1, 8, 0), "g": (9, 1, 0)})

    def test_shapes_of_cpp(self):
        source = """namespace a::b {
enum class E : int { kA, kB };
struct S final : public Base<int> {
  int x = 0;
  std::vector<int> v{1, 2};
 public:
  S() : x(1), v{3} { go(); }
  explicit S(int a, int b = f(1)) noexcept(true) : Base{a} { x = b; }
  ~S() override { close(); }
  bool operator()(int i) const { return i; }
  bool operator==(const S& o) const { return x == o.x; }
  explicit operator bool() const { return x; }
  auto get() const -> std::pair<int, int> { return {1, 2}; }
};
constexpr std::array<int, sizeof(int)> kTable = {{1, 2, 3}};
template <typename T, int N = (3 > 2 ? 1 : 0)>
  requires std::integral<T>
[[nodiscard]] std::map<T, std::vector<int>> make(T a,
                                                 int b) {
  for (;;) { if (a) { return {}; } else { b = S{1}.x; } }
}
TEST(Group, Case) { EXPECT_TRUE(true); }
extern "C" { int c_call(void) { return 1; } }
void S::run() && try { } catch (...) { }
}  // namespace a::b
"""
        functions = limits.functions_of("a.cc", source)
        names = [function.name for function in functions]
        self.assertEqual(
            names[:7], ["S", "S", "~S", "operator()", "operator==", "operator bool", "get"]
        )
        by_name = {function.name: function for function in functions}
        self.assertEqual((by_name["make"].lines, by_name["make"].parameters), (4, 2))
        self.assertTrue({"TEST", "c_call", "S::run"} <= set(names))
        self.assertFalse({"kTable", "E", "Base"} & set(names))

    def test_preprocessor_branches(self):
        source = "#if A\nvoid f(int a) {\n#else\nvoid f(int b, int c) {\n#endif\n  x();\n}\n"
        self.assertEqual(found(source), {"f": (2, 6, 1)})
        self.assertEqual(found("#define X(a) { \\\n  {\nvoid f() {}\n"), {"f": (3, 1, 0)})

    def test_brackets_that_do_not_match(self):
        self.write("src/a.cc", "void f() {\n  if (x) {\n}\n")
        self.assert_fails("brackets do not match")

    def test_python(self):
        self.write("tools/a.py", "def f(a, b, *, c, d, e):\n" + lines(99, "    x()\n"))
        self.write("tools/b.py", "def g(a, b, c, d, e, f):\n" + lines(100, "    x()\n"))
        self.write("tools/c.py", "class C:\n    def m(self, a, b, c, d, e):\n        pass\n")
        self.assert_fails("tools/b.py:1: g: 101 lines", "tools/b.py:1: g: 6 parameters")

    def test_python_that_cannot_be_read(self):
        self.write("tools/a.py", "def f(:\n")
        self.assert_fails("tools/a.py:1: cannot be parsed")

    def test_typescript(self):
        source = """import { a } from "x";
interface Shape { width: number; height: number }
export function first(a: number, b: Map<string, number> = new Map()): string {
  return `}${a}{`.replace(/[{"]/g, "{");
}
const table = { one: 1, two: { three: 3 } };
export const second = async (x: number) => {
  await x;
};
class Worker extends Base {
  constructor(private readonly port: Port) { super(); }
  async run(job: Job): Promise<void> {
    if (job) { go(); }
  }
}
describe("x", () => {
  it("y", () => { z(); });
});
"""
        measured = [(f.line, f.lines, f.parameters) for f in limits.functions_of("a.ts", source)]
        self.assertEqual(measured, [(3, 3, 2), (7, 3, 1), (11, 1, 1), (12, 3, 1), (16, 3, 0)])

    def test_long_typescript(self):
        self.write("web/a.ts", "export const f = () => {\n" + lines(99) + "};\n")
        self.assert_fails("web/a.ts:1: ")


if __name__ == "__main__":
    unittest.main()
