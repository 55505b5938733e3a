#!/usr/bin/env python3
"""Converts a checkpoint and compares what its graphs answer with values that are known for it.

The last line is "N passed, N failed"; the exit code is 1 if anything failed. See README.md."""

import argparse
import json
import os
import subprocess
import sys


class Failure(Exception):
    """A step that everything after it needs, or a question, did not work; the text says why."""


class Table:
    """One row for each value that was compared."""

    WIDTHS = (26, 24, 40, 8, 40)

    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.line("case", "value", "expected", "within", "found", "")

    def line(self, *cells):
        padded = [f"{cell:<{width}} " for cell, width in zip(cells, self.WIDTHS)]
        print("".join(padded) + cells[-1], flush=True)

    def row(self, good, case, what, cells):
        self.passed += good
        self.failed += not good
        self.line(case, what, *cells, "passed" if good else "FAILED")

    def failure(self, case, text):
        self.failed += 1
        print(f"{case}: FAILED: {text}", flush=True)


def run(command, codes=(0,)):
    """Standard output of a run that ends with one of `codes`."""
    print("  " + " ".join(command), file=sys.stderr, flush=True)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode not in codes:
        raise Failure(f"exit code {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def run_json(command, codes=(0,)):
    text = run(command, codes)
    try:
        return json.loads(text)
    except ValueError as error:
        raise Failure(f"no JSON on standard output: {error}") from error


# --- what an answer says -------------------------------------------------------------------------


def counts_of(text):
    """COCO's compressed run lengths as numbers."""
    counts, value, shift = [], 0, 0
    for character in text:
        group = ord(character) - 48
        value |= (group & 31) << shift
        shift += 5
        if group & 32:
            continue
        if group & 16:
            value -= 1 << shift
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
        value, shift = 0, 0
    return counts


def is_set(rle, x, y):
    """A pixel of a mask; runs go down the columns, the first one is unset."""
    place = x * rle["size"][0] + y
    counts = rle["counts"] if isinstance(rle["counts"], list) else counts_of(rle["counts"])
    for index, count in enumerate(counts):
        place -= count
        if place < 0:
            return index % 2 == 1
    raise Failure("the run lengths end before the picture does")


def signs(answer, found, expected, cells):
    """1 or -1 in the middle of the model's mask cells from the top left corner."""

    def sign(row, column):
        x = int((column + 0.5) * answer["width"] / cells)
        y = int((row + 0.5) * answer["height"] / cells)
        return 1 if is_set(found["rle"], x, y) else -1

    return [[sign(r, c) for c in range(len(line))] for r, line in enumerate(expected)]


def found_value(answer, check):
    """What the check is about, from the program's JSON: of a detection by its rank, best score
    first, or of the one mask of the point workflow."""
    what = check["value_of"]
    if "detections" in answer:
        ranked = sorted(answer["detections"], key=lambda detection: -detection["score"])
        if what == "detections":
            return len(ranked)
        if check["rank"] >= len(ranked):
            raise Failure(f"{len(ranked)} detections, none of rank {check['rank']}")
        found = ranked[check["rank"]]
        if what == "score_ratio":
            return found["score"] / ranked[0]["score"]
    else:
        found = answer
    if what == "relative_box":
        return [c / answer["width" if i % 2 == 0 else "height"] for i, c in enumerate(found["box"])]
    if what == "mask_signs":
        return signs(answer, found, check["expected"], check["cells"])
    return found[what]


def agrees(found, expected, within):
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(found) == len(expected)
            and all(agrees(f, e, within) for f, e in zip(found, expected))
        )
    if isinstance(expected, bool) or isinstance(found, bool):
        return found is expected
    return abs(found - expected) <= within


def shown(value):
    if isinstance(value, list):
        return "[" + " ".join(shown(part) for part in value) + "]"
    return f"{value:.5g}" if isinstance(value, float) else str(value)


# --- the steps -----------------------------------------------------------------------------------


def picture_path(options, name):
    path = os.path.join(options.pictures, name)
    if not os.path.isfile(path):
        raise Failure(f"{path} is missing")
    return path


def check_case(options, model, case, table):
    command = [options.program, case["command"], picture_path(options, case["picture"])]
    command += [*case["arguments"], "--model", model, "--json", "-", "--rle", "--quiet"]
    answer = run_json(command)
    for check in case["checks"]:
        what = check["value_of"] + (f" {check['rank']}" if "rank" in check else "")
        try:
            found = found_value(answer, check)
        except Failure as failure:
            table.failure(f"{case['name']}, {what}", failure)
            continue
        expected, within = check["expected"], check.get("within", 0)
        cells = (shown(expected), shown(within), shown(found))
        table.row(agrees(found, expected, within), case["name"], what, cells)


def check_quality(options, reference, quality, table):
    """The gates of an int8 package against the one in float32."""
    candidate = os.path.join(options.work, quality["precision"])
    run([options.program, "quantize", reference, candidate, "--precision", quality["precision"]])
    prompts = os.path.join(options.work, "prompts.json")
    with open(prompts, "w", encoding="utf-8") as file:
        json.dump(quality["prompts"], file)
    command = [options.program, "verify", candidate, "--reference", reference, "--json", "--quiet"]
    command += ["--prompts", prompts, "--limit", str(quality["limit"]), "--images"]
    command += [picture_path(options, name) for name in quality["prompts"]]
    report = run_json(command, codes=(0, 1))
    for problem in report["problems"]:
        table.failure("package", problem)
    gates = {gate["graph"]: gate for gate in report.get("gates", [])}
    for graph, published in quality["gates"].items():
        if graph not in gates:
            table.failure(f"quality of {graph}", "no gate of this name was run")
            continue
        value, least = gates[graph]["value"], 1 - quality["limit"]
        text = f">= {least:.3g}" + ("" if published is None else f" (published {published})")
        cells = (text, "", f"{value:.4f} ({gates[graph]['metric']})")
        table.row(value >= least, quality["precision"], graph, cells)


def check_all(options, values, table):
    reference = os.path.join(options.work, "fp32")
    convert = [options.program, "convert", options.checkpoint, "--out", reference]
    convert += ["--precision", "fp32", "--quiet", *values["convert"]]
    if options.tokenizer:
        convert += ["--tokenizer", options.tokenizer]
    try:
        run(convert)
    except Failure as failure:
        table.failure("convert", failure)
        return
    for case in values["cases"]:
        try:
            check_case(options, reference, case, table)
        except Failure as failure:
            table.failure(case["name"], failure)
    if "quality" in values and not options.no_quality:
        try:
            check_quality(options, reference, values["quality"], table)
        except Failure as failure:
            table.failure("quality", failure)


def main():
    parser = argparse.ArgumentParser(description=" ".join(__doc__.split()))
    parser.add_argument("--program", default="build/bin/sam3", help="the program to check")
    parser.add_argument("--checkpoint", required=True, metavar="DIR", help="weights, config.json")
    parser.add_argument("--pictures", required=True, metavar="DIR", help="folder of the pictures")
    parser.add_argument("--values", required=True, metavar="FILE", help="what is known, as JSON")
    parser.add_argument("--work", required=True, metavar="DIR", help="new folder for the packages")
    parser.add_argument("--tokenizer", metavar="DIR", help="its folder, if not CHECKPOINT")
    parser.add_argument("--no-quality", action="store_true", help="leave the int8 gates out")
    options = parser.parse_args()
    with open(options.values, encoding="utf-8") as file:
        values = json.load(file)
    try:
        os.makedirs(options.work)
    except FileExistsError:
        parser.error(f"{options.work} is there already")
    table = Table()
    check_all(options, values, table)
    print(f"{table.passed} passed, {table.failed} failed")
    return 0 if table.passed and not table.failed else 1


if __name__ == "__main__":
    sys.exit(main())
