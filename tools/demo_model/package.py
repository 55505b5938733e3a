"""Adds what is known about the demo model to its package.

    python package.py --metrics FILE models/demo

The package is what `sam3 convert` made of the checkpoint; FILE is what evaluate.py --json wrote.
model.json gets licence, provenance and the measured numbers; the tokenizer loses its indentation;
quantization.json gets the new checksums of both.
"""

import argparse
import hashlib
import json
import os

PROVENANCE = (
    "Trained from nothing on drawn scenes (tools/demo_model); holds no weights of SAM 3. The"
    " tokenizer holds the vocabulary of CLIP (MIT License, see NOTICE)."
)
CHANGED = ("model.json", "tokenizer/tokenizer.json")


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write_json(value, path, **style):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, **style)
        file.write("\n")


def fingerprint(path):
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
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


def parse_options():
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--metrics", required=True, help="JSON file of evaluate.py")
    parser.add_argument("package", help="folder that sam3 convert wrote")
    return parser.parse_args()


def main():
    options = parse_options()

    def path(name):
        return os.path.join(options.package, name)

    model = read_json(path("model.json"))
    model.update(
        licence="Apache-2.0",
        provenance=PROVENANCE,
        metrics=summary(read_json(options.metrics)),
    )
    write_json(model, path("model.json"), indent=2)
    tokenizer = path("tokenizer/tokenizer.json")
    write_json(read_json(tokenizer), tokenizer, separators=(",", ":"))
    record = read_json(path("quantization.json"))
    for name in CHANGED:
        record["files"][name] = fingerprint(path(name))
    write_json(record, path("quantization.json"), indent=1)


if __name__ == "__main__":
    main()
