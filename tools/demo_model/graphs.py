"""The five graphs as modules over the classes of transformers; shapes as in model.py."""

import torch
from torch import nn
from transformers.models.sam3.modeling_sam3 import box_cxcywh_to_xyxy, inverse_sigmoid


class VisionEncoder(nn.Module):
    """pixel_values f32 [1, 3, S, S] in -1..1 to three levels [1, C, 4 G, 4 G], [1, C, 2 G, 2 G] and
    [1, C, G, G]."""

    inputs, outputs = ["pixel_values"], ["fpn_0", "fpn_1", "fpn_2"]

    def __init__(self, det):
        super().__init__()
        self.vision_encoder = det.vision_encoder

    def forward(self, pixel_values):
        return tuple(self.vision_encoder(pixel_values).fpn_hidden_states[:3])


class TextEncoder(nn.Module):
    """Ids and mask i64 [1, L] to text features [1, L, C]."""

    inputs, outputs = ["input_ids", "attention_mask"], ["text_features"]

    def __init__(self, det):
        super().__init__()
        self.text_encoder, self.text_projection = det.text_encoder, det.text_projection

    def forward(self, input_ids, attention_mask):
        out = self.text_encoder(input_ids=input_ids, attention_mask=attention_mask)
        return self.text_projection(out.last_hidden_state)


def pack_bits(masks):
    """Mask logits [1, Q, H, W] to u8 [1, Q, H, W / 8]: one bit a pixel, set where the logit is
    above zero, the leftmost pixel in the highest bit."""
    batch, queries, height, width = masks.shape
    bits = (masks > 0).reshape(batch, queries, height, width // 8, 8).to(torch.int32)
    weights = torch.tensor([128, 64, 32, 16, 8, 4, 2, 1], dtype=torch.int32)
    return (bits * weights).sum(-1, dtype=torch.int32).to(torch.uint8)


class Detector(nn.Module):
    """Vision and text features to packed masks [1, Q, M, M / 8], corner boxes [1, Q, 4] in 0..1,
    logits [1, Q], presence logits [1, 1] and the semantic mask's logits [1, 1, M, M]."""

    inputs = ["fpn_0", "fpn_1", "fpn_2", "text_features", "attention_mask"]
    outputs = [
        "pred_masks_bits",
        "pred_boxes",
        "pred_logits",
        "presence_logits",
        "semantic_seg",
    ]

    def __init__(self, det):
        super().__init__()
        self.encoder, self.decoder = det.detr_encoder, det.detr_decoder
        self.mask_decoder, self.scoring = det.mask_decoder, det.dot_product_scoring
        self.position_encoding = det.vision_encoder.neck.position_encoding
        # The exporter can't follow a size that is read out of a tensor; it is fixed here anyway.
        backbone = det.config.vision_config.backbone_config
        grid = backbone.image_size // backbone.patch_size
        self.decoder._get_coords = lambda height, width, dtype, device: (
            (torch.arange(0, grid, dtype=dtype) / grid,) * 2
        )

    def forward(self, fpn_0, fpn_1, fpn_2, text_features, attention_mask):
        valid = attention_mask.bool()
        position = self.position_encoding(fpn_2.shape, fpn_2.device, fpn_2.dtype)
        encoded = self.encoder(
            vision_features=[fpn_2],
            text_features=text_features,
            vision_pos_embeds=[position],
            text_mask=valid,
        )
        decoded = self.decoder(
            vision_features=encoded.last_hidden_state,
            text_features=encoded.text_features,
            vision_pos_encoding=encoded.pos_embeds_flattened,
            text_mask=valid,
            spatial_shapes=encoded.spatial_shapes,
        )
        hidden = decoded.intermediate_hidden_states
        offsets = self.decoder.box_head(hidden)
        boxes = (inverse_sigmoid(decoded.reference_boxes) + offsets).sigmoid()
        logits = self.scoring(
            decoder_hidden_states=hidden, text_features=encoded.text_features, text_mask=valid
        )
        masks = self.mask_decoder(
            decoder_queries=hidden[-1],
            backbone_features=[fpn_0, fpn_1, fpn_2],
            encoder_hidden_states=encoded.last_hidden_state,
            prompt_features=text_features,
            prompt_mask=valid,
        )
        return (
            pack_bits(masks.pred_masks),
            box_cxcywh_to_xyxy(boxes)[-1],
            logits.squeeze(-1)[-1],
            decoded.presence_logits[-1],
            masks.semantic_seg,
        )


class TrackerVisionEncoder(nn.Module):
    """pixel_values f32 [1, 3, S, S] in -1..1 to the click branch's three levels
    [1, C / 8, 4 G, 4 G], [1, C / 4, 2 G, 2 G] and [1, C, G, G]."""

    inputs = ["pixel_values"]
    outputs = ["image_embeddings_0", "image_embeddings_1", "image_embeddings_2"]

    def __init__(self, trk):
        super().__init__()
        self.vision_encoder = trk.vision_encoder
        self.conv_s0, self.conv_s1 = trk.mask_decoder.conv_s0, trk.mask_decoder.conv_s1
        self.no_memory_embedding = trk.no_memory_embedding

    def forward(self, pixel_values):
        fine, middle, coarse = self.vision_encoder(pixel_values).fpn_hidden_states[:3]
        coarse = coarse + self.no_memory_embedding.reshape(1, -1, 1, 1)
        return self.conv_s0(fine), self.conv_s1(middle), coarse


class PromptDecoder(nn.Module):
    """Image embeddings, points f32 [1, P, n, 2] in pixels of the model input and labels i64
    [1, P, n] to all four masks [1, P, 4, M, M], their IoU [1, P, 4] in 0..1 and object logits
    [1, P, 1]."""

    inputs = [*TrackerVisionEncoder.outputs, "input_points", "input_labels"]
    outputs = ["pred_masks", "iou_scores", "object_score_logits"]

    def __init__(self, trk):
        super().__init__()
        self.prompt_encoder, self.mask_decoder = trk.prompt_encoder, trk.mask_decoder
        self.register_buffer("positions", trk.get_image_wide_positional_embeddings())

    def forward(
        self,
        image_embeddings_0,
        image_embeddings_1,
        image_embeddings_2,
        input_points,
        input_labels,
    ):
        decoder, prompts = self.mask_decoder, input_points.shape[1]
        sparse, dense = self.prompt_encoder(
            input_points=input_points,
            input_labels=input_labels,
            input_boxes=None,
            input_masks=None,
        )
        own = [decoder.obj_score_token, decoder.iou_token, decoder.mask_tokens]
        tokens = torch.cat([token.weight for token in own]).repeat(1, prompts, 1, 1)
        tokens, patches = decoder.transformer(
            point_embeddings=torch.cat((tokens, sparse), dim=2),
            image_embeddings=(image_embeddings_2 + dense).repeat_interleave(prompts, dim=0),
            image_positional_embeddings=self.positions.repeat_interleave(prompts, 0),
            attention_similarity=None,
            target_embedding=None,
        )
        _, channels, height, width = image_embeddings_2.shape
        up = patches.transpose(2, 3).view(prompts, channels, height, width)
        up = decoder.upscale_conv1(up) + image_embeddings_1.repeat_interleave(prompts, dim=0)
        up = decoder.activation(decoder.upscale_layer_norm(up))
        up = decoder.upscale_conv2(up) + image_embeddings_0.repeat_interleave(prompts, dim=0)
        up = decoder.activation(up)
        mixes = [
            mlp(tokens[:, :, 2 + i, :]) for i, mlp in enumerate(decoder.output_hypernetworks_mlps)
        ]
        _, channels, height, width = up.shape
        masks = torch.stack(mixes, dim=2) @ up.view(1, prompts, channels, height * width)
        return (
            masks.view(1, prompts, -1, height, width),
            decoder.iou_prediction_head(tokens[:, :, 1, :]),
            decoder.pred_obj_score_head(tokens[:, :, 0, :]),
        )
