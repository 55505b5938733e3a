#!/usr/bin/env python3
"""Every rule of tools/checks/layers.py, kept and broken."""

import unittest

from check_test import CheckTest
import layers


class LayersTest(CheckTest):
    check = "layers.py"

    def setUp(self):
        super().setUp()
        self.write(layers.DOCUMENT, f"# X\n\n{layers.BEGIN}\n{layers.documented()}\n{layers.END}\n")
        for header in ("base/log.h", "base/secret.h", "mask/mask_io.h", "model/core.h"):
            self.write(f"src/{header}", "#pragma once\n")
        self.write("include/sam3/mask.h", "#pragma once\n#include <vector>\n")

    def test_good_tree(self):
        own = '#include "model/core.h"\n#include "mask/mask_io.h"\n#include "base/secret.h"\n'
        self.write("src/model/core.cc", own + '#include "sam3/mask.h"\n#include <thread>\n')
        self.write("src/runtime/session.cc", "#include <onnxruntime_cxx_api.h>\n")
        self.write("src/formats/png.cc", "#include <png.h>\n#include <vips/vips.h>\n")
        self.write("src/graph/file.cc", '#include "onnx-ml.pb.h"\n#include <sys/mman.h>\n')
        self.write("apps/cli/flags.h", "#pragma once\n")
        includes = '#include "flags.h"\n#include "cli/flags.h"\n#include "base/log.h"\n'
        self.write("apps/cli/main.cc", includes + "#include <CLI/CLI.hpp>\n#include <iostream>\n")
        self.assert_passes()

    def test_upward_and_sideways(self):
        self.write("src/mask/a.cc", '#include <vector>\n#include "model/core.h"\n')
        self.write("src/text/b.cc", '#include "mask/mask_io.h"\n')
        self.assert_fails(
            'src/mask/a.cc:2: "model/core.h": mask must not include model',
            'src/text/b.cc:1: "mask/mask_io.h": text must not include mask',
        )

    def test_rights_are_not_inherited(self):
        """api may include model, and model may include mask; that does not give api mask."""
        self.write("src/api/facade.cc", '#include "model/core.h"\n#include "mask/mask_io.h"\n')
        self.assert_fails("src/api/facade.cc:2:")

    def test_libraries_stay_in_their_layer(self):
        for layer, header in (
            ("model", "onnxruntime_c_api.h"),
            ("api", "onnxruntime_cxx_api.h"),
            ("image", "vips/vips.h"),
            ("api", "png.h"),
            ("runtime", "onnx/onnx-ml.pb.h"),
            ("model", "CLI/CLI.hpp"),
        ):
            with self.subTest(layer=layer, header=header):
                self.write(f"src/{layer}/x.cc", f"#include <{header}>\n")
                self.assert_fails(f'src/{layer}/x.cc:1: "{header}": {layer} must not include')
                self.write(f"src/{layer}/x.cc", "")

    def test_pure_layers(self):
        headers = ("thread", "fstream", "filesystem", "iostream")
        for layer in layers.PURE:
            with self.subTest(layer=layer):
                self.write(f"src/{layer}/x.h", "".join(f"#include <{h}>\n" for h in headers))
                self.assert_fails(*[f'"{h}": {layer} is pure' for h in headers])
                self.write(f"src/{layer}/x.h", "")

    def test_public_headers(self):
        lines = '#include "base/log.h"\n#include <nlohmann/json.hpp>\n#include "sam3/no.h"\n'
        self.write("include/sam3/bad.h", lines)
        self.assert_fails("bad.h:1:", "bad.h:2:", "bad.h:3:")

    def test_library_does_not_print(self):
        self.write("src/model/a.cc", "#include <sstream>\n#include <iostream>\n")
        self.write("include/sam3/bad.h", "#include <iostream>\n")
        self.assert_fails(
            'include/sam3/bad.h:1: "iostream": the library does not print',
            'src/model/a.cc:2: "iostream": the library does not print',
        )

    def test_apps(self):
        lines = '#include "base/secret.h"\n#include "model/core.h"\n#include "mask/mask_io.h"\n'
        self.write("apps/cli/main.cc", lines + "#include <onnxruntime_c_api.h>\n")
        self.assert_fails("main.cc:1:", "main.cc:2:", "main.cc:3:", "main.cc:4:")

    def test_comments_do_not_count_and_do_not_hide(self):
        text = '/* #include "model/core.h" */\n// #include <thread>\n/*\n#include <thread>\n*/\n'
        self.write("src/mask/a.cc", text + '  #  include   "model/core.h" // why\n')
        self.assert_fails('src/mask/a.cc:6: "model/core.h"')

    def test_odd_ways_to_include(self):
        lines = '#include "../model/core.h"\n#include HEADER\n#include "mystery.h"\n'
        self.write("src/mask/a.cc", lines + '#include <boost/any.hpp>\n#include "mask/none.h"\n')
        self.assert_fails("a.cc:1:", "a.cc:2:", "a.cc:3:", "a.cc:4:", "a.cc:5:")

    def test_unknown_folder(self):
        self.write("src/misc/a.cc", "")
        self.assert_fails("src/misc/a.cc:1:")

    def test_document_must_show_the_table(self):
        path = self.write(layers.DOCUMENT, f"# X\n{layers.BEGIN}\n| old |\n{layers.END}\nafter\n")
        self.assert_fails(f"{layers.DOCUMENT}:2: differs")
        self.assert_passes("--root", self.root, "--write")
        self.assert_passes()
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.startswith("# X\n") and text.endswith(f"{layers.END}\nafter\n"))

    def test_table_without_circles(self):
        self.assertEqual(layers.check_table(), [])
        original = layers.LAYERS["mask"]
        self.addCleanup(layers.LAYERS.__setitem__, "mask", original)
        layers.LAYERS["mask"] = (("model",), ())
        self.assertEqual(len(layers.check_table()), 1)


if __name__ == "__main__":
    unittest.main()
