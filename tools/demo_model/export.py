"""A checkpoint folder to the five graphs, float32 and int8.

    python export.py CHECKPOINT OUT

writes OUT/fp32/GRAPH/model.onnx and OUT/int8/GRAPH/model.onnx with their weights in model.onnx.data
beside them, and OUT/export.json with versions and options. Opset 18; int8 means the weights of
matrix products with one scale per output channel, activations quantised at run time.
"""

import argparse
import hashlib
import importlib.metadata
import json
import os
import tempfile

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from transformers import Sam3Model, Sam3TrackerModel

from graphs import Detector, PromptDecoder, TextEncoder, TrackerVisionEncoder, VisionEncoder
from tokenizer import CONTEXT, PADDING, VOCABULARY_SIZE

OPSET = 18
EXTERNAL_FROM = 1024  # bytes; smaller weights stay in model.onnx
PRECISIONS = ("fp32", "int8")
PACKAGES = ("torch", "torchvision", "transformers", "onnx", "onnxscript", "onnxruntime")
TOKEN_TABLE = "token_embedding.weight"


def without_notes(model):
    """Drops the exporter's stack traces, which hold paths of the machine."""
    graph = model.graph
    nodes = [node for function in model.functions for node in function.node]
    for part in [
        graph,
        *graph.node,
        *graph.value_info,
        *graph.input,
        *graph.output,
        *graph.initializer,
        *nodes,
    ]:
        part.doc_string = ""
        del part.metadata_props[:]
    del model.metadata_props[:]
    return model


def store(model, folder):
    """Writes model.onnx and model.onnx.data."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "model.onnx")
    for old in (path, path + ".data"):
        if os.path.exists(old):
            os.remove(old)
    onnx.save_model(
        model,
        path,
        save_as_external_data=True,
        all_tensors_to_one_file=True,
        location="model.onnx.data",
        size_threshold=EXTERNAL_FROM,
    )
    os.chmod(path + ".data", 0o644)  # onnx lets nobody but the owner read it
    return path


def compact_token_table(model):
    """Stores only the rows of the token table that are not zero, with a row number for every token.

    The lookup Gather(table, ids) becomes Gather(rows, Gather(row_of, ids)), where row 0 is zero and
    row_of i32 [tokens]. The result is the same for every id, bit for bit."""
    graph = model.graph
    table = next(entry for entry in graph.initializer if entry.name.endswith(TOKEN_TABLE))
    (lookup,) = [node for node in graph.node if table.name in node.input]
    if lookup.op_type != "Gather" or any(a.name == "axis" and a.i for a in lookup.attribute):
        raise ValueError(f"{table.name} is not used by one Gather of rows")
    values = numpy_helper.to_array(table)
    known = np.flatnonzero(values.view(np.uint32).any(1))
    rows = np.concatenate([np.zeros_like(values[:1]), values[known]])
    row_of = np.zeros(len(values), np.int32)
    row_of[known] = np.arange(1, len(rows))
    names = {"rows": table.name + "_rows", "row_of": table.name + "_row_of"}
    ids, row_numbers = lookup.input[1], lookup.output[0] + "_row"
    at = list(graph.node).index(lookup)
    graph.node.insert(
        at, helper.make_node("Gather", [names["row_of"], ids], [row_numbers], name=row_numbers)
    )
    lookup.input[:] = [names["rows"], row_numbers]
    graph.initializer.remove(table)
    graph.initializer.append(numpy_helper.from_array(rows, names["rows"]))
    graph.initializer.append(numpy_helper.from_array(row_of, names["row_of"]))
    onnx.checker.check_model(model)
    return model


def check_same_text(before, after):
    """Raises unless two text encoders give the same bits for every token there is."""
    sessions = [
        onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        for path in (before, after)
    ]
    mask = np.ones((1, CONTEXT), np.int64)
    for ids in np.arange(VOCABULARY_SIZE).reshape(-1, 1, CONTEXT):
        inputs = {"input_ids": ids, "attention_mask": mask}
        one, other = (session.run(None, inputs)[0].tobytes() for session in sessions)
        if one != other:
            raise ValueError(f"{after}: other text features for the tokens from {ids[0, 0]} on")


def modules_of(checkpoint):
    """{graph: (module, example inputs, dynamic shapes)}, and the model input's side in pixels."""
    det = Sam3Model.from_pretrained(checkpoint).eval()
    trk = Sam3TrackerModel.from_pretrained(checkpoint).eval()
    side = det.config.image_size
    pixels = torch.zeros(1, 3, side, side)
    ids, mask = torch.full((1, CONTEXT), PADDING), torch.ones(1, CONTEXT, dtype=torch.long)
    points, labels = torch.zeros(1, 3, 2, 2), torch.ones(1, 3, 2, dtype=torch.long)
    prompts = {1: torch.export.Dim("P"), 2: torch.export.Dim("N")}
    vision, text = VisionEncoder(det), TextEncoder(det)
    tracker = TrackerVisionEncoder(trk)
    features = (*vision(pixels), text(ids, mask), mask)
    click_features = (*tracker(pixels), points, labels)
    modules = {
        "vision_encoder": (vision, (pixels,), None),
        "text_encoder": (text, (ids, mask), None),
        "detector": (Detector(det), features, None),
        "tracker_vision_encoder": (tracker, (pixels,), None),
        "prompt_decoder": (PromptDecoder(trk), click_features, ({}, {}, {}, prompts, prompts)),
    }
    return modules, side


def export_graph(out, name, module, inputs, dynamic):
    """One module as OUT/PRECISION/NAME/model.onnx; prints the size of each."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {precision: os.path.join(folder, precision + ".onnx") for precision in PRECISIONS}
        torch.onnx.export(
            module.eval(),
            inputs,
            paths["fp32"],
            input_names=module.inputs,
            output_names=module.outputs,
            opset_version=OPSET,
            dynamo=True,
            external_data=False,
            dynamic_shapes=dynamic,
            verbose=False,
        )
        quantize_dynamic(
            paths["fp32"],
            paths["int8"],
            per_channel=True,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["MatMul"],
        )
        for precision, path in paths.items():
            model = without_notes(onnx.load(path))
            if name == "text_encoder":
                model = compact_token_table(model)
            stored = store(model, os.path.join(out, precision, name))
            if name == "text_encoder":
                check_same_text(path, stored)
            size = os.path.getsize(stored) + os.path.getsize(stored + ".data")
            print(f"{precision}/{name}: {size} bytes", flush=True)


def describe(checkpoint, side):
    """Versions and options, as they go into quantization.json."""
    with open(os.path.join(checkpoint, "model.safetensors"), "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "source": {"model": "sam3-demo", "checkpoint_sha256": digest},
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
        "export": {
            "exporter": "torch.onnx.export(dynamo=True)",
            "opset": OPSET,
            "image_size": side,
            "external_data": True,
            "token_table": "rows that are not zero",
            "mask_bits": {"threshold": 0.0, "bit_order": "big"},
        },
        "quantization": {
            "method": "onnxruntime.quantization.quantize_dynamic",
            "op_types": ["MatMul"],
            "per_channel": True,
            "weight_type": "QInt8",
            "reduce_range": False,
            "calibration": None,
        },
    }


@torch.no_grad()
def main():
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("checkpoint", help="folder with config.json and model.safetensors")
    parser.add_argument("out", help="folder for the graphs")
    options = parser.parse_args()
    modules, side = modules_of(options.checkpoint)
    for name, (module, inputs, dynamic) in modules.items():
        export_graph(options.out, name, module, inputs, dynamic)
    with open(os.path.join(options.out, "export.json"), "w", encoding="utf-8") as file:
        json.dump(describe(options.checkpoint, side), file, indent=2)


if __name__ == "__main__":
    main()
