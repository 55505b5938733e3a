#!/usr/bin/env python3
"""`sam3 quantize`: packages and single files, what is refused, and that results run."""

import os
import shutil
import unittest

from support import MODEL, SOURCE, ProgramTest, picture

TINY = os.path.join(SOURCE, "tests", "data", "tiny", "dynamo")


def without_extras(folder, target):
    """A copy of the tiny package with the graphs of the two workflows only."""
    shutil.copytree(folder, target)
    for extra in ("detector/model_lsb.onnx", "tracker_vision_encoder/model_no_mem.onnx"):
        os.remove(os.path.join(target, extra))
    return target


class QuantizePackageTest(ProgramTest):
    def test_package(self):
        source = without_extras(TINY, self.path("in"))
        self.write("in/LICENSE", "terms")
        done = self.sam3("quantize", source, "-o", self.path("out"))
        self.assertEqual(done.out, b"")
        self.assertIn("vision_encoder: 33 nodes quantized", done.err)
        self.assertIn("cuts the picture into patches", done.err)
        self.assertEqual(self.read("out", "LICENSE"), b"terms")

        record = self.load("out", "quantization.json")
        self.assertEqual(record["quantization"]["precision"], "int8")
        self.assertIn("onnxruntime", record["versions"])
        graphs = record["graphs"]
        self.assertEqual(graphs["vision_encoder"]["op_types"], ["MatMul", "Conv", "ConvTranspose"])
        self.assertEqual(graphs["tracker_vision_encoder"]["op_types"], ["MatMul"])
        self.assertEqual(
            graphs["vision_encoder"]["quantized"], {"Conv": 6, "ConvTranspose": 3, "MatMul": 24}
        )

        # It moves, it verifies, it runs; a changed byte shows.
        os.rename(self.path("out"), self.path("moved"))
        shutil.rmtree(source)
        verify = ("inspect", "model", "--verify", "--json", "--model", self.path("moved"))
        self.assertEqual(self.sam3(*verify).json["problems"], [])
        self.segment(picture("base.png"), "dog", "--model", self.path("moved"))
        with open(self.path("moved", "detector", "model.onnx.data"), "r+b") as file:
            file.seek(-1, os.SEEK_END)
            last = file.read(1)
            file.seek(-1, os.SEEK_END)
            file.write(bytes([last[0] ^ 1]))
        self.assertIn("SHA-256", str(self.sam3(*verify, code=1).json["problems"]))

    def test_some_graphs(self):
        source = without_extras(TINY, self.path("in"))
        graphs = ("--graphs", "text_encoder,detector", "--ops", "MatMul", "--quiet")
        done = self.sam3("quantize", source, self.path("out"), *graphs)
        self.assertEqual(done.err, "")
        record = self.load("out", "quantization.json")["graphs"]
        self.assertEqual([g for g in record if "quantized" in record[g]], ["detector", "text_encoder"])
        self.assertTrue(record["vision_encoder"]["copied"])

    def test_quantized_already(self):
        done = self.sam3("quantize", MODEL, self.path("out"), "--quiet", code=1)
        self.assert_refused(done, "quantized already")
        self.assertEqual(os.listdir(self.folder), [])


class QuantizeFileTest(ProgramTest):
    def quantize(self, graph, *arguments, **more):
        source = os.path.join(TINY, graph, "model.onnx")
        return self.sam3("quantize", source, self.path("o.onnx"), *arguments, **more)

    def test_convolutions_run(self):
        done = self.quantize("vision_encoder", "--ops", "Conv,MatMul")
        self.assertIn("o: 30 nodes quantized", done.err)
        self.assertEqual(sorted(os.listdir(self.folder)), ["o.onnx", "o.onnx.data"])

    def test_every_precision_runs(self):
        sizes = {}
        for precision in ("int8", "int8-weights", "int8-blocks", "int4-blocks", "fp16"):
            with self.subTest(precision=precision):
                self.quantize("prompt_decoder", "--precision", precision)
                sizes[precision] = os.path.getsize(self.path("o.onnx.data"))
                os.remove(self.path("o.onnx"))
                os.remove(self.path("o.onnx.data"))
        self.assertLess(sizes["int4-blocks"], sizes["int8-blocks"])
        self.assertLess(sizes["int8"], sizes["fp16"])

    def test_weights_only(self):
        self.quantize("text_encoder", "--weights-only")
        self.assertIn(b"DequantizeLinear", self.read("o.onnx"))
        self.assertNotIn(b"DynamicQuantizeLinear", self.read("o.onnx"))

    def test_patterns(self):
        done = self.quantize("text_encoder", "--exclude", "*", code=1)
        self.assertIn("nothing in this graph", done.err)
        self.assertEqual(os.listdir(self.folder), [])
        done = self.quantize("text_encoder", "--verbose", "--exclude", "no node has this name")
        self.assertIn("(MatMul): its second operand is computed at run time", done.err)


class QuantizeRefusedTest(ProgramTest):
    def setUp(self):
        super().setUp()
        shutil.copytree(os.path.join(TINY, "text_encoder"), self.path("in", "text_encoder"))
        self.file = self.path("in", "text_encoder", "model.onnx")

    def refuse(self, *arguments, code=2, parts=()):
        before = sorted(os.listdir(self.folder))
        self.assert_refused(self.sam3("quantize", *arguments, "--quiet", code=code), *parts)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_onto_itself(self):
        os.symlink(self.path("in"), self.path("link"))
        os.link(self.file, self.path("hard.onnx"))
        content = self.read("in", "text_encoder", "model.onnx")
        self.refuse(self.file, self.file, parts=("replace",))
        self.refuse(self.file, self.path("hard.onnx"), parts=("replace",))
        for place in ("in", "in/", "link", "in/new", "."):
            with self.subTest(place=place):
                self.refuse(self.path("in"), self.path(place))
        self.assertEqual(self.read("in", "text_encoder", "model.onnx"), content)

    def test_wrong_usage(self):
        package, out = self.path("in"), self.path("out")
        for arguments, part in (
            ((package,), "no place"),
            ((package, out, "-o", out), "more than one place"),
            ((package, out, "--precision", "int7"), "int7"),
            ((package, out, "--ops", "MatMul,Softmax"), "Softmax"),
            ((package, out, "--precision", "int4-blocks", "--ops", "Conv"), "Conv"),
            ((package, out, "--precision", "fp16", "--weights-only"), "fp16"),
            ((package, out, "--graphs", "nope"), "text_encoder"),
            ((self.file, out, "--graphs", "text_encoder"), "packages"),
        ):
            with self.subTest(arguments=arguments):
                self.refuse(*arguments, parts=(part,))

    def test_bad_input(self):
        self.write("text.onnx", "this is no model")
        os.makedirs(self.path("empty"))
        for name, part in (("none", "no such"), ("text.onnx", "ONNX"), ("empty", "no graphs")):
            with self.subTest(name=name):
                self.refuse(self.path(name), self.path("out"), code=1, parts=(part,))

    def test_cut_weights(self):
        os.truncate(self.path("in", "text_encoder", "model.onnx.data"), 5000)
        self.refuse(self.path("in"), self.path("out"), code=1, parts=("model.onnx.data",))

    def test_what_is_there_stays(self):
        self.write("out/mine", "mine")
        self.refuse(self.path("in"), self.path("out"), parts=("there already",))
        self.write("mine.onnx", "mine")
        self.refuse(self.file, self.path("mine.onnx"), parts=("there already",))
        self.assertEqual(self.read("mine.onnx"), b"mine")


if __name__ == "__main__":
    unittest.main()
