"""The demo model: the stock Sam3Model and Sam3TrackerModel with small sizes and one shared trunk.

Letters in shapes: B pictures, N text prompts, P click prompts of a picture, Q queries, S pixels
along a side of the model input, G patches along it, M = 4 G pixels along the side of a mask,
L tokens of a text, C channels.
"""

import math
import os
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn
from transformers import (
    Sam3Config,
    Sam3Model,
    Sam3TrackerConfig,
    Sam3TrackerModel,
    Sam3VideoConfig,
)
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from tokenizer import BEGIN, CONTEXT, END, PADDING, VOCABULARY_SIZE
from vocabulary import COLOURS, SHAPES

PATCH = 14  # side of a patch, pixels of the model input
MASK_SCALE = 4  # mask pixels along a patch
TRUNK_WIDTH, DETECTOR_WIDTH, CLICK_WIDTH, TEXT_WIDTH = 128, 64, 64, 48
QUERY_GRID = 6  # the queries start on a lattice of this side
QUERIES = QUERY_GRID**2
# Outputs of the dense heads: one class more than there are, for "no object here"; a box; the sines
# and cosines of a position (`centre_code`).
SHAPE_CLASSES, COLOUR_CLASSES, BOX_SIZE, CODE_SIZE = len(SHAPES) + 1, len(COLOURS) + 1, 4, 12
# From this many attention weights on, the fused kernel is the faster one.
FUSED_ATTENTION_FROM = 200000


def _vision_config(image_size, width):
    grid = image_size // PATCH
    backbone = {
        "model_type": "sam3_vit_model",
        "hidden_size": TRUNK_WIDTH,
        "intermediate_size": 256,
        "num_hidden_layers": 5,
        "num_attention_heads": 4,
        "image_size": image_size,
        "patch_size": PATCH,
        "window_size": 12,
        "global_attn_indexes": [1, 4],
        "pretrain_image_size": image_size,
    }
    return {
        "model_type": "sam3_vision_model",
        "fpn_hidden_size": width,
        "backbone_feature_sizes": [[4 * grid, 4 * grid], [2 * grid, 2 * grid], [grid, grid]],
        "backbone_config": backbone,
    }


def _detector_config(image_size):
    text = {
        "model_type": "clip_text_model",
        "vocab_size": VOCABULARY_SIZE,
        "hidden_size": TEXT_WIDTH,
        "intermediate_size": 192,
        "projection_dim": TEXT_WIDTH,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": CONTEXT,
        "hidden_act": "gelu",
        "bos_token_id": BEGIN,
        "eos_token_id": END,
        "pad_token_id": PADDING,
    }
    common = {"hidden_size": DETECTOR_WIDTH, "dropout": 0.0}
    return {
        "model_type": "sam3",
        "vision_config": _vision_config(image_size, DETECTOR_WIDTH),
        "text_config": text,
        "geometry_encoder_config": {
            **common,
            "num_layers": 1,
            "num_attention_heads": 4,
            "intermediate_size": 128,
            "roi_size": 3,
        },
        "detr_encoder_config": {
            **common,
            "num_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 192,
        },
        "detr_decoder_config": {
            **common,
            "num_layers": 3,
            "num_queries": QUERIES,
            "num_attention_heads": 4,
            "intermediate_size": 192,
        },
        "mask_decoder_config": {**common, "num_upsampling_stages": 3, "num_attention_heads": 4},
    }


def _tracker_config(image_size):
    grid = image_size // PATCH
    return {
        "model_type": "sam3_tracker_video",
        "vision_config": _vision_config(image_size, CLICK_WIDTH),
        "image_size": image_size,
        "prompt_encoder_config": {
            "hidden_size": CLICK_WIDTH,
            "image_size": image_size,
            "patch_size": PATCH,
        },
        "mask_decoder_config": {
            "hidden_size": CLICK_WIDTH,
            "mlp_dim": 192,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "attention_downsample_rate": 2,
            "num_multimask_outputs": 3,
            "iou_head_depth": 3,
            "iou_head_hidden_dim": 64,
        },
        "memory_attention_hidden_size": CLICK_WIDTH,
        "memory_attention_num_layers": 1,
        "memory_attention_feed_forward_hidden_size": 64,
        "memory_attention_rope_feat_sizes": [grid, grid],
        "memory_encoder_hidden_size": CLICK_WIDTH,
        "memory_encoder_output_channels": 16,
        "mask_downsampler_embed_dim": CLICK_WIDTH,
        "memory_fuser_embed_dim": CLICK_WIDTH,
        "memory_fuser_intermediate_dim": 64,
    }


def video_config(image_size):
    """The configuration of the released checkpoint's layout (Sam3VideoModel), with small sizes."""
    return Sam3VideoConfig(
        detector_config=_detector_config(image_size),
        tracker_config=_tracker_config(image_size),
        low_res_mask_size=MASK_SCALE * (image_size // PATCH),
    )


def build_networks(image_size):
    """(detector, click branch) with the trunk of the detector in both."""
    config = video_config(image_size).to_dict()
    detector, tracker = config["detector_config"], config["tracker_config"]
    detector = {key: value for key, value in detector.items() if key != "model_type"}
    parts = ("vision_config", "prompt_encoder_config", "mask_decoder_config")
    det = Sam3Model(Sam3Config(**detector))
    trk = Sam3TrackerModel(Sam3TrackerConfig(**{key: tracker[key] for key in parts}))
    trk.vision_encoder.backbone = det.vision_encoder.backbone
    return det, trk


def use_plain_attention():
    """Replaces small fused attentions by matrix products, which train faster on a processor."""
    fused = ALL_ATTENTION_FUNCTIONS["sdpa"]

    def attention(module, query, key, value, attention_mask=None, **options):
        causal = options.get("is_causal") and attention_mask is None
        if causal or query.shape[2] * key.shape[2] > FUSED_ATTENTION_FROM:
            return fused(module, query, key, value, attention_mask, **options)
        scaling = options.get("scaling")
        scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
        weights = torch.matmul(query, key.transpose(2, 3)) * scaling
        if attention_mask is not None and attention_mask.dtype == torch.bool:
            weights = weights.masked_fill(~attention_mask, -1e4)
        elif attention_mask is not None:
            weights = weights + attention_mask
        return torch.matmul(F.softmax(weights, -1), value).transpose(1, 2).contiguous(), None

    ALL_ATTENTION_FUNCTIONS.register("sdpa", attention)


@dataclass
class TextPrompts:
    """N text prompts.

    image_of   i64 [N]: the picture that each one asks about
    ids        i64 [N, L], attention i64 [N, L]: 1 for a token, 0 for padding
    box        f32 [N, 4]: exemplar box as centre and size in 0..1
    box_mode   i64 [N]: 0 text only, 1 the geometry encoder's CLS token alone, 2 box and CLS token
    """

    image_of: torch.Tensor
    ids: torch.Tensor
    attention: torch.Tensor
    box: torch.Tensor
    box_mode: torch.Tensor


@dataclass
class DetectorOutput:
    """Of D decoder layers: boxes [D, N, Q, 4] as centre and size in 0..1, logits [D, N, Q],
    presence [D, N, 1]; encoded [N, G*G, C]; of the prompts whose masks were asked for: masks
    [n, Q, M, M] and semantic [n, M, M], logits."""

    boxes: torch.Tensor
    logits: torch.Tensor
    presence: torch.Tensor
    encoded: torch.Tensor
    masks: torch.Tensor
    semantic: torch.Tensor


class ClickOutput(NamedTuple):
    """Of F <= B pictures: mask logits [F, P, 4, M, M]. Of all: iou [B, P, 4] in 0..1, object logits
    [B, P, 1], and of the training-time head "is this patch part of it" [B, P, G*G] logits."""

    masks: torch.Tensor
    iou: torch.Tensor
    present: torch.Tensor
    selected: torch.Tensor


class Demo(nn.Module):
    """Both networks and the heads that only training uses (aux_*)."""

    def __init__(self, image_size):
        super().__init__()
        self.size, self.grid = image_size, image_size // PATCH
        self.det, self.trk = build_networks(image_size)
        # On the trunk: shape, colour and box of the object under a patch.
        self.aux_patch = nn.Linear(TRUNK_WIDTH, SHAPE_CLASSES + COLOUR_CLASSES + BOX_SIZE)
        # On the detector's encoder: does the prompt name this patch?
        self.aux_rel = nn.Linear(DETECTOR_WIDTH, 1)
        # On the click decoder's image tokens: is this patch part of the prompted object?
        self.aux_sel = nn.Linear(CLICK_WIDTH, 1)
        # On the trunk and on the click features: where is the centre of this patch's object?
        self.aux_code = nn.Linear(TRUNK_WIDTH, CODE_SIZE)
        self.aux_click_code = nn.Linear(CLICK_WIDTH, CODE_SIZE)

    def trunk(self, pixels):
        """[B, 3, S, S] in -1..1 to tokens [B, G*G, C] and the same as a map [B, C, G, G]."""
        tokens = self.det.vision_encoder.backbone(pixels).last_hidden_state
        return tokens, tokens.view(len(pixels), self.grid, self.grid, -1).permute(0, 3, 1, 2)

    def _encode_prompts(self, prompts, features, positions):
        """Text features with those of the exemplar boxes behind them, and which are valid."""
        det = self.det
        text = det.get_text_features(
            input_ids=prompts.ids, attention_mask=prompts.attention
        ).pooler_output
        valid = prompts.attention.bool()
        mode = prompts.box_mode
        if not bool((mode > 0).any()):
            return text, valid
        rows = torch.nonzero(mode > 0).flatten()
        out = det.geometry_encoder(
            box_embeddings=prompts.box[rows][:, None],
            box_mask=(mode[rows] == 2)[:, None],
            box_labels=torch.ones(len(rows), 1, dtype=torch.long),
            img_feats=(features[rows].float(),),
            img_pos_embeds=(positions[rows],),
        )
        boxes = torch.zeros(len(mode), 2, text.shape[-1], dtype=out.last_hidden_state.dtype)
        boxes_valid = torch.zeros(len(mode), 2, dtype=torch.bool)
        boxes = boxes.index_put((rows,), out.last_hidden_state)
        boxes_valid = boxes_valid.index_put((rows,), out.attention_mask.bool())
        return torch.cat([text, boxes.to(text.dtype)], 1), torch.cat([valid, boxes_valid], 1)

    def detector(self, trunk_map, prompts, mask_rows):
        """The text branch on the trunk's map [B, C, G, G]; masks of the prompts mask_rows [n]."""
        det, neck = self.det, self.det.vision_encoder.neck
        coarse = neck.fpn_layers[2](trunk_map)
        position = neck.position_encoding(coarse.shape, coarse.device, torch.float32)[:1]
        features = coarse[prompts.image_of]
        positions = position.expand(len(features), -1, -1, -1)
        text, valid = self._encode_prompts(prompts, features, positions)
        encoder = det.detr_encoder(
            vision_features=[features],
            text_features=text,
            vision_pos_embeds=[positions],
            text_mask=valid,
        )
        encoded = encoder.last_hidden_state
        decoder = det.detr_decoder(
            vision_features=encoded,
            text_features=text,
            vision_pos_encoding=encoder.pos_embeds_flattened,
            text_mask=valid,
            spatial_shapes=encoder.spatial_shapes,
        )
        hidden = decoder.intermediate_hidden_states
        reference = decoder.reference_boxes.float()
        odds = reference.clamp(min=1e-3) / (1 - reference).clamp(min=1e-3)
        boxes = (torch.log(odds) + det.detr_decoder.box_head(hidden).float()).sigmoid()
        logits = det.dot_product_scoring(
            decoder_hidden_states=hidden, text_features=text, text_mask=valid
        )
        pictures, row_of = torch.unique(prompts.image_of[mask_rows], return_inverse=True)
        fine = [neck.fpn_layers[level](trunk_map[pictures])[row_of] for level in (0, 1)]
        masks = det.mask_decoder(
            decoder_queries=hidden[-1][mask_rows],
            backbone_features=[*fine, features[mask_rows]],
            encoder_hidden_states=encoded[mask_rows],
            prompt_features=text[mask_rows],
            prompt_mask=valid[mask_rows],
        )
        return DetectorOutput(
            boxes=boxes,
            logits=logits.squeeze(-1).float(),
            presence=decoder.presence_logits.float(),
            encoded=encoded,
            masks=masks.pred_masks,
            semantic=masks.semantic_seg.float()[:, 0],
        )

    def click_features(self, trunk_map, fine_count):
        """Three levels of click features; the two fine ones of the first fine_count pictures."""
        decoder, neck = self.trk.mask_decoder, self.trk.vision_encoder.neck
        return (
            decoder.conv_s0(neck.fpn_layers[0](trunk_map[:fine_count])),
            decoder.conv_s1(neck.fpn_layers[1](trunk_map[:fine_count])),
            neck.fpn_layers[2](trunk_map),
        )

    def decode_clicks(self, features, points, labels):
        """The click branch on points [B, P, n, 2] in pixels of the model input, with labels
        [B, P, n]: 1 on the object, 0 beside it, 2 and 3 corners of a box, -10 none."""
        decoder = self.trk.mask_decoder
        fine, middle, coarse = features
        (images, prompts), fine_images = points.shape[:2], len(fine)
        sparse, dense = self.trk.prompt_encoder(points, labels, None, None)
        own = [decoder.obj_score_token, decoder.iou_token, decoder.mask_tokens]
        tokens = torch.cat([token.weight for token in own]).expand(images, prompts, -1, -1)
        positions = self.trk.get_image_wide_positional_embeddings()
        tokens, patches = decoder.transformer(
            point_embeddings=torch.cat([tokens, sparse], 2),
            image_embeddings=(coarse + dense).repeat_interleave(prompts, 0),
            image_positional_embeddings=positions.expand(images * prompts, -1, -1, -1),
            attention_similarity=None,
        )
        count = self.grid * self.grid
        selected = self.aux_sel(patches).float().view(images, prompts, count)
        patches = patches.reshape(images, prompts, count, -1)[:fine_images].transpose(2, 3)
        up = patches.reshape(fine_images * prompts, -1, self.grid, self.grid)
        up = decoder.upscale_conv1(up) + middle.repeat_interleave(prompts, 0)
        up = decoder.activation(decoder.upscale_layer_norm(up))
        up = decoder.upscale_conv2(up) + fine.repeat_interleave(prompts, 0)
        up = decoder.activation(up)
        mlps = decoder.output_hypernetworks_mlps
        mixes = [mlps[i](tokens[:fine_images, :, 2 + i]) for i in range(decoder.num_mask_tokens)]
        side = MASK_SCALE * self.grid
        masks = torch.stack(mixes, 2) @ up.reshape(fine_images, prompts, up.shape[1], side * side)
        return ClickOutput(
            masks=masks.view(fine_images, prompts, -1, side, side).float(),
            iou=decoder.iou_prediction_head(tokens[:, :, 1]).float(),
            present=decoder.pred_obj_score_head(tokens[:, :, 0]).float(),
            selected=selected,
        )

    def click_coarse(self, trunk_map):
        """The coarse level of the click features as tokens [B, G*G, C]."""
        return self.trk.vision_encoder.neck.fpn_layers[2](trunk_map).flatten(2).transpose(1, 2)


def centre_code(boxes):
    """Corner boxes [.., 4] in 0..1 to sines and cosines of their centres [.., 12]."""
    centre = (boxes[..., :2] + boxes[..., 2:]) / 2
    waves = [wave(math.pi * n * centre) for n in (1, 2, 4) for wave in (torch.sin, torch.cos)]
    return torch.cat(waves, -1)


def save_checkpoint(demo, folder):
    """config.json and model.safetensors in the key layout of the released checkpoint: the detector,
    the click branch without its trunk, and the click branch's neck."""
    os.makedirs(folder, exist_ok=True)
    tensors = {"detector_model." + key: value for key, value in demo.det.state_dict().items()}
    for key, value in demo.trk.state_dict().items():
        if key.startswith("vision_encoder.backbone."):
            continue
        neck = key.removeprefix("vision_encoder.neck.")
        tensors["tracker_model." + key if neck == key else "tracker_neck." + neck] = value
    tensors = {
        key: (value.detach().float() if value.is_floating_point() else value).contiguous().clone()
        for key, value in tensors.items()
    }
    config = video_config(demo.size)
    config.architectures = ["Sam3VideoModel"]
    config.save_pretrained(folder)
    save_file(tensors, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
