#!/usr/bin/env python3
"""make_seeds.py FOLDER: the inputs that fuzzing starts from, in one folder for each fuzzer.

Valid files and hostile ones. What a fuzzer has found is kept in fuzz/seeds/NAME/ instead."""

import json
import os
import struct
import sys

DEEP = 60000  # arrays in arrays: more than a recursive function has stack for
MOST = 2**63 - 1


def deep(levels=DEEP):
    return "[" * levels + "]" * levels


# --- protobuf, as far as ONNX models need it -----------------------------------------------------


def varint(value):
    value &= 2**64 - 1  # negative numbers take ten bytes
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number, value):
    """A number, a float, or bytes, text or a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def repeated(number, values):
    return b"".join(field(number, value) for value in values)


def attribute(name, value):
    head = field(1, name)
    if isinstance(value, int):
        return head + field(3, value) + field(20, 2)
    if isinstance(value, float):
        return head + field(2, value) + field(20, 1)
    if isinstance(value, list):
        return head + repeated(8, value) + field(20, 7)
    if isinstance(value, tuple):  # ("graph", bytes) or ("tensor", bytes)
        number, kind = {"graph": (6, 5), "tensor": (5, 4)}[value[0]]
        return head + field(number, value[1]) + field(20, kind)
    return head + field(4, value) + field(20, 3)


def node(op, inputs, outputs, attributes=None, domain=""):
    text = repeated(1, inputs) + repeated(2, outputs) + field(3, "/" + op) + field(4, op)
    text += repeated(5, [attribute(k, v) for k, v in (attributes or {}).items()])
    return text + (field(7, domain) if domain else b"")


def tensor(name, dims, values=b"", kind=1, external=None):
    """`values`: floats or raw bytes; `external`: what the file says about the data elsewhere."""
    text = repeated(1, dims) + field(2, kind) + field(8, name)
    if external is not None:
        entries = [field(1, key) + field(2, value) for key, value in external.items()]
        return text + repeated(13, entries) + field(14, 1)
    if not isinstance(values, bytes):
        values = struct.pack(f"<{len(values)}f", *values)
    return text + field(9, values)


def value(name, dims, kind=1):
    sizes = [field(2, d) if isinstance(d, str) else field(1, d) for d in dims]
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, repeated(1, sizes))))


def graph(nodes, weights=(), inputs=("x",), outputs=("y",), shape=(1, 4)):
    text = repeated(1, nodes) + field(2, "g") + repeated(5, weights)
    text += repeated(11, [value(name, shape) for name in inputs])
    return text + repeated(12, [value(name, shape) for name in outputs])


def model(*arguments, opset=18, **more):
    opsets = field(8, field(1, "") + field(2, opset))
    return field(1, 8) + field(2, "seeds") + field(7, graph(*arguments, **more)) + opsets


PRODUCT = node("MatMul", ["x", "w"], ["y"])
SQUARE = [float(i % 5 - 2) for i in range(16)]
WEIGHT = tensor("w", [4, 4], SQUARE)


def onnx():
    yield from good_models()
    yield from odd_models()
    yield from models_with_files()


def good_models():
    yield "matmul", model([PRODUCT], [WEIGHT])
    yield "old", model([PRODUCT], [WEIGHT], opset=7)
    yield "gemm", model(
        [node("Gemm", ["x", "w", "b"], ["y"], {"alpha": 0.5, "beta": 2.0, "transB": 1})],
        [WEIGHT, tensor("b", [4], [1.0, 2.0, 3.0, 4.0])],
    )
    yield "shared_transposed", model(
        [
            node("Transpose", ["w"], ["t"], {"perm": [1, 0]}),
            node("Identity", ["t"], ["i"]),
            node("MatMul", ["x", "i"], ["h"]),
            node("MatMul", ["h", "i"], ["z"]),
            node("Sigmoid", ["z"], ["y"]),
        ],
        [WEIGHT],
    )
    yield "convolutions", model(
        [
            node("Conv", ["x", "w", "b"], ["h"], {"kernel_shape": [2, 2], "strides": [1, 1]}),
            node("ConvTranspose", ["h", "w"], ["y"], {"group": 1}),
        ],
        [tensor("w", [2, 2, 2, 2], SQUARE), tensor("b", [2], [1.0, -1.0])],
        shape=(1, 2, 4, 4),
    )
    yield "branches", model(
        [
            node("Constant", [], ["c"], {"value": ("tensor", tensor("", [], b"\1", kind=9))}),
            node(
                "If",
                ["c"],
                ["y"],
                {
                    "then_branch": ("graph", graph([PRODUCT], [WEIGHT], inputs=())),
                    "else_branch": ("graph", graph([node("Relu", ["x"], ["y"])], inputs=())),
                },
            ),
        ]
    )
    yield "quantized_before", model(
        [
            node("DequantizeLinear", ["w", "s", "z"], ["f"], {"axis": 1}),
            node("MatMulNBits", ["x", "w"], ["h"], {"K": MOST, "N": -1}, "com.microsoft"),
            node("MatMul", ["x", "f"], ["y"]),
        ],
        [tensor("w", [4, 4], bytes(16), kind=3), tensor("s", [4], [1.0] * 4)]
        + [tensor("z", [4], bytes(4), kind=3)],
    )


def models_with_files():
    def outside(**places):
        entries = {key: str(place) for key, place in places.items()}
        return model([PRODUCT], [tensor("w", [4, 4], external=entries)])

    yield "external", outside(location="w.data", offset=64, length=64)
    yield "external_beyond", outside(location="w.data", offset=4090, length=64)
    yield "external_wraps", outside(location="w.data", offset=MOST, length=MOST)
    yield "external_wrong_length", outside(location="w.data", offset=0, length=4)
    yield "external_not_a_number", outside(location="w.data", offset=-1, length="0x40")
    yield "external_parent", outside(location="../w.data", offset=0, length=64)
    yield "external_hidden_parent", outside(location="a/../../w.data", offset=0, length=64)
    yield "external_absolute", outside(location="/etc/passwd", offset=0, length=64)
    yield "external_zero_byte", outside(location="w.data\0/..", offset=0, length=64)
    yield "external_folder", outside(location=".", offset=0, length=64)
    yield "external_nowhere", outside(offset=0, length=64)
    yield "external_in_branch", model(
        [
            node(
                "If",
                ["x"],
                ["y"],
                {
                    "then_branch": (
                        "graph",
                        graph([PRODUCT], [tensor("w", [4], external={"location": "../w"})]),
                    )
                },
            )
        ]
    )
    yield "huge_external", model(
        [PRODUCT], [tensor("w", [2**31, 2**31], external={"location": "w.data"})]
    )


def odd_models():
    def sized(dims, values=b""):
        return model([PRODUCT], [tensor("w", dims, values)])

    yield "not_finite", sized([4, 4], [float("inf"), float("nan")] * 8)
    yield "huge", sized([MOST, MOST])
    yield "empty_but_huge", sized([MOST, 0, MOST])
    yield "empty", sized([0, 4])
    yield "negative", sized([-1, -16], SQUARE)
    yield "too_few_bytes", sized([4, 4], SQUARE[:3])
    yield "other_type", model([PRODUCT], [tensor("w", [4, 4], bytes(64), kind=99)])
    yield "cycle", model([node("Add", ["x", "b"], ["a"]), node("Add", ["a", "x"], ["b"])])
    yield "own_input", model([node("Identity", ["y"], ["y"])])
    yield "made_twice", model(
        [node("Identity", ["x"], ["x"]), node("MatMul", ["x", "x"], ["y"])], [WEIGHT]
    )
    yield "weight_made_again", model([node("Identity", ["w"], ["w"]), PRODUCT], [WEIGHT])
    yield "declared_twice", model([PRODUCT], [WEIGHT, WEIGHT])
    yield "weight_is_input", model([PRODUCT], [WEIGHT], inputs=("x", "w"))
    yield "no_output", model([PRODUCT], [WEIGHT], outputs=("z",))
    yield "no_nodes", model([])
    nested = graph([PRODUCT])
    for _ in range(300):
        nested = graph([node("If", ["x"], ["y"], {"then_branch": ("graph", nested)})])
    yield "nested", field(1, 8) + field(7, nested)


def safetensors():
    def pack(header, data=b"", length=None):
        text = header if isinstance(header, str) else json.dumps(header)
        size = len(text) if length is None else length
        return struct.pack("<Q", size) + text.encode() + data

    def entry(begin, end, shape, dtype="F32"):
        return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}

    three = {
        "__metadata__": {"format": "pt"},
        "a": entry(0, 16, [2, 2]),
        "b": entry(16, 20, [2], "F16"),
        "c": entry(20, 24, [1, 2], "BF16"),
        "d": entry(24, 24, [0]),
        "e": entry(24, 32, [1], "I64"),
    }
    halves = bytes.fromhex("0000803f007c01fc0100ff7b" * 3)[:32]
    yield "valid", pack(three, halves.ljust(32, b"\1"))
    yield "cut", pack(three, bytes(20))
    yield "beyond", pack({"a": entry(8, 24, [4])}, bytes(16))
    yield "over_each_other", pack({"a": entry(0, 16, [4]), "b": entry(8, 24, [4])}, bytes(24))
    yield "backwards", pack({"a": entry(16, 0, [4])}, bytes(16))
    yield "huge", pack({"a": entry(0, MOST, [MOST])}, bytes(16))
    yield "wraps", pack({"a": entry(0, 16, [2**62, 2**62, 4])}, bytes(16))
    yield "beyond_64_bits", pack('{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,1e400]}}')
    yield "unsigned", pack({"a": entry(2**64 - 16, 2**64 - 1, [2**64 - 1])}, bytes(16))
    yield "negative", pack({"a": entry(-4, 0, [-1])}, bytes(4))
    yield "fraction", pack({"a": entry(0.5, 4, [1.0])}, bytes(4))
    yield "wrong_bytes", pack({"a": entry(0, 8, [4])}, bytes(8))
    yield "long_header", pack(three, length=2**63)
    yield "all_header", struct.pack("<Q", 2**64 - 8) + b"{}"
    yield "no_object", pack("[1]")
    yield "no_parts", pack({"a": {}, "b": 3})
    yield "deep_offsets", pack('{"a":{"dtype":"F32","shape":[],"data_offsets":[0,%s]}}' % deep())
    yield "deep_shape", pack('{"a":{"dtype":"F32","shape":[%s],"data_offsets":[0,0]}}' % deep())
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 3\n"
    yield "pointer", pointer.encode()
    yield "header_only", json.dumps(three).encode()


def config():
    def tiny(**text):
        sizes = {
            "vocab_size": 7,
            "max_position_embeddings": 5,
            "hidden_size": 4,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "intermediate_size": 6,
        }
        return {"vision_config": {"fpn_hidden_size": 256}, "text_config": {**sizes, **text}}

    def backbone(**sizes):
        return {"vision_config": {"backbone_config": sizes}}

    whole = {"detector_config": tiny(), "tracker_config": {"mask_decoder_config": {"mlp_dim": 8}}}
    yield "tiny", tiny()
    yield "whole", whole
    yield "quick_gelu", tiny(hidden_act="quick_gelu", layer_norm_eps=1e-12)
    yield "heads_do_not_divide", tiny(num_attention_heads=3)
    yield "zero_heads", tiny(num_attention_heads=0)
    yield "huge", tiny(hidden_size=MOST, vocab_size=2**64 - 1)
    yield "large", tiny(hidden_size=1 << 24, vocab_size=1 << 24, max_position_embeddings=1 << 24)
    yield "fractions", tiny(hidden_size=4.5, layer_norm_eps=-1e300, vocab_size=1e300)
    yield "kinds", tiny(hidden_size="4", num_hidden_layers=[1], vocab_size={}, hidden_act=None)
    yield "patches", backbone(image_size=[1008, 1008], patch_size=1 << 24, window_size=1)
    yield "grid", backbone(image_size=1 << 24, patch_size=1)
    yield "layers", backbone(num_hidden_layers=1, global_attn_indexes=[0, 1, -1, 2**64 - 1])
    yield "scales", {"vision_config": {"scale_factors": [4, 2, 1, "x"]}}
    yield "nothing", {}
    yield "deep", '{"vision_config":%s}' % deep()
    yield "deep_size", '{"text_config":{"hidden_size":%s},"vision_config":{}}' % deep()


def tokenizer():
    vocabulary = {"a": 0, "b</w>": 1, "ab</w>": 2, "c": 3, "a</w>": 4}
    vocabulary.update({"<|startoftext|>": 5, "<|endoftext|>": 6})
    marks = [{"id": 5, "content": "<|startoftext|>"}, {"id": 6, "content": "<|endoftext|>"}]
    words = r"'s|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+|\s+(?!\S)"
    spaces = {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
    steps = [{"type": "NFC"}, spaces, {"type": "Lowercase"}, {"type": "Strip"}]
    split = {"type": "Split", "pattern": {"Regex": words}, "behavior": "Removed", "invert": True}
    bpe = {
        "type": "BPE",
        "unk_token": "<|endoftext|>",
        "end_of_word_suffix": "</w>",
        "vocab": vocabulary,
        "merges": [["a", "b</w>"]],
    }
    full = {
        "added_tokens": [{**mark, "special": True, "normalized": False} for mark in marks],
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, {"type": "ByteLevel"}]},
        "post_processor": {
            "type": "RobertaProcessing",
            "sep": ["<|endoftext|>", 6],
            "cls": ["<|startoftext|>", 5],
        },
        "model": bpe,
    }
    template = {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": "<|startoftext|>", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
            {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}},
        ],
        "special_tokens": {
            name: {"id": name, "ids": [number], "tokens": [name]}
            for name, number in (("<|startoftext|>", 5), ("<|endoftext|>", 6))
        },
    }
    symbols = {str(byte): chr(byte) for byte in range(33, 127)}
    other = (byte for byte in range(256) if str(byte) not in symbols)
    symbols.update({str(byte): chr(256 + i) for i, byte in enumerate(other)})
    browser = {"encoder": vocabulary, "merges": ["a b</w>"], "byte_encoder": symbols}

    def case(document, prompt="AB  cab ab's\n42!"):
        text = document if isinstance(document, str) else json.dumps(document)
        return text.encode() + b"\0" + (prompt.encode() if isinstance(prompt, str) else prompt)

    yield "full", case(full)
    yield "template", case({**full, "post_processor": template})
    yield "browser", case(browser)
    yield "marks_in_prompt", case(full, "<|endoftext|>a<|startoftext|><|endoftext|")
    yield "unicode", case(full, "İ e\u0301 ŉ \u2003\u200b 語\U0001f600\U0010ffff ﬁ \u0344")
    yield "not_utf8", case(full, b"a\xff\xc0\x80\xed\xa0\x80b")
    yield "long_word", case(full, "ab" * 3000)
    yield "lengths", case(
        {
            **full,
            "truncation": {"max_length": 2, "direction": "Right"},
            "padding": {"pad_id": 2**31 - 1},
        }
    )
    yield "huge_ids", case({**full, "model": {**bpe, "vocab": {**vocabulary, "x": 2**64 - 1}}})
    yield "same_ids", case({**full, "model": {**bpe, "vocab": dict.fromkeys(vocabulary, 1)}})
    yield "endless_merges", case({**full, "model": {**bpe, "merges": [["a", "a"], ["", ""]]}})
    yield "merge_kinds", case({**full, "model": {**bpe, "merges": ["a  b", 3, ["a"], None]}})
    yield "empty_added", case({**full, "added_tokens": marks + [{"id": 7, "content": ""}]})
    expressions = ("", "(", "a|", "[", "[z-a]", "\\", "\\p{", "(?!", "a*b*", "[^]")
    for i, expression in enumerate(expressions):
        bad = {**split, "pattern": {"Regex": expression}}
        yield f"expression_{i}", case({**full, "pre_tokenizer": bad})
    nested = steps
    for _ in range(40):
        nested = [{"type": "Sequence", "normalizers": nested}]
    yield "nested", case({**full, "normalizer": nested[0]})
    yield "empty_replace", case(
        {**full, "normalizer": {"type": "Replace", "pattern": {"String": ""}, "content": "a"}}
    )
    yield "deep", case('{"normalizer":%s}' % deep())
    yield "deep_merge", case('{"encoder":{},"byte_encoder":{},"merges":[%s]}' % deep())


def coco():
    square = [[2, 2, 8, 2, 8, 8, 2.5, 8.5]]
    categories = [{"id": 1, "name": "dog"}, {"id": 2, "name": "cat"}]
    images = [{"id": 1, "file_name": "a.jpg", "width": 10, "height": 12}]
    head = {"id": 1, "image_id": 1, "category_id": 1}
    result = {"image_id": 1, "category_id": 1, "score": 0.5}
    runs = {"size": [12, 10], "counts": [24, 12, 84]}
    packed = {"size": [12, 10], "counts": "h0<d2"}

    def case(annotations, results=(), images=images, categories=categories):
        truth = {"images": images, "categories": categories, "annotations": annotations}
        return json.dumps(truth).encode() + b"\0" + json.dumps(list(results)).encode()

    def one(segmentation, size=None):
        sized = images if size is None else [{**images[0], "width": size[0], "height": size[1]}]
        return case([{**head, "segmentation": segmentation}], images=sized)

    def text(segmentation):
        image = '{"images":[{"id":1,"width":9,"height":9}],"categories":[{"id":1}],'
        start = '"annotations":[{"id":1,"image_id":1,"category_id":1,"segmentation":'
        return (image + start + segmentation + "}]}\0[]").encode()

    boxed = {**head, "bbox": [1, 2, 3, 4], "area": 12, "iscrowd": 0}
    yield "boxes", case([boxed], [{**result, "bbox": [0, 0, 5, 5]}])
    yield "polygons", case(
        [{**boxed, "segmentation": square}, {**head, "id": 2, "segmentation": runs, "iscrowd": 1}],
        [{**result, "segmentation": packed}, {**result, "segmentation": runs, "category_id": 9}],
    )
    yield "phrases", case(
        [{**head, "segmentation": packed, "bbox": [0.1, 0.1, 0.2, 0.2]}],
        images=[{**images[0], "text_input": "a dog", "is_instance_exhaustive": True}],
    )
    yield "empty", case([])
    yield "unknown_picture", case([{**boxed, "image_id": 2}])
    yield "unknown_category", case([boxed], [{**result, "image_id": 7, "bbox": [0, 0, 1, 1]}])
    yield "twice", case([boxed, boxed])
    yield "no_box", case([head])
    yield "far_polygon", one([[1e300, -1e300, 0, 0, 1e6, 5]])
    yield "odd_polygon", one([[1, 2, 3, 4, 5], [], [1]])
    yield "outside_polygon", one([[-50, -50, 100, -3, 700, 900]])
    yield "negative_run", one({"size": [12, 10], "counts": [-1, 121]})
    yield "huge_runs", one({"size": [12, 10], "counts": [2**32, 2**63, 2**64 - 1]})
    yield "wrapping_runs", one({"size": [12, 10], "counts": [2**32 - 1, 2**32 - 1, 122]})
    yield "malformed_runs", one({"size": [12, 10], "counts": "oooooooooooooooo~"})
    yield "other_size", one({"size": [2**64 - 1, -1], "counts": "0"})
    side = 2**31 - 1
    yield "endless_picture", one({"size": [side, side], "counts": []}, (side, side))
    yield "tall_picture", one({"size": [side, 1], "counts": [side]}, (1, side))
    yield "tall_polygon", one(square, (1, side))
    yield "no_pixels", one({"size": [0, 0], "counts": []}, (0, 0))
    yield "beyond_int", one(square, (2**31, 2**63))
    far = [1e308, 1e308, 1e308, -0.0]
    yield "numbers", case([{**boxed, "id": 1.0, "area": 1e308, "bbox": far}])
    yield "kinds", case([{**boxed, "id": "1", "image_id": None, "iscrowd": 2}])
    yield "deep_segmentation", text(deep())
    yield "deep_counts", text('{"size":[9,9],"counts":%s}' % deep())
    yield "deep_size", text('{"size":%s,"counts":[81]}' % deep())


def listing():
    digest = "ab" * 32

    def file(path, **more):
        return {"type": "file", "path": path, "size": 10, "oid": "12ab", **more}

    def case(files, record=None):
        return json.dumps(files).encode() + b"\0" + json.dumps(record or {}).encode()

    package = [
        {"type": "directory", "path": "detector", "oid": "1"},
        file("detector/model.onnx", lfs={"oid": digest, "size": 12, "pointerSize": 3}),
        file("text_encoder/model.onnx"),
        file("vision_encoder/model.onnx"),
        file("tokenizer/tokenizer.json"),
        file("README.md"),
    ]
    record = {
        "name": "tiny",
        "licence": "Apache-2.0",
        "graphs": {"detector": {"files": {"model.onnx": {"bytes": 12, "sha256": digest}}}},
        "files": {"tokenizer/tokenizer.json": digest.upper(), "new/file": {"bytes": 1}},
    }
    yield "package", case(package, record)
    yield "contradiction", case(package, {**record, "files": {"README.md": {"bytes": 11}}})
    paths = ["/etc/passwd", "../x", "a/../../x", "a//b", "a/./b", "", ".", "C:\\x", "C:x"]
    paths += ["a\\..\\b", "a\0b", "a\nb", "x" * 300, "a/" * 600 + "b", "\u202e.txt"]
    paths += ["con", "a/", "..", "~/x"]
    for i, path in enumerate(paths):
        graphs = {path: {"files": {"x": digest}}}
        yield f"path_{i}", case([file(path)], {"files": {path: digest}, "graphs": graphs})
    yield "same_but_case", case([file("A/b"), file("a/B")])
    yield "file_and_folder", case([file("a"), file("a/b")])
    yield "link", case([{**file("a"), "type": "symlink"}])
    yield "sizes", case([file("a", size=2**64 - 1)], {"files": {"a": {"bytes": -1}}})
    yield "more_sizes", case([file("a", size=1e300), file("b", size=2**63)])
    yield "wrong_hash", case([file("a", lfs={"oid": "zz", "size": 1})], {"files": {"a": "12"}})
    yield "kinds", case([{"type": 1, "path": 2}, 3], {"graphs": [], "files": 4, "name": 5})
    yield "not_json", b"<html>\0{"
    yield "deep", ('[{"type":"file","path":"a","size":%s}]\0%s' % (deep(), deep())).encode()


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make_seeds.py FOLDER")
    for kind in (onnx, safetensors, config, tokenizer, coco, listing):
        folder = os.path.join(sys.argv[1], kind.__name__)
        os.makedirs(folder, exist_ok=True)
        for name, content in kind():
            if isinstance(content, dict):
                content = json.dumps(content)
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)


if __name__ == "__main__":
    main()
