"""What one training step minimises: both branches and the dense heads on one batch."""

import numpy as np
import torch

from batches import NO_POINT, ON_OBJECT
from losses import (
    PatchTruth,
    click_loss,
    detector_loss,
    focal,
    instance_loss,
    mask_iou,
    semantic_loss,
)
from model import MASK_SCALE, PATCH, TextPrompts

LEAST_WRONG_PIXELS = 4


def text_prompts(texts):
    """The B x K prompts of a batch in one row: TextPrompts and the named objects bool [N, O]."""
    images, prompts, objects = texts.target.shape
    count = images * prompts
    flat = TextPrompts(
        image_of=torch.arange(images).repeat_interleave(prompts),
        ids=texts.ids.view(count, -1),
        attention=texts.attention.view(count, -1),
        box=texts.box.view(count, 4),
        box_mode=texts.box_mode.view(count),
    )
    return flat, texts.target.view(count, objects)


def _add_corrections(guess, soft_masks, clicks):
    """Points and labels with the free slots filled, mostly where the guess is wrong."""
    rng = np.random.default_rng(clicks.seed)
    points, labels = clicks.points.clone(), clicks.labels.clone()
    side = guess.masks.shape[-1]
    # The mask that inference would show: the best of three after one click, else token 0.
    single = (labels == ON_OBJECT).sum(-1) == 1
    best = torch.where(single, guess.iou[..., 1:].argmax(-1) + 1, 0)[: len(guess.masks)]
    at = best[..., None, None, None].expand(-1, -1, 1, side, side)
    shown = torch.gather(guess.masks, 2, at)[:, :, 0] > 0
    for image, prompt in np.ndindex(*shown.shape[:2]):
        free, item = int(clicks.free[image, prompt]), clicks.item[image, prompt]
        if not free or item < 0:
            continue
        real = (soft_masks[image, item] > 0.5).numpy()
        wrong = shown[image, prompt].numpy() ^ real
        first = int((labels[image, prompt] != NO_POINT).sum())
        for slot in range(first, first + free):
            choose_wrong = wrong.sum() >= LEAST_WRONG_PIXELS and rng.random() < 0.9
            ys, xs = np.nonzero(wrong if choose_wrong else real)
            if not len(ys):
                break
            i = int(rng.integers(len(ys)))
            points[image, prompt, slot, 0] = (xs[i] + rng.random()) * PATCH / MASK_SCALE
            points[image, prompt, slot, 1] = (ys[i] + rng.random()) * PATCH / MASK_SCALE
            labels[image, prompt, slot] = int(real[ys[i], xs[i]])
    return points, labels


def click_forward(demo, trunk_map, clicks, soft_masks, fine_images):
    """Both passes of the click branch over T pictures: a first answer without gradients,
    corrective points in the free slots, the real pass. Masks of the first fine_images pictures.

    trunk_map [T, C, G, G], soft_masks [T, O, M, M]. Returns a ClickOutput and the final labels."""
    features = demo.click_features(trunk_map, fine_images)
    points, labels = clicks.points, clicks.labels
    if bool((clicks.free > 0).any()):
        with torch.no_grad():
            guess = demo.decode_clicks([level.detach() for level in features], points, labels)
        points, labels = _add_corrections(guess, soft_masks, clicks)
    return demo.decode_clicks(features, points, labels), labels


def matched_mask_loss(out, matches, rows, coverage, named):
    """Mask loss of the matched queries of the prompts `rows` [n], and their IoU [m].

    coverage [n, O, M, M] and named bool [n, O] belong to these prompts."""
    prompts, queries, objects = matches
    row_of = {int(prompt): i for i, prompt in enumerate(rows)}
    keep = torch.tensor([int(prompt) in row_of for prompt in prompts], dtype=torch.bool)
    if not keep.any():
        return torch.zeros(()), torch.zeros(1)
    at = torch.tensor([row_of[int(prompt)] for prompt in prompts[keep]])
    masks, real = out.masks[at, queries[keep]].float(), coverage[at, objects[keep]]
    return instance_loss(masks, real, coverage[at], named[at]), mask_iou(masks, real)


def _rows_with_masks(texts, count):
    """Of the last `count` pictures, the prompt that names most objects: indices into B x K."""
    images, prompts = texts.target.shape[:2]
    most = texts.target.sum(-1).argmax(-1)
    return (torch.arange(images) * prompts + most)[images - count :]


def _attribute_loss(truth, head, log):
    shape, colour, box = truth.attribute_losses(head)
    shape, colour = truth.weighted_mean(shape), truth.weighted_mean(colour)
    log.update(shape=shape.item(), colour=colour.item(), patch_box=box.item())
    return 2 * shape + colour + 5 * box


def training_loss(demo, batch, plan, aux_weight, mixed):
    """The loss of a batch and numbers for the log.

    aux_weight  weight of the dense heads for attributes, and in part of that for text relevance
    mixed       whether the networks run in bfloat16 where that is safe; losses never do
    """
    soft_masks = batch.scenes.soft_masks()
    truth = PatchTruth(batch.scenes, soft_masks)
    prompts, named = text_prompts(batch.texts)
    rows = _rows_with_masks(batch.texts, plan.mask_images)
    clicked = plan.click_images
    with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
        tokens, trunk_map = demo.trunk(batch.scenes.pixels())
        out = demo.detector(trunk_map, prompts, rows)
        attributes = demo.aux_patch(tokens).float()
        relevance = demo.aux_rel(out.encoded).float()[..., 0]
        codes = demo.aux_code(tokens).float()
        if clicked:
            click_map = trunk_map[:clicked]
            click_codes = demo.aux_click_code(demo.click_coarse(click_map)).float()
            clicks, labels = click_forward(
                demo, click_map, batch.clicks, soft_masks, plan.click_mask_images
            )

    loss, matches, log = detector_loss(out, batch.scenes.boxes[prompts.image_of], named)
    coverage = soft_masks[prompts.image_of[rows]]
    masks, _ = matched_mask_loss(out, matches, rows, coverage, named[rows])
    semantic = semantic_loss(out.semantic, coverage, named[rows])
    loss = loss + 2.0 * masks + 0.5 * semantic
    wanted = (truth.coverage[prompts.image_of] * named[:, :, None]).sum(1).clamp(max=1)
    relevant = focal(relevance, wanted, 1.0).mean() * 20
    loss = loss + relevant * (0.3 + 0.7 * aux_weight)
    loss = loss + aux_weight * _attribute_loss(truth, attributes, log)
    position = truth.code_loss(codes)
    loss = loss + position
    log.update(mask=masks.item(), semantic=semantic.item(), relevance=relevant.item())
    log.update(position=position.item())
    if clicked:
        click_position = truth.code_loss(click_codes)
        click_total, click_log = click_loss(clicks, soft_masks[:clicked], batch.clicks.item, labels)
        loss = loss + click_position + click_total
        log.update(click_log, click_position=click_position.item())
    return loss, log
