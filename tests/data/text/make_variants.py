"""Writes small_tokenizer.json, variants.json and nfc.json beside this file, with `tokenizers` as the reference.

    pip install -r tools/unicode/requirements.txt
    python tests/data/text/make_variants.py

small_tokenizer.json  tokenizer.json cut to the byte symbols and its first merges
variants.json         [{name, patch, cases}]: the small file changed by a JSON merge patch; `ids` of `text`, and `mask` where
                      the patch sets padding or truncation
nfc.json              [[text, composed text]]: marks and composites of all ages in many orders
"""
import copy
import json
import os
import random

import unicodedata2
from tokenizers import Tokenizer, normalizers

HERE = os.path.dirname(os.path.abspath(__file__))
BASE_MERGES = 700
TEXTS = ["the dog", "The  Dog's toys, 12 of them!", " in  the\n\tend ", "don't we'll THEY'RE", "x2y33z", "a-b--c", "caf\u00e9 \u00fcber",
         "e\u0301t\u00e9", "\u732b\u72ac", "\U0001f600!", "<|startoftext|>the<|endoftext|> end", "<|STARTOFTEXT|> <|EndOfText|>", "1 2  3   ",
         "   ", "'s's 't", "--12--", "12ab34", "\u00a0the\u3000end\u2003", "", "abcdab abab", "the\r\nend", "\u01c5\u0130\u1e9e"]


def small():
    with open(os.path.join(HERE, "tokenizer.json"), encoding="utf-8") as f:
        base = json.load(f)
    model = base["model"]
    vocab = {t: i for t, i in model["vocab"].items() if i < 512 + BASE_MERGES}
    model["merges"] = model["merges"][:BASE_MERGES]
    vocab["<|startoftext|>"] = len(vocab)
    vocab["<|endoftext|>"] = len(vocab)
    model["vocab"] = vocab
    for token in base["added_tokens"]:
        token["id"] = vocab[token["content"]]
    for key in "sep", "cls":
        base["post_processor"][key][1] = vocab[base["post_processor"][key][0]]
    return base


def merge_patch(target, patch):
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        else:
            target[key] = merge_patch(target.get(key), value)
    return target


def split(pattern, behavior, invert=False):
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def byte_level(prefix=False, use_regex=False):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": use_regex}


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def added(content, number, **flags):
    token = {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
             "special": True}
    return {**token, **flags}


def variants(base):
    start, end = (t["id"] for t in base["added_tokens"])
    two = [added("<|startoftext|>", start), added("<|endoftext|>", end)]
    yield "unchanged", {}
    yield "normalized start token", {"added_tokens": [added("<|startoftext|>", start, normalized=True), two[1]]}
    yield "longest added token", {"added_tokens": two + [added("bcd", end + 1), added("bcda", end + 2), added("The DOG", end + 3, special=False,
                                                                                                             normalized=True)]}
    for behavior in "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous":
        for invert in False, True:
            yield f"split {behavior} {invert}", {"pre_tokenizer": sequence(split({"Regex": r"[\p{N}\-]|\s+"}, behavior, invert), byte_level())}
    yield "split string", {"pre_tokenizer": sequence(split({"String": "--"}, "Isolated"), byte_level())}
    yield "classes", {"pre_tokenizer": sequence(split({"Regex": r"[a-c\s]+|[^\S\n]|\P{L}+(?!\S)|[\p{N}_'-]"}, "Isolated"), byte_level())}
    yield "byte level", {"pre_tokenizer": byte_level(use_regex=True)}
    yield "byte level prefix", {"pre_tokenizer": byte_level(prefix=True, use_regex=True)}
    yield "split and prefix", {"pre_tokenizer": sequence(split({"Regex": r"\s"}, "MergedWithNext"), byte_level(prefix=True))}
    yield "no normalizer", {"normalizer": None}
    for left, right in (True, False), (False, True), (True, True):
        yield f"strip {left} {right}", {"normalizer": {"type": "Strip", "strip_left": left, "strip_right": right},
                                        "pre_tokenizer": byte_level()}
    yield "replace string", {"normalizer": {"type": "Sequence", "normalizers": [
        {"type": "Replace", "pattern": {"String": "the"}, "content": "a"}, {"type": "Replace", "pattern": {"Regex": "[0-9]+"}, "content": ""}]}}
    yield "template", {"post_processor": {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                   {"SpecialToken": {"id": "B", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"A": {"id": "A", "ids": [3], "tokens": ["A"]}, "B": {"id": "B", "ids": [5], "tokens": ["B"]}},
        "sep": None, "cls": None, "trim_offsets": None, "add_prefix_space": None}}
    yield "no suffix", {"model": {"end_of_word_suffix": None}}
    gaps = {"\u00c3": None, "\u00a9</w>": None, "\u00a9": None}
    yield "unknown", {"model": {"vocab": gaps}}
    yield "unknown fused", {"model": {"vocab": gaps, "fuse_unk": True}}
    yield "unknown left out", {"model": {"vocab": gaps, "unk_token": None}}
    yield "padding", {"padding": {"strategy": {"Fixed": 12}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 7,
                                  "pad_type_id": 0, "pad_token": "("}}
    yield "truncation", {"padding": {"strategy": {"Fixed": 12}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 7,
                                     "pad_type_id": 0, "pad_token": "("},
                         "truncation": {"direction": "Right", "max_length": 6, "strategy": "LongestFirst", "stride": 0}}


def nfc_samples():
    """Sequences around every combining mark and every composite, and random ones of many marks."""
    marks = [chr(i) for i in range(0x110000) if unicodedata2.combining(chr(i))]
    pairs = [unicodedata2.normalize("NFD", chr(i)) for i in range(0x110000)
             if not 0xD800 <= i <= 0xDFFF and not 0xAC00 <= i <= 0xD7A3 and unicodedata2.normalize("NFD", chr(i)) != chr(i)]
    pairs += ["\u1100\u1161", "\u1100\u1161\u11a8", "\uac00\u11a8", "\uac01\u11a8", "\u1100\u0323\u1161"]
    pick = random.Random(3)
    joined = "".join
    yield joined("q" + mark + "\u0334" for mark in marks)
    yield joined("q\u0345" + mark + "\u0323" for mark in marks)
    yield joined(pair + "." for pair in pairs)
    yield joined(pair + "\u0301\u0323" for pair in pairs)
    for _ in range(60):
        yield joined(pick.choice([pick.choice("aeioAEIO\u00e4\u1e0d"), pick.choice(pairs), pick.choice(marks), pick.choice(marks)])
                     for _ in range(pick.randint(2, 40)))


def write(name, value, **options):
    with open(os.path.join(HERE, name), "w", encoding="utf-8") as f:
        json.dump(value, f, **options)
        f.write("\n")


def main():
    base = small()
    write("small_tokenizer.json", base, ensure_ascii=False, separators=(",", ":"))
    result = []
    for name, patch in variants(base):
        changed = merge_patch(copy.deepcopy(base), patch)
        for key in "padding", "truncation", "normalizer":
            changed.setdefault(key, None)
        tokenizer = Tokenizer.from_str(json.dumps(changed))
        cases = []
        for text in TEXTS:
            encoding = tokenizer.encode(text)
            cases.append({"text": text, "ids": encoding.ids})
            if "padding" in patch and len(encoding.ids) == 12:
                cases[-1]["mask"] = encoding.attention_mask
        result.append({"name": name, "patch": patch, "cases": [c for c in cases if "padding" not in patch or "mask" in c]})
    with open(os.path.join(HERE, "variants.json"), "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(v) for v in result) + "\n]\n")
    nfc = normalizers.NFC()
    write("nfc.json", [[s, nfc.normalize_str(s)] for s in nfc_samples()], indent=0)


if __name__ == "__main__":
    main()
