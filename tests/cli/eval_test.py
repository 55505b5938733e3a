#!/usr/bin/env python3
"""`sam3 eval`: results against the numbers of pycocotools and SA-Co's reference; the demo model
against the truth of drawn scenes, also when it is interrupted."""

import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from support import SOURCE, ProgramTest, environment, parse_json, program

GOLDEN = os.path.join(SOURCE, "tests", "data", "eval")
SCENES = os.path.join(SOURCE, "tests", "data", "scenes")
MEASURES = "AP AP50 AP75 AP_small AP_medium AP_large AR1 AR10 AR100 AR_small AR_medium AR_large"
NAMES_OF_SA_CO = {"cgF1": "cgF1", "pmF1": "positive_micro_F1", "IL_MCC": "IL_MCC", "F1": "F1"}


def load(name):
    with open(os.path.join(GOLDEN, name), encoding="utf-8") as file:
        return json.load(file)


class EvalResultsTest(ProgramTest):
    """Result files that exist."""

    def setUp(self):
        super().setUp()
        self.case = load("random_2.case.json")
        self.truth = self.write("truth.json", json.dumps(self.case["truth"]))
        self.results = self.write("results.json", json.dumps(self.case["results"]))

    def evaluate(self, *arguments, **more):
        return self.sam3("eval", "--truth", "truth.json", *arguments, **more)

    def test_numbers_are_those_of_the_references(self):
        found = self.evaluate("--results", "results.json", "--json").json
        for kind, key in (("box", "bbox"), ("mask", "segm")):
            expected = self.case["expected"][key]
            for name, value in zip(MEASURES.split(), expected["all"], strict=True):
                self.assertAlmostEqual(found[kind][name], value, 6, (kind, name))
            for prompt, value in zip(found["prompts"], expected["categories"], strict=True):
                self.assertAlmostEqual(prompt[f"AP_{kind}"], value[0], 6, prompt)
        for name, reference in NAMES_OF_SA_CO.items():
            value = self.case["expected"]["segm"]["sa_co"][reference]
            self.assertAlmostEqual(found["sa_co"][name], value, 6, name)
        for prompt, value in zip(found["prompts"], self.case["expected"]["matching"], strict=True):
            self.assertEqual(prompt["matches"], value["matches"], prompt)
            self.assertAlmostEqual(
                prompt["F1"], 2 * value["matches"] / (value["detections"] + value["objects"])
            )

    def test_table(self):
        done = self.evaluate("--results", "results.json")
        numbers = self.case["expected"]["bbox"]["all"]
        row = next(line for line in done.text.splitlines() if line.startswith("boxes"))
        self.assertEqual(row.split()[1:], [f"{value:.3f}" for value in numbers])
        for category in self.case["truth"]["categories"]:
            self.assertIn(category["name"], done.text)

    def test_threshold(self):
        counts = [
            self.evaluate("--results", "results.json", "--json", "--threshold", value).json
            for value in ("0", "0.5", "1")
        ]
        found = [count["matching"]["detections"] for count in counts]
        self.assertEqual(found[0], len(self.case["results"]))
        self.assertTrue(found[0] > found[1] > found[2] == 0, found)
        self.assertEqual(counts[0]["box"], counts[2]["box"])  # which looks at all scores

    def test_no_results_at_all(self):
        self.write("none.json", "[]")
        found = self.evaluate("--results", "none.json", "--json").json
        self.assertEqual((found["box"]["AP"], found["sa_co"]["cgF1"]), (0, 0))

    def test_wrong_files(self):
        self.write("cut.json", json.dumps(self.case["truth"])[:-100])
        self.assert_refused(
            self.sam3("eval", "--truth", "cut.json", "--results", "results.json", code=1),
            "cut.json",
            "no JSON",
        )
        self.assert_refused(
            self.evaluate("--results", "absent.json", code=1), "absent.json", "cannot be read"
        )
        self.assert_refused(
            self.evaluate("--results", "truth.json", code=1), "truth.json", "results are a list"
        )
        self.case["results"][2]["image_id"] = 4711
        self.write("results.json", json.dumps(self.case["results"]))
        self.assert_refused(
            self.evaluate("--results", "results.json", code=1), "results[2].image_id", "4711"
        )

    def test_wrong_usage(self):
        self.assert_refused(self.sam3("eval", "--results", "x.json", code=2), "--truth")
        self.assert_refused(self.evaluate(code=2), "--images", "--results")
        self.assert_refused(self.evaluate("--images", "truth.json", code=2), "no folder")
        self.assert_refused(
            self.evaluate("--results", "results.json", "--threshold", "2", code=2), "threshold"
        )


class EvalRunTest(ProgramTest):
    """The demo model on drawn scenes."""

    def setUp(self):
        super().setUp()
        self.truth = load("scenes.json")
        os.makedirs(self.path("pictures"))
        for image in self.truth["images"]:
            shutil.copy(os.path.join(SCENES, image["file_name"]), self.path("pictures"))
        self.write("truth.json", json.dumps(self.truth))

    def arguments(self, *more):
        fixed = ["eval", "--truth", "truth.json", "--images", "pictures", "--json"]
        return [*fixed, "-o", "run.jsonl", *more]

    def evaluate(self, *more, **settings):
        return self.sam3(*self.arguments(*more), **settings)

    def remove(self, *names):
        for name in names:
            os.remove(self.path("pictures", name))

    def test_journal_holds_the_results(self):
        found = self.evaluate().json
        self.assertGreater(found["matching"]["F1"], 0.8)
        self.assertGreater(found["mask"]["AP50"], 0.8)
        self.assertGreater(found["sa_co"]["IL_MCC"], 0.6)
        lines = [parse_json(line) for line in self.read("run.jsonl").splitlines()]
        self.assertEqual([line["image_id"] for line in lines[1:]], [1, 2, 3, 4])
        results = [result for line in lines[1:] for result in line["detections"]]
        self.write("results.json", json.dumps(results))
        again = self.sam3("eval", "--truth", "truth.json", "--results", "results.json", "--json")
        for key in ("box", "mask", "matching", "sa_co", "presence", "prompts"):
            self.assertEqual(again.json[key], found[key], key)

    def test_phrases(self):
        self.write("truth.json", json.dumps(load("scenes_phrases.json")))
        found = self.evaluate().json
        self.assertEqual((found["files"], found["images"], found["queries"]), (4, 20, 20))
        self.assertGreater(found["sa_co"]["at_50"]["cgF1"], 0.7)
        self.assertIsNone(found["prompts"][0]["AP_box"])
        self.assertEqual(found["prompts"][0]["prompt"], "black")

    def test_goes_on_after_a_kill(self):
        expected = self.sam3(*self.arguments()[:-2]).json
        process = subprocess.Popen(
            [program(), *self.arguments()],
            cwd=self.folder,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            deadline = time.monotonic() + 120
            while self.lines_of_journal() < 2 and time.monotonic() < deadline:
                time.sleep(0.005)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.assertGreaterEqual(self.lines_of_journal(), 2)
        self.assertEqual(self.evaluate().json, expected)

    def lines_of_journal(self):
        if not os.path.exists(self.path("run.jsonl")):
            return 0
        return self.read("run.jsonl").count(b"\n")

    def test_finished_pictures_are_not_run_again(self):
        expected = self.evaluate().json
        whole = self.read("run.jsonl")
        lines = whole.splitlines(keepends=True)
        # The third picture's line is cut off, so it and the fourth are left; the others are gone.
        self.write("run.jsonl", b"".join(lines[:3]) + lines[3][:50])
        self.remove("00.jpg", "01.jpg")
        done = self.evaluate()
        self.assertEqual(done.json, expected)
        self.assertIn("cut off", done.err)
        self.assertIn("goes on after 2 of 4", done.err)
        self.assertEqual(self.read("run.jsonl"), whole)
        self.remove("02.jpg", "03.jpg")
        self.assertEqual(self.evaluate().json, expected)

    def test_missing_and_bad_pictures(self):
        self.remove("01.jpg", "03.jpg")
        self.write("pictures/02.jpg", "no picture")
        done = self.evaluate(code=1)
        self.assertEqual(done.json["missing"], ["01.jpg", "03.jpg"])
        self.assertEqual([entry["file"] for entry in done.json["failed"]], ["02.jpg"])
        self.assertEqual((done.json["files"], done.json["images"]), (4, 1))
        for text in ("missing: pictures/01.jpg", "2 of 4 pictures of the truth are missing"):
            self.assertIn(text, done.err)
        self.remove("00.jpg", "02.jpg")
        os.remove(self.path("run.jsonl"))
        done = self.evaluate(code=1)
        self.assertEqual(done.out, b"")
        self.assertIn("none of the pictures", done.err)

    def test_picture_of_another_size(self):
        self.truth["images"] = self.truth["images"][:1]
        self.truth["images"][0]["width"] += 1
        self.truth["annotations"] = []
        self.write("truth.json", json.dumps(self.truth))
        self.assertIn("the truth says", self.evaluate(code=1).err)

    def test_journal_of_another_run(self):
        self.write("run.jsonl", '{"sam3_eval":1,"model":"other","min_score":0,"categories":[]}\n')
        self.assert_refused(self.evaluate(code=2), "run.jsonl", "another run", "model")
        self.write("run.jsonl", "something dear\n")
        self.assert_refused(self.evaluate(code=2), "no journal")
        self.assertEqual(self.read("run.jsonl"), b"something dear\n")

    def test_categories_that_cannot_be_asked(self):
        self.truth["categories"][0]["name"] = " "
        self.write("truth.json", json.dumps(self.truth))
        self.assertNotEqual(self.evaluate(code=None).code, 0)


if __name__ == "__main__":
    unittest.main()
