"""The phases that train one branch alone while the rest is frozen."""

import torch
from torch import nn

from batches import BatchSource
from initialise import hold_clicks, init_clicks, is_dead, load_state, zero_dead
from losses import click_loss, match, semantic_loss
from model import Demo
from objective import click_forward, matched_mask_loss, text_prompts
from process import Process, cosine, update_average, warm_up
from recipe import CORRECTED, FINAL, REFINED

FLOOR = 0.02  # learning rate at the end, as a part of its peak
LOG_EVERY = 20


class ClickBranch:
    """Neck, prompt encoder and mask decoder of the click branch, from fresh weights."""

    phase = REFINED

    def prepare(self, demo):
        init_clicks(demo)
        zero_dead(demo)

    def owns(self, name):
        return name.startswith(("trk.", "aux_sel"))

    def scale(self, name):
        """Learning rate of a parameter as a part of the phase's."""
        return 0.4 if ".neck." in name or "conv_s" in name else 1.0

    def loss(self, demo, batch, mixed):
        soft_masks = batch.scenes.soft_masks()
        with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
            with torch.no_grad():
                _, trunk_map = demo.trunk(batch.scenes.pixels())
            fine = self.phase.plan.click_mask_images
            out, labels = click_forward(demo, trunk_map, batch.clicks, soft_masks, fine)
        return click_loss(out, soft_masks, batch.clicks.item, labels)

    def after_step(self, demo):
        hold_clicks(demo)


class CorrectedClicks(ClickBranch):
    """The click branch as it is, further, on objects that are cut in two."""

    phase = CORRECTED

    def prepare(self, demo):
        pass


class MaskBranch:
    """The detector's mask head and fine feature levels; boxes and scores stay as they are."""

    phase = FINAL

    def prepare(self, demo):
        pass

    def owns(self, name):
        neck = "det.vision_encoder.neck.fpn_layers."
        return name.startswith(("det.mask_decoder.", neck + "0.", neck + "1."))

    def scale(self, name):
        return 1.0

    def loss(self, demo, batch, mixed):
        prompts, named = text_prompts(batch.texts)
        rows = torch.arange(len(named))
        with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
            _, trunk_map = demo.trunk(batch.scenes.pixels())
            out = demo.detector(trunk_map, prompts, rows)
        matches = match(out.boxes[-1], out.logits[-1], batch.scenes.boxes[prompts.image_of], named)
        coverage = batch.scenes.soft_masks()[prompts.image_of]
        masks, iou = matched_mask_loss(out, matches, rows, coverage, named)
        semantic = semantic_loss(out.semantic, coverage, named)
        return masks + 0.2 * semantic, {"mask": masks.item(), "mask_iou": iou.mean().item()}

    def after_step(self, demo):
        pass


def train_branch(rank, options, branch):
    """Trains a branch; saves the average of its weights with the frozen rest."""
    phase = branch.phase
    process = Process(rank, options, phase)
    demo = Demo(phase.plan.size)
    load_state(demo, process.load(phase.source + ".pt")["ema"])
    branch.prepare(demo)
    for name, parameter in demo.named_parameters():
        parameter.requires_grad_(branch.owns(name) and not is_dead(name))
    trained = {n: p for n, p in demo.named_parameters() if p.requires_grad}
    parameters = list(trained.values())
    demo.train()
    average = {key: value.clone() for key, value in demo.state_dict().items()}
    groups = {}
    for name, parameter in trained.items():
        groups.setdefault(branch.scale(name), []).append(parameter)
    groups = [{"params": members, "scale": scale} for scale, members in groups.items()]
    optimizer = torch.optim.AdamW(
        groups, phase.rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True
    )
    source = BatchSource(phase.plan, process.encode, process.photos)
    for step in range(process.steps):
        batch = source.draw([options.seed, phase.stream, step * process.count + rank])
        loss, log = branch.loss(demo, batch, options.mixed)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        process.average_gradients(parameters)
        nn.utils.clip_grad_norm_(parameters, 1.0)
        rate = phase.rate * warm_up(step, phase.warm_up) * cosine(step / process.steps, FLOOR)
        for group in optimizer.param_groups:
            group["lr"] = group["scale"] * rate
        optimizer.step()
        branch.after_step(demo)
        decay = min(phase.average_decay, (1 + step) / (10 + step))
        update_average(average, {name: p.detach() for name, p in trained.items()}, decay)
        if step % LOG_EVERY == 0:
            process.log(step, {"loss": loss.item(), **log})
    state = {"ema": average, "step": process.steps, "size": phase.plan.size}
    process.save(state, phase.name + ".pt")
