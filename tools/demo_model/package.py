"""Assembles the package of the demo model from the results of export.py, train.py and measurements.

    python package.py --graphs DIR --tokenizer DIR --gates FILE --metrics FILE --out models/demo

GRAPHS is the folder that export.py wrote; its int8 graphs are taken. GATES is a JSON file that says
how close each int8 graph comes to the float32 one, and how much may be lost:

    {"max_drop": {"detection_f1": 0.05, "mask_iou": 0.05},
     "graphs": {"detector": {"metric": "detection_f1", "int8_vs_fp32": 0.99, "samples": "..."}},
     "together": {"text": {...}, "point": {...}}}

with an entry for all five graphs, as gates.py makes it. METRICS is what evaluate.py --json wrote.
"""

import argparse
import hashlib
import json
import os
import shutil
import sys

GRAPHS = (
    "vision_encoder",
    "text_encoder",
    "detector",
    "tracker_vision_encoder",
    "prompt_decoder",
)
GRAPH_FILES = ("model.onnx", "model.onnx.data")
PROVENANCE = (
    "Trained from nothing on drawn scenes (tools/demo_model); holds no weights of SAM 3. The"
    " tokenizer holds the vocabulary of CLIP (MIT License, see NOTICE)."
)


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write_json(value, path, **style):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, **style)
        file.write("\n")


def fingerprint(path):
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": os.path.getsize(path), "sha256": digest}


def summary(metrics):
    """The measured numbers that go into model.json."""
    counts = ("prompts", "objects", "fp", "all_right")
    text = {
        name: {key: row[key] for key in counts + (("f1", "mask_iou") if row["objects"] else ())}
        for name, row in metrics["text"].items()
        if not name.startswith("kind ")
    }
    clicks = {
        name: {"mean": row["mean"], "samples": row["n"]} for name, row in metrics["clicks"].items()
    }
    return {
        "what": "float32 checkpoint on held-out scenes, tools/demo_model/evaluate.py",
        "scenes": metrics["scenes"],
        "seed": metrics["seed"],
        "text": text,
        "presence_accuracy": metrics["presence_accuracy"],
        "clicks": clicks,
    }


def copy_tokenizer(source, folder):
    """tokenizer.json without indentation, and its configuration."""
    os.makedirs(folder, exist_ok=True)
    compact = {"separators": (",", ":")}
    tokenizer = read_json(os.path.join(source, "tokenizer.json"))
    write_json(tokenizer, os.path.join(folder, "tokenizer.json"), **compact)
    shutil.copyfile(
        os.path.join(source, "tokenizer_config.json"),
        os.path.join(folder, "tokenizer_config.json"),
    )


def copy_graphs(source, out):
    for graph in GRAPHS:
        os.makedirs(os.path.join(out, graph), exist_ok=True)
        for name in GRAPH_FILES:
            from_path = os.path.join(source, "int8", graph, name)
            shutil.copyfile(from_path, os.path.join(out, graph, name))


def describe_model(image_size, metrics):
    return {
        "format": 1,
        "name": "sam3-demo",
        "family": "five-graph",
        "image_size": image_size,
        "mean": [0.5, 0.5, 0.5],
        "std": [0.5, 0.5, 0.5],
        "licence": "Apache-2.0",
        "provenance": PROVENANCE,
        "metrics": summary(metrics),
    }


def describe_quantization(out, exported, gates):
    """quantization.json: versions, options, gates, and size and SHA-256 of every other file."""
    limits = gates["max_drop"]
    graphs = {}
    for graph in GRAPHS:
        files = {name: fingerprint(os.path.join(out, graph, name)) for name in GRAPH_FILES}
        graphs[graph] = {"gate": gates["graphs"][graph], "files": files}
    passed = all(
        1 - entry["gate"]["int8_vs_fp32"] <= limits[entry["gate"]["metric"]]
        for entry in graphs.values()
    )
    others = ["model.json", "tokenizer/tokenizer.json", "tokenizer/tokenizer_config.json"]
    return {
        **exported,
        "gate": {"max_drop": limits, "passed": passed, "together": gates["together"]},
        "graphs": graphs,
        "files": {name: fingerprint(os.path.join(out, name)) for name in others},
    }


def parse_options():
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--graphs", required=True, help="folder that export.py wrote")
    parser.add_argument("--tokenizer", required=True, help="folder with tokenizer.json")
    parser.add_argument("--gates", required=True, help="JSON file, see above")
    parser.add_argument("--metrics", required=True, help="JSON file of evaluate.py")
    parser.add_argument("--out", required=True, help="package folder; its files are replaced")
    return parser.parse_args()


def main():
    options = parse_options()
    exported = read_json(os.path.join(options.graphs, "export.json"))
    copy_graphs(options.graphs, options.out)
    copy_tokenizer(options.tokenizer, os.path.join(options.out, "tokenizer"))
    image_size = exported["export"]["image_size"]
    model = describe_model(image_size, read_json(options.metrics))
    write_json(model, os.path.join(options.out, "model.json"), indent=2)
    quantization = describe_quantization(options.out, exported, read_json(options.gates))
    write_json(quantization, os.path.join(options.out, "quantization.json"), indent=2)
    if not quantization["gate"]["passed"]:
        print("a graph lost more by quantisation than its gate allows", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
