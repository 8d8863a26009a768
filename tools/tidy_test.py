#!/usr/bin/env python3
"""Shows that each rule of tools/tidy bites, and that it lets pass what it should."""

import importlib.machinery
import importlib.util
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import cpp_scan  # noqa: E402

loader = importlib.machinery.SourceFileLoader("tidy", str(HERE / "tidy"))
tidy = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", loader))
loader.exec_module(tidy)

ORDER = """add_subdirectory(base)
# worker before supervise
foreach(module model store wire worker
        supervise engine app)
endforeach()
"""


def check(files):
    """The errors of a checkout that has these files, each as `file:line: rule`."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {"src/CMakeLists.txt": ORDER, **files}.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return [":".join(error.split(":")[:3]) for error in tidy.Tidy(folder).run()]


class Case(unittest.TestCase):
    def assert_bites(self, name, text, *expected):
        self.assertEqual(check({name: text}), [f"{name}:{error}" for error in expected])

    def assert_passes(self, name, text):
        self.assertEqual(check({name: text}), [])


class Includes(Case):
    def test_order_is_read_from_cmake(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "src").mkdir()
            (Path(folder) / "src/CMakeLists.txt").write_text(ORDER)
            self.assertEqual(tidy.module_order(Path(folder)), "base model store wire worker supervise engine app".split())

    def test_down_and_sideways_pass(self):
        self.assert_passes("src/engine/a.cc", '#include "base/b.h"\n#include "engine/c.h"\n#include "supervise/d.h"\n')

    def test_up_bites(self):
        self.assert_bites("src/model/a.h", '#pragma once\n#include "store/b.h"\n', "2: include-direction")

    def test_only_app_includes_worker(self):
        self.assert_bites("src/supervise/a.cc", '#include "worker/w.h"\n', "1: include-direction")
        self.assert_passes("src/app/main.cc", '#include "worker/w.h"\n')
        self.assert_passes("src/worker/a.cc", '#include "worker/w.h"\n')

    def test_module_without_a_place(self):
        self.assert_bites("src/extra/a.cc", '#include "base/b.h"\n', "1: include-direction")

    def test_relative_path(self):
        self.assert_bites("src/model/a.cc", '#include "run.h"\n', "1: include-path")

    def test_bench_and_tests_stand_above(self):
        self.assert_passes("bench/a.cc", '#include "engine/loop.h"\n#include "bench/floor.h"\n')

    def test_commented_include_counts_not(self):
        self.assert_passes("src/model/a.cc", '// #include "store/b.h"\n/*\n#include "store/b.h"\n*/\n')

    def test_duckdb_header(self):
        self.assert_bites("src/worker/session.cc", "#include <duckdb.h>\n", "1: duckdb")
        self.assert_bites("src/engine/a.cc", '#include "duckdb.h"\n', "1: duckdb")
        self.assert_passes("src/worker/duckdb/session.cc", "#include <duckdb.h>\n")

    def test_foreign_header_in_header(self):
        self.assert_bites("src/store/a.h", "#include <vector>\n#include <sqlite3.h>\n", "2: foreign-header")
        self.assert_bites("src/store/a.h", "#include <boost/asio.hpp>\n", "1: foreign-header")
        self.assert_passes("src/store/a.cc", "#include <sqlite3.h>\n")
        self.assert_passes("src/store/sqlite/a.h", "#include <sqlite3.h>\n")
        self.assert_passes("src/store/a.h", "#include <sys/types.h>\n#include <poll.h>\n#include <boost/json/fwd.hpp>\n")

    def test_test_library_in_test_header(self):
        self.assert_passes("src/store/conformance/suite.h", "#include <gtest/gtest.h>\n")
        self.assert_bites("src/store/suite.h", "#include <gtest/gtest.h>\n", "1: foreign-header")


class Lengths(Case):
    def test_file(self):
        self.assert_bites("src/base/a.cc", "int a;\n" * 500, "500: file-length")
        self.assert_passes("src/base/a.cc", "int a;\n" * 499)
        self.assert_passes("docs/a.md", "text\n" * 900)

    def test_cpp_function(self):
        self.assert_bites("src/base/a.cc", "\nint f() {\n" + "  g();\n" * 68 + "}\n", "2: function-length")
        self.assert_passes("src/base/a.cc", "int f() {\n" + "  g();\n" * 67 + "}\n")

    def test_python_function(self):
        self.assert_bites("tools/a.py", "def f():\n" + "    g()\n" * 69, "1: function-length")
        self.assert_bites("tools/a", "#!/usr/bin/env python3\ndef f():\n" + "    g()\n" * 69, "2: function-length")
        self.assert_passes("tools/a.py", "def f():\n" + "    g()\n" * 68)

    def test_shell_function(self):
        self.assert_bites("tools/a.sh", "f() {\n" + "  g\n" * 68 + "}\n", "1: function-length")
        self.assert_passes("tools/a.sh", "f() {\n" + "  g\n" * 67 + "}\n")


class Calls(Case):
    def test_clock_and_random(self):
        for call in (
            "std::chrono::system_clock::now()", "std::chrono::steady_clock::now()", "clock_gettime(CLOCK_REALTIME, &t)",
            "gettimeofday(&t, nullptr)", "time(nullptr)", "std::time(0)", "std::random_device seed", "rand()", "getrandom(p, 8, 0)",
        ):
            with self.subTest(call):
                text = f"void f() {{\n  {call};\n}}\n"
                for name in ("src/engine/a.cc", "src/engine/a_test.cc", "bench/a.cc", "tests/sim/a.cc"):
                    self.assert_bites(name, text, "2: clock-or-random")
                self.assert_passes("src/base/clock.cc", text)
                self.assert_passes("bench/floor.cc", text)

    def test_what_only_looks_like_a_clock(self):
        self.assert_passes("src/engine/a.cc", 'auto t = clock.now(); // time(nullptr)\nauto s = "rand()"; int operand(int); int time(Run&);\n')

    def test_regex(self):
        self.assert_bites("src/base/a.cc", "#include <regex>\nstd::regex r(x);\n", "1: std-regex", "2: std-regex")

    def test_sleep_in_tests(self):
        self.assert_bites("src/base/a_test.cc", "std::this_thread::sleep_for(x);\nusleep(5);\n", "1: sleep-in-test", "2: sleep-in-test")
        self.assert_bites("tests/e2e/test_a.py", "import time\ntime.sleep(1)\n", "2: sleep-in-test")
        self.assert_passes("tests/e2e/waiting.py", "import time\ntime.sleep(0.01)\n")
        self.assert_passes("tests/e2e/test_a.py", 'step = ["sleep", "5"]\n')

    def test_using_namespace(self):
        self.assert_bites("src/base/a.h", "using namespace std;\n", "1: using-namespace")
        self.assert_passes("src/base/a.cc", "using namespace std::literals;\n")


class Sql(Case):
    def test_updates(self):
        for sql in ("UPDATE run SET state = 1", "INSERT INTO run VALUES (1)", "INSERT OR IGNORE INTO x", "DELETE FROM run", "delete from run where id=1"):
            with self.subTest(sql):
                self.assert_bites("src/engine/a.cc", f'\nauto sql = "{sql}";\n', "2: sql-update")
                self.assert_bites("src/engine/a.cc", f'auto sql = R"x(\n{sql})x";\n', "1: sql-update")
                for name in ("src/store/sqlite/a.cc", "src/worker/duckdb/a.cc", "src/engine/a_test.cc"):
                    self.assert_passes(name, f'auto sql = "{sql}";\n')

    def test_what_is_no_update(self):
        self.assert_passes("src/engine/a.cc", 'if (method == "DELETE") say("UPDATE");  // DELETE FROM run\nauto a = "insert into the queue";\n')


class Machine(Case):
    def test_paths(self):
        for path in ("/wo" "rk/main/x", "/ro" "ot/.npmrc", "/ho" "me/ada/x"):
            self.assert_bites("docs/a.md", f"see\n{path}\n", "2: machine-path")
        self.assert_passes("docs/a.md", "frame" "/wo" "rk/x and /var/lib/eider\n")

    def test_registries(self):
        self.assert_bites("docs/a.md", "https://registry.npm" "js.org\n", "1: registry-host")
        self.assert_bites("x/package-lock.json", '{\n"resolved": "https://example.org/a.tgz"}\n', "2: registry-host")

    def test_what_git_ignores_is_not_read(self):
        for name in ("build-asan/x.md", "a/node_modules/x.md", "other/x.md"):
            extra = {"other/CMakeCache.txt": ""} if name.startswith("other") else {}
            self.assertEqual(check({name: "/wo" "rk/x\n", **extra}), [])

    def test_bytes_are_skipped(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "src").mkdir()
            (Path(folder) / "src/CMakeLists.txt").write_text(ORDER)
            (Path(folder) / "a.parquet").write_bytes(b"\xff\xfe/wo" b"rk/x")
            self.assertEqual(tidy.Tidy(folder).run(), [])


def found(text):
    return [(f.name, f.line, f.length) for f in cpp_scan.functions(cpp_scan.scan(text).code)]


class Scanner(unittest.TestCase):
    def test_literals_and_comments(self):
        source = cpp_scan.scan("""a("x\\"{", 'y', '"') /* { " */ + 1'000'000 + R"q({ ")" )q" // {\n+ u8R"(b)" + FOOR"(c)";\n""")
        self.assertNotIn("{", source.code)
        self.assertEqual(source.literals, [(1, '"x\\"{"'), (1, 'R"q({ ")" )q"'), (2, 'u8R"(b)"'), (2, '"(c)"')])
        self.assertIn("1'000'000 +", source.code)

    def test_lines_stay(self):
        text = 'a\n/* b\n c */\nR"(d\ne)"\n"f\\\ng"\n'
        self.assertEqual(cpp_scan.scan(text).code.count("\n"), text.count("\n"))

    def test_plain_method_and_test(self):
        self.assertEqual(
            found("namespace a::b {\nint f(int x) {\n  if (x) {\n  }\n}\nvoid A::g() const noexcept {\n}\n}\nTEST(Suite, name) {\n}\n"),
            [("f", 2, 4), ("A::g", 6, 2), ("TEST(Suite, name)", 9, 2)],
        )

    def test_methods_in_a_class(self):
        self.assertEqual(
            found("class A : public B<int(int)> {\n public:\n  A() : x_{1}, y_(2), z_{{3}} {\n  }\n  int f() { return 1; }\n private:\n"
                  "  int& operator[](int i) {\n    return x_;\n  }\n  int x_{3};\n  std::vector<int> v_ = {1, 2};\n  ~A() {}\n};\n"),
            [("A", 3, 2), ("f", 5, 1), ("operator[]", 7, 3), ("~A", 12, 1)],
        )

    def test_signature_of_several_lines_counts(self):
        self.assertEqual(found("template <typename T = A<1>>\nT f(\n    int a = 1,\n    B b = {})\n    -> T {\n}\n"), [("f", 1, 6)])

    def test_lambdas(self):
        self.assertEqual(found("void f() {\n  g([&](int x) {\n    h();\n  });\n}\n"), [("f", 1, 5)])
        self.assertEqual(found("const auto k = [](int x) -> int {\n  return x;\n};\nint f() {\n}\n"), [("lambda", 1, 3), ("f", 4, 2)])

    def test_lambda_in_an_initialiser_list(self):
        text = "A::A(int a)\n    : x_{a}, y_([this] { f(); }), z_{[](int b) { return b; }} {\n  g();\n}\nint h() {\n}\n"
        self.assertEqual(found(text), [("A::A", 1, 4), ("lambda", 2, 1), ("lambda", 2, 1), ("h", 5, 2)])

    def test_tables_are_no_functions(self):
        self.assertEqual(found("const Row kTable[] = {\n  {a(1), {2}},\n  {b(2), {}},\n};\nstruct S { int a; };\nenum class E { x = 1 };\n"), [])

    def test_local_class_is_part_of_its_function(self):
        self.assertEqual(found("int f() {\n  struct L {\n    int g() { return 1; }\n  };\n  return 0;\n}\n"), [("f", 1, 6)])

    def test_macro_with_a_brace(self):
        self.assertEqual(found("#define BEGIN \\\n  do {\nint f() {\n}\n"), [("f", 3, 2)])

    def test_operators(self):
        self.assertEqual(found("bool operator==(A a, A b) {\n}\nA& A::operator=(A&& a) {\n}\nA::operator bool() const {\n}\n"),
                         [("operator==", 1, 2), ("A::operator=", 3, 2), ("A::operator bool", 5, 2)])


if __name__ == "__main__":
    unittest.main()
