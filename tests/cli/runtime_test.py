#!/usr/bin/env python3
"""Models, devices, threads: what is opened, and what is said when it is not what it should be."""

import hashlib
import json
import os
import shutil
import subprocess
import time
import unittest

from support import MODEL, SQUARE, TIMEOUT, ProgramTest, environment, model_copy, picture, program

TEXT_GRAPHS = ("vision_encoder", "text_encoder", "detector")
POINT_GRAPHS = ("tracker_vision_encoder", "prompt_decoder")


class ModelFilesTest(ProgramTest):
    def detect(self, model, **more):
        return self.sam3("detect", picture("base.png"), "black square", "--model", model, **more)

    def test_from_any_folder(self):
        names = set()
        for model in (MODEL, os.path.relpath(MODEL, self.folder), MODEL + "/"):
            done = self.detect(model)
            self.assert_found(done, "black square", SQUARE)
            names.add(done.json["model"])
        self.assertEqual(len(names), 1, names)

    def test_through_links_as_in_download_caches(self):
        # snap/GRAPH/model.onnx -> ../../blobs/...: names say nothing, and the graph's side file
        # does not lie beside what the link leads to.
        os.makedirs(self.path("blobs"))
        for graph in (*TEXT_GRAPHS, *POINT_GRAPHS, "tokenizer"):
            os.makedirs(self.path("snap", graph))
            for name in os.listdir(os.path.join(MODEL, graph)):
                blob = f"{len(os.listdir(self.path('blobs'))):03}"
                shutil.copy(os.path.join(MODEL, graph, name), self.path("blobs", blob))
                os.symlink(f"../../blobs/{blob}", self.path("snap", graph, name))
        self.assert_found(self.detect("snap"), "black square", SQUARE)
        answer, _ = self.points(picture("base.png"), "--point", "200,140", "--model", "snap")
        self.assert_box(answer["box"], SQUARE, 0.8)

    def test_the_environment_names_it(self):
        done = self.sam3(
            "detect", picture("base.png"), "dog", env={"SAM3_MODEL": "nowhere"}, code=1
        )
        self.assert_refused(done, "nowhere")
        self.sam3(
            "detect", picture("base.png"), "dog", "--model", MODEL, env={"SAM3_MODEL": "nowhere"}
        )

    def change(self, graph, name, change):
        """A copy of the model with one of the graph's files changed or removed."""
        model = model_copy(self.path(f"model-{len(os.listdir(self.folder))}"), without=(graph,))
        shutil.copytree(os.path.join(MODEL, graph), os.path.join(model, graph))
        path = os.path.join(model, graph, name)
        if change is None:
            os.remove(path)
        else:
            with open(path, "rb") as file:
                content = change(file.read())
            with open(path, "wb") as file:
                file.write(content)
        return model

    def test_pointer_files(self):
        pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 12345\n" % (
            b"ab" * 32
        )
        for name in ("model.onnx", "model.onnx.data"):
            with self.subTest(name=name):
                model = self.change("vision_encoder", name, lambda _: pointer)
                done = self.detect(model, code=1)
                self.assert_refused(done, "vision_encoder", "LFS")

    def test_cut_and_missing_files(self):
        cases = (
            ("model.onnx.data", lambda content: content[: len(content) // 2], "bytes"),
            ("model.onnx.data", lambda content: b"", ""),
            ("model.onnx.data", None, ""),
            ("model.onnx", lambda content: content[: len(content) // 2], ""),
            ("model.onnx", lambda content: b"", "empty"),
            ("model.onnx", lambda content: b"<html>not found</html>", ""),
            ("model.onnx", None, ""),
        )
        for name, change, word in cases:
            with self.subTest(name=name, word=word):
                done = self.detect(self.change("detector", name, change), code=1)
                self.assert_refused(done, "detector", name, word)
        model = model_copy(self.path("no tokenizer"), without=("tokenizer",))
        self.assert_refused(self.detect(model, code=1), "tokenizer")

    def test_what_is_missing_is_a_list(self):
        model = self.path("two\nlines")
        shutil.copytree(MODEL, model)
        for graph in ("detector", "text_encoder"):
            os.remove(os.path.join(model, graph, "model.onnx"))
        lines = self.detect(model, code=1).err.splitlines()
        self.assertEqual(len([line for line in lines if line.startswith("  - ")]), 2, lines)
        self.assertIn("  - detector: ", "\n".join(lines))
        self.assertTrue(all("two\\x0alines" in line for line in lines), lines)

    def test_checksums_on_request(self):
        def sums(model):
            graphs = {}
            for graph in (*TEXT_GRAPHS, *POINT_GRAPHS):
                files = graphs.setdefault(graph, {"files": {}})["files"]
                for name in os.listdir(os.path.join(model, graph)):
                    with open(os.path.join(model, graph, name), "rb") as file:
                        files[name] = {"sha256": hashlib.sha256(file.read()).hexdigest()}
            return {"graphs": graphs}

        model = self.change("detector", "model.onnx.data", lambda content: content)
        if os.path.lexists(os.path.join(model, "quantization.json")):
            os.remove(os.path.join(model, "quantization.json"))  # a link into the sources
        verify = ("inspect", "model", "--verify", "--json", "--model", model)
        record = os.path.join(model, "quantization.json")
        recorded = json.dumps(sums(model))
        with open(record, "w", encoding="utf-8") as file:
            file.write(recorded)
        self.assertEqual(self.sam3(*verify).json["problems"], [])
        with open(os.path.join(model, "detector", "model.onnx.data"), "r+b") as file:
            file.seek(1000)
            old = file.read(1)
            file.seek(1000)
            file.write(bytes([old[0] ^ 1]))
        (problem,) = self.sam3(*verify, code=1).json["problems"]
        self.assertIn(os.path.join("detector", "model.onnx.data"), problem)
        self.assertIn("SHA-256", problem)
        for text in ("", "{}", "[]", '{"graphs": 1}', "{"):
            with self.subTest(text=text):
                with open(record, "w", encoding="utf-8") as file:
                    file.write(text)
                self.assertTrue(self.sam3(*verify, code=1).json["problems"])
        os.remove(record)
        self.assertTrue(self.sam3(*verify, code=1).json["problems"])

    def test_what_is_no_model(self):
        os.mkdir(self.path("empty"))
        self.write("file", "x")
        for model, word in (("empty", "no model"), ("file", "folder"), ("missing", "no such")):
            with self.subTest(model=model):
                self.assert_refused(self.detect(model, code=1), model, word)

    def test_graphs_in_each_others_place(self):
        model = model_copy(self.path("swapped"), without=("detector", "prompt_decoder"))
        for place, other in (("detector", "prompt_decoder"), ("prompt_decoder", "detector")):
            os.symlink(os.path.join(MODEL, other), os.path.join(model, place))
        done = self.detect(model, code=1)
        # The differences are listed: what is missing, in the words of the graph.
        self.assertIn("text_features", done.err, done)
        self.assertIn("detector", done.err, done)
        self.assertNotIn("prompt_decoder", done.err, done)
        done = self.sam3("points", picture("base.png"), "--point", "9,9", "--model", model, code=1)
        self.assertIn("input_points", done.err, done)
        done = self.sam3("inspect", "model", "--model", model, code=None)
        self.assertNotEqual(done.code, 0, done)


class OpenedFilesTest(ProgramTest):
    """A command opens only the graphs that it needs."""

    def test_graphs_of_the_other_workflow_may_be_absent(self):
        text = model_copy(self.path("text"), without=POINT_GRAPHS)
        point = model_copy(self.path("point"), without=TEXT_GRAPHS)
        done = self.segment(picture("base.png"), "black square", "--model", text)
        self.assert_found(done, "black square", SQUARE)
        answer, _ = self.points(picture("base.png"), "--point", "200,140", "--model", point)
        self.assert_box(answer["box"], SQUARE, 0.8)
        # What is missing for the other command is said.
        done = self.sam3("segment", picture("base.png"), "dog", "--model", point, code=1)
        self.assert_refused(done, "vision_encoder")
        done = self.sam3("points", picture("base.png"), "--point", "9,9", "--model", text, code=1)
        self.assert_refused(done, "tracker_vision_encoder")

    def test_graphs_of_the_other_workflow_are_not_opened(self):
        # A session of such a file would be an error.
        cases = (
            (("segment", picture("base.png"), "dog"), POINT_GRAPHS),
            (("points", picture("base.png"), "--point", "200,140"), TEXT_GRAPHS),
        )
        for run, unneeded in cases:
            with self.subTest(command=run[0]):
                model = model_copy(self.path(run[0]), without=unneeded)
                for graph in unneeded:
                    os.makedirs(os.path.join(model, graph))
                    for name in ("model.onnx", "model.onnx.data"):
                        with open(os.path.join(model, graph, name), "wb") as file:
                            file.write(b"broken")
                self.sam3(*run, "--model", model)


class DevicesTest(ProgramTest):
    def test_devices(self):
        for arguments in ((), ("--device", "auto"), ("--device", "cpu")):
            done = self.sam3("detect", picture("base.png"), "dog", *arguments)
            self.assertEqual(done.json["device"], "cpu", done)
        done = self.sam3("detect", picture("base.png"), "dog", "--device", "cuda", code=1)
        self.assert_refused(done, "cuda", "cannot be had")
        for device in ("banana", "", "cpu:x", "cpu:-1", "cuda:"):
            with self.subTest(device=device):
                done = self.sam3("detect", picture("base.png"), "dog", f"--device={device}", code=2)
                self.assertIn(device, done.err)

    def test_version_lists_them(self):
        done = self.sam3("--version")
        self.assertRegex(
            done.text, r"\Asam3 \d+\.\d+\.\d+\nONNX Runtime \d+\.\d+\.\d+\ndevices:.* cpu"
        )

    def test_another_library(self):
        library = {"SAM3_ONNXRUNTIME_LIBRARY": self.write("library.so", "none")}
        done = self.sam3("detect", picture("base.png"), "dog", env=library, code=1)
        self.assertIn("library.so", done.err)
        done = self.sam3("--version", env=library, code=1)
        self.assertIn("library.so", done.text)


class ThreadsTest(ProgramTest):
    def threads(self, cores, *arguments):
        """How many threads run the model, as --verbose tells."""

        def limit():
            os.sched_setaffinity(0, cores)

        done = subprocess.run(
            [program(), "detect", picture("base.png"), "black square", "--verbose", *arguments],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=limit,
        )
        error = done.stderr.decode()
        self.assertEqual(done.returncode, 0, error)
        self.assertNotIn("affinity", error)
        return int(error.split(" threads")[0].split()[-1])

    def test_as_many_as_processors_may_be_used(self):
        cores = sorted(os.sched_getaffinity(0))
        self.assertEqual(self.threads(cores[:1]), 1)
        self.assertTrue(1 <= self.threads(cores) <= len(cores))
        self.assertEqual(self.threads(cores[:1], "--threads", "3"), 3)

    def test_one_thread_is_one_thread(self):
        peak = {}
        for count in (1, 3):
            process = subprocess.Popen(
                [program(), "classes", "--classes", "dog", "--threads", str(count), "--quiet", "--"]
                + [picture("base.png")] * 3,
                env=environment(),
                stdout=subprocess.DEVNULL,
            )
            busy = set()
            end = time.monotonic() + TIMEOUT
            while process.poll() is None and time.monotonic() < end:
                busy |= self.busy_threads(process.pid)
                time.sleep(0.01)
            self.assertEqual(process.wait(), 0)
            peak[count] = len(busy)
        self.assertEqual(peak[1], 1)
        self.assertGreater(peak[3], 1)  # else this test could not fail

    def busy_threads(self, pid):
        """Threads that have used more than a few hundredths of a second."""
        busy = set()
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/stat") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
                if int(fields[11]) + int(fields[12]) > 4:
                    busy.add(thread)
        except (FileNotFoundError, ProcessLookupError):
            pass
        return busy

    def test_counts_that_make_no_sense(self):
        for count in ("0", "-1", "x", "1.5", "0x2", "1e0", "", "99999999999999999999", "2 3"):
            with self.subTest(count=count):
                done = self.sam3("detect", picture("base.png"), "dog", f"--threads={count}", code=2)
                self.assert_refused(done, "--threads", count)

    def test_same_answer_with_any_number(self):
        answers = []
        for count in ("1", "3"):
            done = self.segment(picture("base.png"), "black square", "--threads", count)
            answers.append(self.assert_found(done, "black square", SQUARE))
        for answer in answers[1:]:
            self.assertAlmostEqual(answer["score"], answers[0]["score"], delta=1e-4)
            for a, b in zip(answer["box"], answers[0]["box"]):
                self.assertAlmostEqual(a, b, delta=0.1)


class ExitTest(ProgramTest):
    def test_twenty_runs(self):
        answers = set()
        for run in range(20):
            if run % 4:
                self.sam3("points", picture("base.png"), "--point", "200,140", "--threads", "2")
                continue
            done = self.sam3("detect", picture("base.png"), "black square", "--threads", "2")
            answers.add(str(done.json["detections"]))
        self.assertEqual(len(answers), 1)

    def test_low_memory_gives_the_same(self):
        pictures = [picture("base.png"), picture("ring.png"), picture("base.png")]
        plain, low = (
            self.sam3("classes", "--classes", "black square", *options, "--", *pictures).lines
            for options in ((), ("--low-memory",))
        )
        for entry in (*plain, *low):
            del entry["timings"]
        self.assertEqual(low, plain)
        self.assertEqual(plain[0], plain[2])


if __name__ == "__main__":
    unittest.main()
