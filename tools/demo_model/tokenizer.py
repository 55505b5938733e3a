"""The tokenizer of CLIP, made from its public vocabulary file."""

import gzip

from transformers import CLIPTokenizer

from vocabulary import known_words

VOCABULARY_SIZE, BEGIN, END = 49408, 49406, 49407
PADDING = END
# Tokens of a prompt, padding included: in the graphs, and in training, where all prompts fit.
CONTEXT, TRAINING_CONTEXT = 32, 10


def _byte_letters():
    """The letter that stands for each byte: its own where that can be printed."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(code) for code in printable + [256 + i for i in range(len(others))]]


def build_tokenizer(path):
    """The fast tokenizer from bpe_simple_vocab_16e6.txt.gz."""
    with gzip.open(path) as file:
        lines = file.read().decode("utf-8").split("\n")
    merges = [tuple(line.split()) for line in lines[1 : 49152 - 256 - 2 + 1]]
    letters = _byte_letters()
    vocabulary = letters + [letter + "</w>" for letter in letters]
    vocabulary += ["".join(pair) for pair in merges]
    vocabulary += ["<|startoftext|>", "<|endoftext|>"]
    ids = {text: i for i, text in enumerate(vocabulary)}
    tokenizer = CLIPTokenizer(vocab=ids, merges=merges, model_max_length=CONTEXT)
    found = (len(vocabulary), tokenizer.bos_token_id, tokenizer.eos_token_id)
    if found != (VOCABULARY_SIZE, BEGIN, END):
        raise ValueError(f"{path}: not the vocabulary of CLIP (size, begin, end: {found})")
    return tokenizer


class PromptEncoder:
    """Text to (ids, attention mask) of a fixed length; a text that is cut keeps its end mark."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.ids = {}

    def __call__(self, text, length=CONTEXT):
        if text not in self.ids:
            self.ids[text] = self.tokenizer(text)["input_ids"]
        ids = self.ids[text]
        if len(ids) > length:
            ids = ids[: length - 1] + [END]
        padding = length - len(ids)
        return ids + [PADDING] * padding, [1] * len(ids) + [0] * padding

    def known_ids(self):
        """The tokens of the known words, sorted, with the two end marks."""
        ids = {BEGIN, END}
        for word in known_words():
            ids.update(self(word)[0])
        return sorted(ids)
