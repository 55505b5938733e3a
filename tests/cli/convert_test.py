"""sam3 convert: checkpoints to packages, and what it says about bad ones."""

import json
import os
import shutil
import struct
import unittest

from support import SOURCE, ProgramTest

CHECKPOINT = os.path.join(SOURCE, "tests", "data", "tiny", "checkpoint")
PICTURE = os.path.join(SOURCE, "tests", "data", "tiny", "io", "picture.png")


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class ConvertTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.out = self.path("out")

    def run_program(self, *arguments):
        return self.sam3(*arguments, code=None)

    def convert(self, *arguments):
        return self.run_program("convert", *arguments, "--out", self.out)

    def ask(self, model, *more):
        done = self.run_program("segment", PICTURE, "plastic bottle", "--model", model, "--json", "-", *more)
        self.assertEqual(done.code, 0, done.err)
        return json.loads(done.text)["detections"]

    def test_every_precision_runs(self):
        reference = None
        for precision in ("fp32", "int8", "fp16", "int8-weights", "int8-blocks"):
            out = os.path.join(self.folder, precision)
            done = self.run_program("convert", CHECKPOINT, "-o", out, "--precision", precision, "--quiet")
            self.assertEqual((done.code, done.err), (0, ""))
            found = self.ask(out)
            reference = reference or found
            self.assertLessEqual(abs(len(found) - len(reference)), 2, precision)
            verified = self.run_program("verify", out)
            self.assertEqual(verified.code, 0, verified.text)

    def test_browser_family(self):
        self.assertEqual(self.convert(CHECKPOINT, "--family", "browser", "--precision", "fp32").code, 0)
        self.assertEqual(
            sorted(os.listdir(self.out)),
            ["clip_tokenizer.json", "model.json", "quantization.json", "sam3_decoder.onnx",
             "sam3_decoder.onnx.data", "sam3_image_encoder.onnx", "sam3_image_encoder.onnx.data",
             "sam3_language_encoder.onnx", "sam3_language_encoder.onnx.data"],
        )  # fmt: skip
        self.assertTrue(self.ask(self.out))

    def test_exemplars(self):
        self.assertEqual(self.convert(CHECKPOINT, "--exemplars").code, 0)
        self.assertIn("geometry_encoder", os.listdir(self.out))
        self.ask(self.out, "--box", "290,200,380,270")

    def test_description_and_checksums(self):
        self.convert(CHECKPOINT, "--name", "my model")
        self.assertEqual(load(os.path.join(self.out, "model.json"))["name"], "my model")
        record = load(os.path.join(self.out, "quantization.json"))
        self.assertEqual(record["quantization"]["precision"], "int8")
        self.assertIn("sha256", record["graphs"]["detector"]["files"]["model.onnx"])
        self.assertEqual(self.run_program("inspect", "model", "--model", self.out, "--verify").code, 0)
        with open(os.path.join(self.out, "detector", "model.onnx.data"), "r+b") as file:
            file.seek(100)
            file.write(b"\x55\x55")
        damaged = self.run_program("verify", self.out)
        self.assertEqual(damaged.code, 1)
        self.assertIn("SHA-256", damaged.text)

    def test_half_precision_checkpoint_gives_the_same_answers(self):
        half = os.path.join(self.folder, "half")
        os.mkdir(half)
        shutil.copy(os.path.join(CHECKPOINT, "config.json"), half)
        write_half(os.path.join(CHECKPOINT, "model.safetensors"), half)
        self.convert(CHECKPOINT, "--precision", "fp32")
        from_half = os.path.join(self.folder, "from-half")
        done = self.run_program("convert", half, "-o", from_half, "--precision", "fp32")
        self.assertEqual(done.code, 0, done.err)
        one, other = self.ask(self.out), self.ask(from_half)
        self.assertEqual(len(one), len(other))
        for a, b in zip(one, other):
            self.assertAlmostEqual(a["score"], b["score"], delta=0.05)

    def test_random_weights_from_a_configuration(self):
        config = os.path.join(CHECKPOINT, "config.json")
        self.assertEqual(self.convert(config, "--random-init", "7", "--precision", "fp32").code, 0)
        self.ask(self.out)
        again = os.path.join(self.folder, "again")
        self.run_program("convert", config, "--random-init", "7", "--precision", "fp32", "-o", again)
        for graph in ("detector", "vision_encoder"):
            paths = [os.path.join(d, graph, "model.onnx.data") for d in (self.out, again)]
            with open(paths[0], "rb") as one, open(paths[1], "rb") as other:
                self.assertEqual(one.read(), other.read())

    def test_wrong_usage(self):
        for arguments, word in (
            ((CHECKPOINT, "--precision", "int7"), "int7"),
            ((CHECKPOINT, "--family", "seven"), "seven"),
            ((CHECKPOINT, "--no-mem", "some"), "some"),
            ((CHECKPOINT, "--random-init", "-3"), "-3"),
            ((os.path.join(CHECKPOINT, "config.json"),), "config.json"),
            ((CHECKPOINT, "--family", "browser", "--exemplars"), "--exemplars"),
            ((), "CHECKPOINT"),
        ):
            done = self.convert(*arguments)
            self.assertEqual(done.code, 2, done.err)
            self.assertIn(word, done.err)
            self.assertFalse(os.path.exists(self.out))
        self.assertEqual(self.run_program("convert", CHECKPOINT).code, 2)

    def test_a_place_that_is_taken(self):
        os.mkdir(self.out)
        with open(os.path.join(self.out, "mine.txt"), "w", encoding="utf-8") as file:
            file.write("keep")
        done = self.convert(CHECKPOINT)
        self.assertEqual(done.code, 2)
        self.assertIn("there already", done.err)
        self.assertEqual(os.listdir(self.out), ["mine.txt"])

    def test_a_checkpoint_with_the_name_of_unfinished_work_stays(self):
        source = self.path("out.partial")
        shutil.copytree(CHECKPOINT, source)
        before = sorted(os.listdir(source))
        done = self.convert(source)
        self.assertEqual(done.code, 2, done.err)
        self.assertEqual(sorted(os.listdir(source)), before)

    def test_a_tokenizer_that_does_not_fit(self):
        self.write("tokenizer/tokenizer.json", "{}")
        done = self.convert(CHECKPOINT, "--tokenizer", self.path("tokenizer"))
        self.assertEqual(done.code, 1, done.err)
        self.assertFalse(os.path.exists(self.out))
        config = load(os.path.join(CHECKPOINT, "config.json"))
        config["detector_config"]["text_config"]["vocab_size"] = 1000
        small = self.write("small.json", json.dumps(config))
        done = self.convert(small, "--random-init", "1")
        self.assertEqual(done.code, 1, done.err)
        self.assertIn("1000 tokens", done.err)

    def test_bad_checkpoints_leave_nothing_behind(self):
        bad = os.path.join(self.folder, "bad")
        os.mkdir(bad)
        self.expect_failure(bad, "config.json")
        shutil.copy(os.path.join(CHECKPOINT, "config.json"), bad)
        self.expect_failure(bad, "model.safetensors")
        weights = os.path.join(bad, "model.safetensors")
        with open(weights, "wb") as file:
            file.write(struct.pack("<Q", 1 << 62) + b"{}")
        self.expect_failure(bad, "header")
        with open(os.path.join(CHECKPOINT, "model.safetensors"), "rb") as file:
            content = file.read()
        with open(weights, "wb") as file:
            file.write(content[: len(content) // 2])
        self.expect_failure(bad, "lies at")

    def expect_failure(self, checkpoint, word):
        done = self.convert(checkpoint)
        self.assertEqual(done.code, 1, done.err)
        self.assertIn(word, done.err)
        self.assertEqual([f for f in os.listdir(self.folder) if f.startswith("out")], [])


def write_half(path, folder):
    """The checkpoint's tensors as float16, split into two files with an index."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    names = sorted(header)
    weight_map = {}
    for number, part in enumerate((names[::2], names[1::2])):
        entries, chunks, at = {}, [], 0
        for name in part:
            begin, end = header[name]["data_offsets"]
            values = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
            half = struct.pack(f"<{len(values)}e", *values)
            entries[name] = {
                "dtype": "F16",
                "shape": header[name]["shape"],
                "data_offsets": [at, at + len(half)],
            }
            chunks.append(half)
            at += len(half)
            weight_map[name] = f"model-{number}.safetensors"
        text = json.dumps(entries).encode()
        with open(os.path.join(folder, f"model-{number}.safetensors"), "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + b"".join(chunks))
    with open(os.path.join(folder, "model.safetensors.index.json"), "w", encoding="utf-8") as file:
        json.dump({"weight_map": weight_map}, file)


if __name__ == "__main__":
    unittest.main()
