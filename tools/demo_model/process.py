"""One of the data-parallel processes of a training phase, and what all phases need from it."""

import json
import math
import os
import time

import torch
import torch.distributed as dist

from backgrounds import load_photos
from model import use_plain_attention
from tokenizer import PromptEncoder, build_tokenizer


def rendezvous_path(options, phase):
    """The file through which the processes of a phase find each other."""
    return os.path.abspath(os.path.join(options.work, f"rendezvous-{phase.name}"))


def save_atomically(value, path):
    torch.save(value, path + ".tmp")
    os.replace(path + ".tmp", path)


class Process:
    """Process `rank` of a phase, on one thread by default. The first one logs and saves."""

    def __init__(self, rank, options, phase):
        torch.set_num_threads(options.threads)
        torch.set_flush_denormal(True)
        torch.manual_seed(options.seed)
        use_plain_attention()
        self.rank, self.count, self.options, self.phase = rank, options.processes, options, phase
        if self.count > 1:
            method = "file://" + rendezvous_path(options, phase)
            dist.init_process_group("gloo", method, rank=rank, world_size=self.count)
        self.encode = PromptEncoder(build_tokenizer(options.bpe))
        self.photos = load_photos(options.photos) if options.photos else None
        self.steps = options.steps.get(phase.name, phase.steps)
        self.started = time.time()

    @property
    def is_first(self):
        return self.rank == 0

    def minutes(self):
        return (time.time() - self.started) / 60

    def average(self, tensors):
        """The mean of each tensor over all processes, sent as one message."""
        if self.count == 1:
            return tensors
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        dist.all_reduce(flat)
        flat /= self.count
        parts = flat.split([tensor.numel() for tensor in tensors])
        return [part.view_as(tensor) for part, tensor in zip(parts, tensors, strict=True)]

    def average_gradients(self, parameters):
        """Replaces the gradients by their means; one that is missing counts as zero."""
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        for parameter, gradient in zip(parameters, self.average(gradients), strict=True):
            parameter.grad = gradient

    def agree(self, value):
        """The number that the first process has."""
        if self.count == 1:
            return value
        shared = torch.tensor([value], dtype=torch.float64)
        dist.broadcast(shared, 0)
        return shared.item()

    def path(self, name):
        return os.path.join(self.options.work, name)

    def load(self, name):
        """A file of the work folder, or None where there is none."""
        path = self.path(name)
        return torch.load(path, weights_only=True) if os.path.exists(path) else None

    def save(self, value, name):
        if self.is_first:
            save_atomically(value, self.path(name))

    def log(self, step, values):
        """One JSON line in log.jsonl."""
        if not self.is_first:
            return
        entry = {"phase": self.phase.name, "step": step, "minutes": self.minutes(), **values}
        rounded = {
            key: float(f"{value:.4g}") if isinstance(value, float) else value
            for key, value in entry.items()
        }
        with open(self.path("log.jsonl"), "a", encoding="utf-8") as file:
            file.write(json.dumps(rounded) + "\n")


def warm_up(step, steps):
    return min(1, (step + 1) / steps)


def cosine(progress, floor):
    """From 1 at progress 0 down to the floor at progress 1."""
    return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * progress))


@torch.no_grad()
def update_average(average, state, decay):
    """Moves the average towards the state, for the keys that the state holds."""
    for key, value in state.items():
        if value.is_floating_point():
            average[key].lerp_(value, 1 - decay)
