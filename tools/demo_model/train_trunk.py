"""The trunk's own phase: shape, colour, box and outline of the object under every patch.

Rotations of the shapes grow from 15 degrees to any."""

import math
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from batches import draw_scenes
from initialise import init_patch_embedding, init_trunk
from losses import PatchTruth
from model import (
    BOX_SIZE,
    COLOUR_CLASSES,
    MASK_SCALE,
    SHAPE_CLASSES,
    TRUNK_WIDTH,
    build_networks,
)
from process import Process, cosine, warm_up
from recipe import TRUNK

OUTLINE_SIZE = MASK_SCALE**2  # mask pixels of a patch
LEAST_TURN = math.radians(15)
LOG_EVERY = 25


def _turn(progress):
    """Largest rotation, radians: constant for 15 % of the phase, then growing for 45 % of it."""
    return LEAST_TURN + (math.pi - LEAST_TURN) * min(1, max(0, (progress - 0.15) / 0.45))


def _outlines(soft_masks, objects):
    """Coverage of the mask pixels of every patch by its object: [B, G*G, 16] from masks
    [B, O, M, M] and objects i64 [B, G*G]."""
    images, slots, side = soft_masks.shape[:3]
    grid = side // MASK_SCALE
    cells = soft_masks.view(images, slots, grid, MASK_SCALE, grid, MASK_SCALE)
    cells = cells.permute(0, 1, 2, 4, 3, 5).reshape(images, slots, grid * grid, OUTLINE_SIZE)
    at = objects[:, None, :, None].expand(-1, -1, -1, OUTLINE_SIZE)
    return torch.gather(cells, 1, at)[:, 0]


def _loss(head, scenes):
    """Loss of the dense head's output [B, G*G, 41], and its parts on patches with an object: shape
    loss, shape accuracy, colour loss, box error, outline loss."""
    soft_masks = scenes.soft_masks()
    truth = PatchTruth(scenes, soft_masks)
    shape, colour, box = truth.attribute_losses(head)
    outline = F.binary_cross_entropy_with_logits(
        head[..., -OUTLINE_SIZE:], _outlines(soft_masks, truth.object)
    )
    loss = 2 * truth.weighted_mean(shape) + truth.weighted_mean(colour) + 3 * box + 2 * outline
    hit = truth.hit.flatten()
    right = head[..., : SHAPE_CLASSES - 1].argmax(-1) == truth.shape
    parts = (shape[hit].mean(), right.flatten()[hit].float().mean(), colour[hit].mean())
    return loss, [part.item() for part in (*parts, box, outline)]


def train_trunk(rank, options):
    """Trains the trunk; saves its state and that of the dense head."""
    process = Process(rank, options, TRUNK)
    plan, seed = TRUNK.plan, options.seed
    torch.manual_seed(seed + 1)
    trunk = build_networks(plan.size)[0].vision_encoder.backbone
    head = nn.Linear(TRUNK_WIDTH, SHAPE_CLASSES + COLOUR_CLASSES + BOX_SIZE + OUTLINE_SIZE)
    init_trunk(trunk, head)
    rng = np.random.default_rng([seed, 77])
    sample = draw_scenes(rng, replace(plan, images=TRUNK.sample), process.photos, math.pi)
    init_patch_embedding(trunk, sample.pixels())
    parameters = [*trunk.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(
        parameters, TRUNK.rate, betas=(0.9, 0.98), weight_decay=0.02, fused=True
    )
    recent = []
    for step in range(process.steps):
        progress = step / process.steps
        turn = _turn(progress)
        rng = np.random.default_rng([seed, 99, step, rank])
        scenes = draw_scenes(rng, plan, process.photos, turn)
        with torch.autocast("cpu", torch.bfloat16, enabled=options.mixed):
            out = head(trunk(scenes.pixels()).last_hidden_state).float()
        loss, parts = _loss(out, scenes)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        process.average_gradients(parameters)
        nn.utils.clip_grad_norm_(parameters, 1.0)
        for group in optimizer.param_groups:
            group["lr"] = TRUNK.rate * warm_up(step, 100) * cosine(progress, 0.15)
        optimizer.step()
        recent.append(parts)
        if len(recent) == LOG_EVERY:
            names = ("shape", "shape_accuracy", "colour", "box", "outline")
            values = dict(zip(names, np.mean(recent, 0).tolist(), strict=True))
            process.log(step + 1, {"turn": math.degrees(turn), **values})
            recent = []
    state = {"trunk": trunk.state_dict(), "head": head.state_dict()}
    process.save(state, TRUNK.name + ".pt")
