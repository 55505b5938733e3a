"""Measures how close each int8 graph comes to its float32 one; writes what package.py takes as GATES.

    python gates.py --program sam3 --graphs DIR --tokenizer DIR --scenes DIR --out gates.json

GRAPHS is the folder that export.py wrote, SCENES one with pictures and truth.json. Every graph is
swapped alone into the float32 package, and the program's answers are compared with those of the
float32 package: phrases by the F1 of detections (box and mask IoU of at least 0.5 with one of
float32's), clicks and boxes by the mean IoU of the masks.
"""

import argparse
import json
import os
import subprocess
import tempfile

from package import GRAPHS, copy_tokenizer, read_json, write_json

TEXT_GRAPHS = GRAPHS[:3]
POINT_GRAPHS = GRAPHS[3:]
MAX_DROP = {"detection_f1": 0.05, "mask_iou": 0.05}


def make_package(graphs, tokenizer, int8, folder):
    """The float32 package with the graphs named in `int8` swapped, by links."""
    for graph in GRAPHS:
        source = os.path.join(graphs, "int8" if graph in int8 else "fp32", graph)
        os.symlink(os.path.abspath(source), os.path.join(folder, graph))
    copy_tokenizer(tokenizer, os.path.join(folder, "tokenizer"))


def ask(program, package, *arguments):
    command = [program, *arguments, "--model", package, "--json", "-", "--quiet"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def mask_area(counts):
    return sum(counts[1::2])


def overlap(first, second):
    """Pixels set in both of two run-length masks."""
    total, at, ends = 0, 0, [0, 0]
    runs, values, positions = (first, second), [True, True], [-1, -1]
    size = sum(first)
    while at < size:
        for side in (0, 1):
            while ends[side] <= at:
                positions[side] += 1
                ends[side] += runs[side][positions[side]]
                values[side] = positions[side] % 2 == 1
        until = min(ends)
        if all(values):
            total += until - at
        at = until
    return total


def parse_counts(text):
    """COCO's compressed run lengths."""
    counts, at = [], 0
    while at < len(text):
        value, shift, more = 0, 0, True
        while more:
            code = ord(text[at]) - 48
            value |= (code & 31) << shift
            more = bool(code & 32)
            at, shift = at + 1, shift + 5
            if not more and code & 16:
                value -= 1 << shift
        if len(counts) > 2:
            value += counts[-2]
        counts.append(value)
    return counts


def mask_iou(first, second):
    both = overlap(first, second)
    union = mask_area(first) + mask_area(second) - both
    return both / union if union else 1.0


def box_iou(first, second):
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    both = max(width, 0) * max(height, 0)
    areas = [(b[2] - b[0]) * (b[3] - b[1]) for b in (first, second)]
    return both / (sum(areas) - both) if both else 0.0


def detections_of(program, package, folder, scenes):
    """Per scene, the detections of all its prompts."""
    answers = []
    for scene in scenes:
        prompts = [prompt["text"] for prompt in scene["prompts"]]
        path = os.path.join(folder, scene["file"])
        document = ask(program, package, "segment", path, *prompts, "--rle")
        for found in document["detections"]:
            found["counts"] = parse_counts(found["rle"]["counts"])
        answers.append(document["detections"])
    return answers


def detection_f1(reference, answers):
    hits = total = 0
    for expected, found in zip(reference, answers):
        total += len(expected) + len(found)
        free = list(expected)
        for one in found:
            for other in free:
                same = one["prompt"] == other["prompt"] and box_iou(one["box"], other["box"]) >= 0.5
                if same and mask_iou(one["counts"], other["counts"]) >= 0.5:
                    free.remove(other)
                    hits += 1
                    break
    return 2 * hits / total


def selections_of(program, package, folder, scenes):
    """Masks of a click into every object and of its box, as run lengths."""
    masks = []
    for scene in scenes:
        path = os.path.join(folder, scene["file"])
        for thing in scene["objects"]:
            click = ",".join(str(value) for value in thing["inside"])
            box = ",".join(str(value) for value in thing["box"])
            for prompt in (("--point", click), ("--box", box)):
                document = ask(program, package, "points", path, *prompt, "--rle")
                masks.append(parse_counts(document["rle"]["counts"]))
    return masks


def mean_iou(reference, masks):
    return sum(mask_iou(a, b) for a, b in zip(reference, masks)) / len(masks)


def measure(options, graphs, run, score, metric):
    """The gate entry of each of `graphs`, and of all of them together."""
    scenes = read_json(os.path.join(options.scenes, "truth.json"))["pictures"]
    results, reference = {}, None
    for int8 in [(), *((graph,) for graph in graphs), tuple(graphs)]:
        with tempfile.TemporaryDirectory() as folder:
            make_package(options.graphs, options.tokenizer, int8, folder)
            answers = run(options.program, folder, options.scenes, scenes)
        if reference is None:
            reference = answers
            continue
        value = round(score(reference, answers), 4)
        print(", ".join(int8), metric, value, flush=True)
        results[int8[0] if len(int8) == 1 else "all"] = {
            "metric": metric,
            "int8_vs_fp32": value,
            "samples": f"{len(scenes)} scenes, {len(reference)} "
            + ("pictures" if metric == "detection_f1" else "prompts"),
        }
    return results


def main():
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--program", required=True, help="the sam3 program")
    parser.add_argument("--graphs", required=True, help="folder that export.py wrote")
    parser.add_argument("--tokenizer", required=True, help="folder with tokenizer.json")
    parser.add_argument("--scenes", required=True, help="folder with pictures and truth.json")
    parser.add_argument("--out", required=True, help="JSON file to write")
    options = parser.parse_args()
    text = measure(options, TEXT_GRAPHS, detections_of, detection_f1, "detection_f1")
    points = measure(options, POINT_GRAPHS, selections_of, mean_iou, "mask_iou")
    together = {"text": text.pop("all"), "point": points.pop("all")}
    gates = {"max_drop": MAX_DROP, "graphs": {**text, **points}, "together": together}
    write_json(gates, options.out, indent=2)


if __name__ == "__main__":
    main()
