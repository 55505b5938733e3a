"""The phases that train several parts together: trunk and detector, or all of it."""

import itertools
import time
from dataclasses import dataclass

import torch
from torch import nn

from batches import BatchSource
from initialise import hold_clicks, init_weights, is_dead, load_state
from model import Demo
from objective import training_loss
from process import Process, cosine, update_average, warm_up

LATE_HEADS = ("aux_sel", "aux_code", "aux_click_code")  # in a parameter group of their own
LOG_EVERY, SAVE_EVERY = 20, 100


@dataclass
class _Start:
    """Where a phase starts: states of the model, of the average and of the optimizer (None: fresh),
    steps and minutes done."""

    state: dict | None = None
    average: dict | None = None
    optimizer: dict | None = None
    step: int = 0
    minutes: float = 0.0


def _find_start(process, phase):
    last = process.load("last.pt") if process.options.resume else None
    if last and last["phase"] == phase.stream:
        minutes = last.get("minutes", 0.0)
        return _Start(last["state"], last["ema"], last["opt"], last["step"], minutes)
    source = process.load(phase.source + ".pt")
    if phase.continues:
        return _Start(source["state"], source["ema"])
    return _Start(source.get("ema"))


def _load_trunk(demo, trained):
    """The trunk and the dense head of the trunk's own phase."""
    demo.det.vision_encoder.backbone.load_state_dict(trained["trunk"])
    size = demo.aux_patch.out_features
    demo.aux_patch.weight.data.copy_(trained["head"]["weight"][:size])
    demo.aux_patch.bias.data.copy_(trained["head"]["bias"][:size])


def _parameter_groups(demo, phase, parameters):
    """Groups for AdamW with `scale`, their learning rate as a part of the phase's: per part of the
    network, with weight decay for matrices but not for vectors and embeddings."""
    scales = {"trunk": phase.trunk_scale, "clicks": phase.click_scale, "detector": 1.0}
    groups = {}
    for name, parameter in parameters.items():
        if name.startswith(LATE_HEADS):
            continue
        part = "trunk" if ".backbone." in name else "detector"
        part = "clicks" if name.startswith("trk.") else part
        plain = parameter.ndim < 2 or "embed" in name or "token" in name
        groups.setdefault((part, plain), []).append(parameter)
    result = [
        {"params": members, "weight_decay": 0.0 if plain else 0.02, "scale": scales[part]}
        for (part, plain), members in groups.items()
    ]
    late = [p for name, p in parameters.items() if name.startswith(LATE_HEADS)]
    return [*result, {"params": late, "weight_decay": 0.0, "scale": 1.0}]


class _Training:
    """The state of a phase in one process."""

    def __init__(self, process, phase):
        self.process, self.phase = process, phase
        self.known = torch.tensor(process.encode.known_ids())
        start = _find_start(process, phase)
        self.first_step, self.minutes_before = start.step, start.minutes
        demo = self.demo = Demo(phase.plan.size)
        if start.state is None:
            init_weights(demo, self.known)
            _load_trunk(demo, process.load(phase.source + ".pt"))
        else:
            load_state(demo, start.state)
        demo.train()
        self.table = demo.det.text_encoder.text_model.embeddings.token_embedding.weight
        rows = torch.zeros(len(self.table), 1)
        rows[self.known] = 1
        self.table.register_hook(lambda gradient: gradient * rows)
        self.parameters = {n: p for n, p in demo.named_parameters() if not is_dead(n)}
        for name, parameter in demo.named_parameters():
            parameter.requires_grad_(name in self.parameters)
        self.dense = [p for p in self.parameters.values() if p is not self.table]
        groups = _parameter_groups(demo, phase, self.parameters)
        self.optimizer = torch.optim.AdamW(groups, phase.rate, betas=(0.9, 0.98), fused=True)
        if start.optimizer is not None:
            self.optimizer.load_state_dict(start.optimizer)
        before = start.average or {}
        self.average = {
            key: before[key]
            if key in before and before[key].shape == value.shape
            else value.clone()
            for key, value in demo.state_dict().items()
        }

    def progress(self, step):
        """Part of the phase that is done, 0..1; the last phase may be measured in minutes."""
        limit = self.process.options.minutes
        if limit is None or self.phase.name != "polished":
            return step / self.process.steps
        return self.process.agree((self.minutes_before + self.process.minutes()) / limit)

    def _average_gradients(self):
        """Over the processes; of the token table only the rows that are trained."""
        if self.process.count == 1:
            return
        rows = self.table.grad[self.known]
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.dense]
        *gradients, rows = self.process.average([*gradients, rows])
        for parameter, gradient in zip(self.dense, gradients, strict=True):
            parameter.grad = gradient
        self.table.grad[self.known] = rows

    def step(self, batch, step, progress):
        """One step; returns numbers for the log."""
        phase = self.phase
        rate = phase.rate * warm_up(step, phase.warm_up) * cosine(progress, phase.floor)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["scale"]
        first, least = phase.attributes
        weight = max(least, first * (1 - progress))
        mixed = self.process.options.mixed
        loss, log = training_loss(self.demo, batch, phase.plan, weight, mixed)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._average_gradients()
        norm = nn.utils.clip_grad_norm_(self.parameters.values(), 2.0)
        if torch.isfinite(norm):
            self.optimizer.step()
            if phase.plan.click_images:
                hold_clicks(self.demo)
        if self.process.is_first:
            update_average(self.average, self.demo.state_dict(), self._decay(step))
        return {"loss": loss.item(), "norm": float(norm), "rate": rate, **log}

    def _decay(self, step):
        """Of the average, which follows fast while it is new."""
        limit = self.phase.average_decay
        return min(limit, (1 + step) / (11 + step)) if self.phase.source == "trunk" else limit

    def save(self, step):
        state = {
            "state": self.demo.state_dict(),
            "ema": self.average,
            "opt": self.optimizer.state_dict(),
            "phase": self.phase.stream,
            "step": step,
            "minutes": self.minutes_before + self.process.minutes(),
            "size": self.phase.plan.size,
        }
        self.process.save(state, "last.pt")


def train_joint(rank, options, phase):
    """Trains a JointPhase; leaves last.pt behind, also every hundred steps."""
    process = Process(rank, options, phase)
    training = _Training(process, phase)
    source = BatchSource(phase.plan, process.encode, process.photos)
    tick = time.time()
    for step in itertools.count(training.first_step):
        progress = training.progress(step)
        if progress >= 1:
            break
        batch = source.draw([options.seed, phase.stream, step * process.count + rank])
        log = training.step(batch, step, progress)
        if step % LOG_EVERY == 0:
            steps = 1 if step == training.first_step else LOG_EVERY
            process.log(step, {**log, "seconds": (time.time() - tick) / steps})
            tick = time.time()
        if (step + 1) % SAVE_EVERY == 0:
            training.save(step + 1)
    training.save(step)
