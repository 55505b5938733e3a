"""sam3 verify: self-test, gates against a reference, search."""

import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from support import MODEL, SOURCE, ProgramTest, environment, program

TINY = os.path.join(SOURCE, "tests", "data", "tiny")
CHECKPOINT = os.path.join(TINY, "checkpoint")
PICTURE = os.path.join(TINY, "io", "picture.png")


class VerifyTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.prompts = self.write("prompts.txt", "dog\nplastic bottle\n")

    def run_program(self, *arguments):
        return self.sam3(*arguments, code=None)

    def converted(self, precision):
        out = self.path(precision)
        done = self.run_program("convert", CHECKPOINT, "-o", out, "--precision", precision)
        self.assertEqual(done.code, 0, done.err)
        return out

    def compare(self, candidate, *more):
        return self.run_program(
            "verify", candidate, "--reference", self.reference, "--images", PICTURE,
            "--prompts", self.prompts, "--json", "--quiet", *more,
        )  # fmt: skip

    def test_the_demo_model_is_as_recorded(self):
        done = self.run_program("verify", MODEL)
        self.assertEqual(done.code, 0, done.text)
        self.assertNotIn("note:", done.text)

    def test_the_phrases_of_the_scenes_are_those_of_their_truth(self):
        scenes = os.path.join(SOURCE, "tests", "data", "scenes")
        with open(os.path.join(scenes, "truth.json"), encoding="utf-8") as file:
            truth = json.load(file)["pictures"]
        with open(os.path.join(scenes, "prompts.json"), encoding="utf-8") as file:
            prompts = json.load(file)
        self.assertEqual(prompts, {p["file"]: [q["text"] for q in p["prompts"]] for p in truth})

    def test_a_self_test_notices_other_weights(self):
        package = self.converted("int8")
        self.assertEqual(self.run_program("verify", package, "--record").code, 0)
        self.assertEqual(self.run_program("verify", package).code, 0)
        other = self.path("other")
        config = os.path.join(CHECKPOINT, "config.json")
        self.run_program("convert", config, "--random-init", "1", "-o", other)
        shutil.copy(os.path.join(package, "self_test.json"), other)
        done = self.run_program("verify", other)
        self.assertEqual(done.code, 1)
        self.assertIn("self-test:", done.text)
        with open(os.path.join(other, "self_test.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        self.assertIn("damaged", self.run_program("verify", other).err)

    def test_gates_as_json_and_page(self):
        self.reference = self.converted("fp32")
        page = self.path("page")
        done = self.compare(self.converted("int8"), "--limit", "0.9", "--page", page, "--layers")
        self.assertEqual(done.code, 0, done.text)
        document = json.loads(done.text)
        self.assertEqual(len(document["gates"]), 7)
        self.assertTrue(all(gate["passed"] for gate in document["gates"]))
        self.assertIn("/backbone/layers.0/attention/q_proj/MatMul",
                      [one["node"] for one in document["layers"]["vision_encoder"]])  # fmt: skip
        with open(os.path.join(page, "index.html"), encoding="utf-8") as file:
            self.assertIn("detection F1", file.read())

    def test_a_failed_gate_fails_the_command(self):
        self.reference = self.converted("fp32")
        other = self.path("other")
        config = os.path.join(CHECKPOINT, "config.json")
        self.run_program("convert", config, "--random-init", "1", "--precision", "fp32", "-o", other)
        done = self.compare(other, "--graphs", "detector")
        self.assertEqual(done.code, 1)
        self.assertFalse(json.loads(done.text)["passed"])

    def test_layers_are_compared_across_types(self):
        self.reference = self.converted("fp32")
        done = self.compare(self.converted("fp16"), "--layers", "--graphs", "text_encoder")
        self.assertEqual(done.code, 0, done.text + done.err)
        layers = json.loads(done.text)["layers"]["text_encoder"]
        self.assertGreater(len(layers), 6)
        self.assertFalse([one for one in layers if not 0 < one["error"] < 0.05])
        # Products of two activations, as in attention, are no layers.
        self.assertTrue(all("proj" in one["node"] or "fc" in one["node"] for one in layers))

    def test_a_package_for_clicks_alone_can_be_compared(self):
        self.reference = self.converted("fp32")
        for graph in ("vision_encoder", "text_encoder", "detector"):
            shutil.rmtree(os.path.join(self.reference, graph))
        done = self.run_program(
            "verify", self.converted("int8"), "--reference", self.reference, "--images", PICTURE,
            "--json", "--quiet", "--limit", "0.9",
        )  # fmt: skip
        self.assertEqual(done.code, 0, done.text + done.err)
        gates = json.loads(done.text)["gates"]
        self.assertEqual([gate["graph"] for gate in gates],
                         ["tracker_vision_encoder", "prompt_decoder", "point graphs"])  # fmt: skip
        self.assertEqual({gate["prompts"] for gate in gates}, {17})

    def test_an_interrupted_run_leaves_no_files(self):
        temporary = self.path("temporary")
        os.mkdir(temporary)

        def left():
            return [name for name in os.listdir(temporary) if name.startswith("sam3")]

        for signum in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen(
                [program(), "verify", MODEL, "--reference", MODEL, "--images", PICTURE,
                 "--prompts", self.prompts],
                env=environment({"TMPDIR": temporary}), stdout=subprocess.PIPE,
            ) as run:  # fmt: skip
                while not left():
                    time.sleep(0.01)
                run.send_signal(signum)
                run.communicate()
            self.assertEqual(run.returncode, -signum)
            self.assertEqual(left(), [])

    def test_search_names_nodes_to_leave_out(self):
        self.reference = self.converted("fp32")
        done = self.compare(self.reference, "--search", "text_encoder", "--limit", "0.01")
        self.assertEqual(done.code, 0, done.err)
        found = json.loads(done.text)["search"]
        self.assertTrue(found["passed"])
        self.assertGreaterEqual(found["value"], 0.99)
        out = self.path("quantized")
        exclude = ["--exclude", *found["exclude"]] if found["exclude"] else []
        made = self.run_program("quantize", self.reference, "-o", out, "--graphs", "text_encoder", *exclude)
        self.assertEqual(made.code, 0, made.err)
        done = self.compare(out, "--graphs", "text_encoder", "--limit", "0.01")
        self.assertEqual(done.code, 0, done.text)

    def test_bad_questions_and_pictures(self):
        self.reference = MODEL
        for content, word in (
            ('["cat"]', "list"),
            ('{"picture.png": "cat"}', "no list"),
            ('{"picture.png": [1]}', "no text"),
            ('{"picture.png": [' + "[" * 100000 + "]" * 100000 + "]}", "no text"),
            ("{", "JSON"),
        ):
            self.write("prompts.txt", content)
            done = self.compare(MODEL)
            self.assertEqual(done.code, 1, done.err)
            self.assertIn(word, done.err)
        self.write("prompts.txt", "square")
        self.write("bad.png", "no picture")
        done = self.run_program(
            "verify", MODEL, "--reference", MODEL, "--images", PICTURE, self.path("bad.png"),
            "--prompts", self.prompts, "--graphs", "text_encoder", "--quiet",
        )  # fmt: skip
        self.assertEqual(done.code, 1)
        self.assertIn("bad.png", done.text)
        self.assertIn("text_encoder", done.text)

    def test_a_page_does_not_overwrite(self):
        self.reference = MODEL
        self.write("page/index.html", "mine")
        self.assertEqual(self.compare(MODEL, "--page", self.path("page")).code, 2)
        self.assertEqual(self.read("page", "index.html"), b"mine")

    def test_wrong_usage(self):
        for arguments, word in (
            (("--layers",), "--reference"),
            (("--reference", MODEL), "--images"),
            (("--reference", MODEL, "--images", PICTURE), "prompt"),
            (("--precision", "int9"), "int9"),
            (("--reference", "two\nlines", "--images", PICTURE), "two\\x0alines"),
            (("--reference", MODEL, "--images", PICTURE, "--prompts", self.path("none")), "none"),
        ):
            done = self.run_program("verify", MODEL, *arguments)
            self.assertIn(done.code, (1, 2))
            self.assertIn(word, done.err)


if __name__ == "__main__":
    unittest.main()
