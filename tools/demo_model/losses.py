"""Losses. Letters of shapes as in model.py, O object slots of a picture; masks, boxes in 0..1."""

import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import linear_sum_assignment

from batches import ON_OBJECT
from model import BOX_SIZE, COLOUR_CLASSES, MASK_SCALE, SHAPE_CLASSES, centre_code

# Costs of matching and weights of the set loss.
CLASS_WEIGHT, CORNER_WEIGHT, OVERLAP_WEIGHT = 2.0, 5.0, 2.0
EARLY_LAYER_WEIGHT = 0.6  # of the decoder layers before the last
ABSENT_WEIGHT = 1.0  # of the classification of prompts that name nothing
LEAST_COVERAGE = 0.3  # a patch belongs to the object that covers at least this part of it
EMPTY_PATCH_WEIGHT = 0.25
BOX_HEAD_SCALE = 0.3  # unit of the dense box head
LEAST_PIXELS = 20  # keeps the mean over a small part of a mask from counting too much


def to_corners(boxes):
    """Centre and size to corners."""
    half = boxes[..., 2:] / 2
    return torch.cat([boxes[..., :2] - half, boxes[..., :2] + half], -1)


def to_centre(boxes):
    """Corners to centre and size."""
    low, high = boxes[..., :2], boxes[..., 2:]
    return torch.cat([(low + high) / 2, high - low], -1)


def generalised_iou(a, b):
    """Of corner boxes whose shapes broadcast."""
    low, high = torch.maximum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    area_a = (a[..., 2:] - a[..., :2]).clamp(min=0).prod(-1)
    area_b = (b[..., 2:] - b[..., :2]).clamp(min=0).prod(-1)
    union = area_a + area_b - shared
    low, high = torch.minimum(a[..., :2], b[..., :2]), torch.maximum(a[..., 2:], b[..., 2:])
    hull = (high - low).clamp(min=0).prod(-1)
    return shared / (union + 1e-7) - (hull - union) / (hull + 1e-7)


def cross_entropy(logits, target):
    """Binary, of every element."""
    return F.binary_cross_entropy_with_logits(logits, target, reduction="none")


def focal(logits, target, gamma=1.5):
    """Binary cross entropy of every element, weighted by the error to the power of gamma."""
    p = logits.sigmoid()
    return cross_entropy(logits, target) * (p + target - 2 * p * target) ** gamma


def dice(logits, target):
    """Per mask: 1 - (2 overlap + 1) / (sum of both + 1)."""
    p, target = logits.sigmoid().flatten(-2), target.flatten(-2)
    return 1 - (2 * (p * target).sum(-1) + 1) / (p.sum(-1) + target.sum(-1) + 1)


def mask_loss(logits, target):
    """Per mask: cross entropy on the soft coverage and dice."""
    return cross_entropy(logits, target).mean((-1, -2)) * 5 + dice(logits, target)


def mask_iou(logits, target):
    """Per mask: IoU of the parts above 0 and above one half, without gradients."""
    with torch.no_grad():
        mine, real = logits > 0, target > 0.5
        union = (mine | real).sum((-1, -2)).clamp(min=1).float()
        return (mine & real).sum((-1, -2)).float() / union


def _part_mean(values, part):
    """Mean of values over the part (weights 0..1) of each mask."""
    return (values * part).sum((-1, -2)) / (part.sum((-1, -2)) + LEAST_PIXELS)


def _joined(masks):
    """Masks [.., O, M, M] together."""
    return masks.sum(1).clamp(max=1)


def instance_loss(logits, target, coverage, named):
    """Mean mask loss of matched queries [m, M, M]: the object, the other objects and those that the
    prompt names too count on their own as well. coverage [m, O, M, M], named bool [m, O]."""
    others = (_joined(coverage) - target).clamp(min=0)
    twins = (_joined(coverage * named[:, :, None, None]) - target).clamp(min=0)
    loss = mask_loss(logits, target)
    errors = cross_entropy(logits, target)
    for part, weight in ((target, 0.5), (others, 0.5), (twins, 2.0)):
        loss = loss + weight * _part_mean(errors, part)
    return loss.mean()


def semantic_loss(logits, coverage, named):
    """Of the mask of all named objects.

    logits [n, M, M], coverage [n, O, M, M], named bool [n, O]."""
    union = _joined(coverage * named[:, :, None, None])
    entropy = F.binary_cross_entropy_with_logits(logits, union)
    return entropy * 5 + (dice(logits, union) * named.any(1)).mean()


@torch.no_grad()
def match(boxes, logits, gt_boxes, named):
    """One-to-one matches of queries and named objects at the least cost.

    boxes [N, Q, 4] centre and size, logits [N, Q], gt_boxes [N, O, 4] corners, named bool [N, O].
    Returns i64 tensors: prompt, query and object of each match."""
    corners = (boxes[:, :, None] - to_centre(gt_boxes)[:, None]).abs().sum(-1)
    overlap = generalised_iou(to_corners(boxes)[:, :, None], gt_boxes[:, None])
    score = logits.sigmoid()[:, :, None]
    cost = CORNER_WEIGHT * corners - OVERLAP_WEIGHT * overlap - CLASS_WEIGHT * score
    cost = torch.nan_to_num(cost, nan=50.0).numpy()
    prompts, queries, objects = [], [], []
    for i, row in enumerate(named.numpy()):
        columns = np.flatnonzero(row)
        if len(columns):
            chosen, of = linear_sum_assignment(cost[i][:, columns])
            prompts += [i] * len(chosen)
            queries += chosen.tolist()
            objects += columns[of].tolist()
    return tuple(torch.tensor(found, dtype=torch.long) for found in (prompts, queries, objects))


def detector_loss(out, gt_boxes, named):
    """Set loss over all decoder layers of a DetectorOutput; gt_boxes [N, O, 4] corners, named bool
    [N, O]. Returns the loss, the matches of the last layer and numbers for the log."""
    layers, prompts, queries = out.logits.shape
    present = named.any(1)
    count = max(1, int(named.sum()))
    total = 0
    for layer in range(layers):
        matches = match(out.boxes[layer].detach(), out.logits[layer].detach(), gt_boxes, named)
        rows, chosen, objects = matches
        hit = torch.zeros(prompts, queries)
        hit[rows, chosen] = 1
        weight = torch.where(present, 1.0, ABSENT_WEIGHT)[:, None]
        classes = (focal(out.logits[layer], hit) * weight).sum() / count
        boxes, real = out.boxes[layer][rows, chosen], gt_boxes[rows, objects]
        corners = (boxes - to_centre(real)).abs().sum() / count
        overlap = (1 - generalised_iou(to_corners(boxes), real)).sum() / count
        presence = F.binary_cross_entropy_with_logits(out.presence[layer][:, 0], present.float())
        loss = CLASS_WEIGHT * classes + CORNER_WEIGHT * corners + OVERLAP_WEIGHT * overlap
        weight = 1.0 if layer == layers - 1 else EARLY_LAYER_WEIGHT
        total = total + weight * (loss + presence)
    right = ((out.presence[-1][:, 0] > 0) == present).float().mean()
    log = {
        "class": classes.item(),
        "corners": corners.item(),
        "overlap": overlap.item(),
        "presence": presence.item(),
        "presence_accuracy": right.item(),
    }
    return total, matches, log


class PatchTruth:
    """What lies under the patches of B pictures: hit bool [B, G*G], and for each patch the shape
    and colour class [B, G*G], the box relative to the patch's centre [B, G*G, 4], the centre code
    [B, G*G, 12]; object [B, G*G] is the slot of the object that covers most of a patch."""

    def __init__(self, scenes, soft_masks):
        side = soft_masks.shape[-1] // MASK_SCALE
        self.coverage = F.avg_pool2d(soft_masks, MASK_SCALE).flatten(2)  # [B, O, G*G]
        best, self.object = self.coverage.max(1)
        self.hit = best > LEAST_COVERAGE
        shape = torch.gather(scenes.shape, 1, self.object)
        colour = torch.gather(scenes.colour, 1, self.object)
        self.shape = torch.where(self.hit, shape, SHAPE_CLASSES - 1)
        self.colour = torch.where(self.hit, colour, COLOUR_CLASSES - 1)
        self.weight = torch.where(self.hit, 1.0, EMPTY_PATCH_WEIGHT)
        boxes = torch.gather(scenes.boxes, 1, self.object[..., None].expand(-1, -1, BOX_SIZE))
        centres = (torch.arange(side) + 0.5) / side
        y, x = torch.meshgrid(centres, centres, indexing="ij")
        self.box = boxes - torch.stack([x, y, x, y], -1).view(1, side * side, BOX_SIZE)
        self.code = centre_code(boxes)

    def hits_only(self, values):
        """Mean over the patches with an object of values [B, G*G]."""
        return (values * self.hit).sum() / self.hit.sum().clamp(min=1)

    def code_loss(self, codes):
        """Of centre codes [b, G*G, 12] of the first b pictures."""
        hit, real = self.hit[: len(codes)], self.code[: len(codes)]
        return (((codes - real) ** 2).mean(-1) * hit).sum() / hit.sum().clamp(min=1)

    def attribute_losses(self, head):
        """Of the dense head's output [B, G*G, >= 25]: cross entropy of every patch for shape and
        for colour [B * G*G], and the mean error of the box."""
        shape = head[..., :SHAPE_CLASSES].reshape(-1, SHAPE_CLASSES)
        end = SHAPE_CLASSES + COLOUR_CLASSES
        colour = head[..., SHAPE_CLASSES:end].reshape(-1, COLOUR_CLASSES)
        box = head[..., end : end + BOX_SIZE] * BOX_HEAD_SCALE
        return (
            F.cross_entropy(shape, self.shape.flatten(), reduction="none"),
            F.cross_entropy(colour, self.colour.flatten(), reduction="none"),
            self.hits_only((box - self.box).abs().sum(-1)),
        )

    def weighted_mean(self, values):
        """Mean of values [B * G*G] in which patches without an object count less."""
        return (values * self.weight.flatten()).sum() / self.weight.sum()


def _selection_loss(selected, target, others):
    """The click decoder's image tokens should know by themselves whether their patch belongs to the
    prompted object. selected [B, P, G*G] logits, masks [B, P, M, M]; per prompt [B, P]."""
    shape = selected.shape
    mine = F.avg_pool2d(target, MASK_SCALE).view(shape)
    theirs = F.avg_pool2d(others, MASK_SCALE).view(shape)
    errors = cross_entropy(selected, mine)
    parts = (mine, theirs, (1 - mine - theirs).clamp(min=0))
    return sum((errors * part).sum(-1) / (part.sum(-1) + 1) for part in parts)


def _candidate_loss(logits, target, others):
    """Of each of the four masks [F, P, 4]. The clicked object, its neighbours and the background
    count alike: to ignore the prompt does not pay."""
    wanted = target[:, :, None].expand_as(logits)
    loss = mask_loss(logits, wanted)
    errors = cross_entropy(logits, wanted)
    for part in (target, others, 1 - target - others):
        loss = loss + _part_mean(errors, part[:, :, None])
    return loss


def click_loss(out, soft_masks, item, labels):
    """Of a ClickOutput. soft_masks [B, O, M, M]; item i64 [B, P], -1 for "object absent"; labels
    i64 [B, P, n] of the points. Returns the loss and numbers for the log."""
    fine, side = len(out.masks), out.masks.shape[-1]
    present = item >= 0
    at = item.clamp(min=0)[..., None, None].expand(-1, -1, side, side)
    target = torch.gather(soft_masks, 1, at)
    others = (_joined(soft_masks)[:, None] - target).clamp(min=0)
    losses = _candidate_loss(out.masks, target[:fine], others[:fine])
    best, mean = losses[..., 1:].min(-1)[0], losses[..., 1:].mean(-1)
    # After a single click the candidates compete; otherwise token 0 is what counts.
    points = labels[:fine]
    single = ((points == ON_OBJECT).sum(-1) == 1) & ((points >= 0).sum(-1) == 1)
    losses = losses[..., 0] + torch.where(single, 1.0, 0.3) * (0.9 * best + 0.1 * mean)
    with_masks = present[:fine]
    mask_count, count = with_masks.sum().clamp(min=1), present.sum().clamp(min=1)
    masks = (losses * with_masks).sum() / mask_count
    selection = (_selection_loss(out.selected, target, others) * present).sum() / count
    masks = masks + 2 * selection
    real = mask_iou(out.masks, target[:fine, :, None])
    iou = ((out.iou[:fine] - real) ** 2 * with_masks[..., None]).sum() / mask_count
    presence = F.binary_cross_entropy_with_logits(out.present[..., 0], present.float())
    log = {
        "click_selection": selection.item(),
        "click_masks": masks.item(),
        "click_iou": iou.item(),
        "click_presence": presence.item(),
        "best_of_three": ((real[..., 1:].max(-1)[0] * with_masks).sum() / mask_count).item(),
        "single_mask": ((real[..., 0] * with_masks).sum() / mask_count).item(),
    }
    return masks + 2 * iou + 0.5 * presence, log
