"""Where training starts: initial weights, and the parts of the click branch that are held fixed."""

import math

import torch
from torch import nn

from model import PATCH, QUERIES, QUERY_GRID

# How strongly the position heads of the click attention look at one place: tokens at the image, and
# the image at tokens.
TOKEN_TO_IMAGE_GAIN, IMAGE_TO_TOKEN_GAIN = 2.5, 1.8


def is_dead(name):
    """Whether a parameter of `Demo` belongs to the layout but takes no part in image inference."""
    return name.startswith("det.text_encoder.text_projection") or any(
        part in name
        for part in (
            ".neck.fpn_layers.3.",
            "pixel_decoder.conv_layers.2",
            "pixel_decoder.norms.2",
            "no_memory_embedding",
            "prompt_encoder.mask_embed",
        )
    )


def zero_dead(demo):
    """Sets the dead parameters to zero, so that a checkpoint compresses well."""
    with torch.no_grad():
        for name, parameter in demo.named_parameters():
            if is_dead(name):
                parameter.zero_()


def _init_layers(root):
    for module in root.modules():
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.ConvTranspose2d):
            nn.init.normal_(module.weight, std=1.0 / math.sqrt(module.in_channels))
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.5)
        elif isinstance(module, nn.LayerNorm):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)


def _init_text(text, known):
    """Random rows for the known tokens, zero for all others."""
    embeddings = text.text_model.embeddings
    nn.init.normal_(embeddings.position_embedding.weight, std=0.1)
    table = embeddings.token_embedding.weight
    table.zero_()
    table[known] = torch.randn(len(known), table.shape[1]) * 0.5


def _init_queries(decoder):
    """Queries on a lattice; the relative position bias starts as "look inside your own box"."""
    centres = torch.linspace(0.5 / QUERY_GRID, 1 - 0.5 / QUERY_GRID, QUERY_GRID)
    y, x = torch.meshgrid(centres, centres, indexing="ij")
    side = torch.full((QUERIES,), 0.2)
    boxes = torch.stack([x.flatten(), y.flatten(), side, side], 1)
    decoder.reference_points.weight.copy_(torch.log(boxes / (1 - boxes)))
    nn.init.normal_(decoder.query_embed.weight, std=0.2)
    decoder.box_head.layer3.weight.mul_(0.1)
    for mlp in (decoder.box_rpb_embed_x, decoder.box_rpb_embed_y):
        mlp.layer1.weight.mul_(0.3)
        mlp.layer2.weight.mul_(0.3)
        mlp.layer1.weight[0] = torch.tensor([-1.0, 0.0])  # relu(x0 - x): left of the box
        mlp.layer1.weight[1] = torch.tensor([0.0, 1.0])  # relu(x - x1): right of the box
        mlp.layer1.bias[:2] = 0
        mlp.layer2.weight[:, :2] = -torch.tensor([[14.0], [10.0], [6.0], [3.0]])


@torch.no_grad()
def init_clicks(demo):
    """A fresh click branch whose attention looks where the click is from the first step on."""
    trk = demo.trk
    for part in (trk.vision_encoder.neck, trk.prompt_encoder, trk.mask_decoder):
        _init_layers(part)
    trk.vision_encoder.neck.fpn_layers[2].proj2.weight.mul_(0.3)
    # The fine features start quiet: they know every object but not the prompt, and would drown it.
    trk.mask_decoder.conv_s0.weight.mul_(0.1)
    trk.mask_decoder.conv_s1.weight.mul_(0.1)
    # The first self-attention has no residual: it starts as "every token keeps itself", or the
    # labels of the points would be lost.
    first = trk.mask_decoder.transformer.layers[0].self_attn
    projections = [
        (first.q_proj, 2.0),
        (first.k_proj, 2.0),
        (first.v_proj, 1.0),
        (first.o_proj, 1.0),
    ]
    for projection, gain in projections:
        identity = torch.eye(projection.weight.shape[0])
        projection.weight.mul_(0.1).add_(identity * gain)
    hold_clicks(demo)


@torch.no_grad()
def hold_clicks(demo):
    """Restores what is held during training: two of the four heads of every attention between
    tokens and image compare positions only.

    They use the sine and cosine of eight frequencies of the position code, four coarse and four
    fine ones. The sixteen channels of these carry nothing else, on either side."""
    trk, decoder = demo.trk, demo.trk.mask_decoder
    code = trk.shared_image_embedding.positional_embedding
    order = code.norm(dim=0).argsort().tolist()
    half = code.shape[1]
    frequencies = order[half // 8 : half // 4] + order[3 * half // 8 : half // 2]
    rows = 2 * len(frequencies)
    channels = sorted(frequencies + [frequency + half for frequency in frequencies])
    coarse = trk.vision_encoder.neck.fpn_layers[2].proj2
    coarse.weight[channels] = 0
    coarse.bias[channels] = 0
    prompts = trk.prompt_encoder
    for embedding in (
        decoder.obj_score_token,
        decoder.iou_token,
        decoder.mask_tokens,
        prompts.point_embed,
        prompts.no_mask_embed,
        prompts.not_a_point_embed,
    ):
        embedding.weight[:, channels] = 0
    layers = decoder.transformer.layers
    attentions = [(layer.cross_attn_token_to_image, TOKEN_TO_IMAGE_GAIN) for layer in layers]
    attentions += [(layer.cross_attn_image_to_token, IMAGE_TO_TOKEN_GAIN) for layer in layers]
    attentions += [(decoder.transformer.final_attn_token_to_image, TOKEN_TO_IMAGE_GAIN)]
    for attention, gain in attentions:
        for projection in (attention.q_proj, attention.k_proj):
            projection.weight[:rows] = 0
            projection.bias[:rows] = 0
            for i, frequency in enumerate(frequencies):
                projection.weight[2 * i, frequency] = gain
                projection.weight[2 * i + 1, frequency + half] = gain
    for layer in layers:
        for norm in (layer.layer_norm1, layer.layer_norm2, layer.layer_norm3, layer.layer_norm4):
            norm.weight[channels] = 0
            norm.bias[channels] = 0


@torch.no_grad()
def init_weights(demo, known):
    """Fresh weights for all of `demo`; `known` are the tokens whose rows are trained."""
    det, trk = demo.det, demo.trk
    _init_layers(demo)
    nn.init.normal_(det.vision_encoder.backbone.embeddings.position_embeddings, std=0.1)
    _init_text(det.text_encoder, known)
    _init_queries(det.detr_decoder)
    # The released checkpoint holds the matrix of the click positions twice.
    code = trk.shared_image_embedding.positional_embedding
    code.copy_(torch.randn_like(code))
    trk.prompt_encoder.shared_embedding.positional_embedding.copy_(code)
    init_clicks(demo)
    zero_dead(demo)


def init_trunk(trunk, head):
    """Fresh weights for the trunk and its dense head, all but the patch embedding."""
    for module in [*trunk.modules(), head]:
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)
    nn.init.normal_(trunk.embeddings.position_embeddings, std=0.1)


def init_patch_embedding(trunk, pixels):
    """Makes the patch embedding the whitened principal components of sample pictures [n, 3, S, S],
    so that edges weigh as much as flat colour."""
    weight = trunk.embeddings.patch_embeddings.projection.weight
    width = weight.shape[0]
    patches = pixels.unfold(2, PATCH, PATCH).unfold(3, PATCH, PATCH).permute(0, 2, 3, 1, 4, 5)
    patches = patches.reshape(-1, 3 * PATCH * PATCH).double()
    patches = patches - patches.mean(0)
    variances, components = torch.linalg.eigh(patches.T @ patches / len(patches))
    variances, components = variances.flip(0)[:width], components.flip(1)[:, :width]
    whitened = (components * (variances + 1e-3) ** -0.4).T.float()
    weight.data = whitened.reshape(width, 3, PATCH, PATCH).contiguous()


def expand_positions(state, grid):
    """The state of a smaller grid for a grid of this side; that of the same grid as it is.

    The position table is tiled, which keeps what the trunk has learned, and gets a weak code of the
    absolute position. Without that, pixels of two equal objects in different windows would look
    alike and the masks of the detector would spill from one into the other."""
    state = dict(state)
    for key, table in state.items():
        if not key.endswith("embeddings.position_embeddings") or table.shape[1] == grid**2:
            continue
        side = math.isqrt(table.shape[1])
        table = table.view(side, side, -1).repeat(grid // side, grid // side, 1)
        centres = (torch.arange(grid) + 0.5) / grid
        y, x = torch.meshgrid(centres, centres, indexing="ij")
        waves = [
            wave(math.pi * n * value)
            for n in (1, 2, 4)
            for value in (x, y)
            for wave in (torch.sin, torch.cos)
        ]
        code = torch.stack(waves, -1)
        generator = torch.Generator().manual_seed(3)
        basis = torch.randn(code.shape[-1], table.shape[-1], generator=generator)
        basis = 0.6 * basis / basis.norm(dim=1, keepdim=True)
        state[key] = (table + code @ basis).reshape(1, grid**2, -1)
    return state


def load_state(demo, state):
    """Loads a state dict of `Demo`, of this grid or a smaller one. Heads of training (aux_*) that
    it does not hold keep their weights."""
    state = expand_positions(state, demo.grid)
    missing, unexpected = demo.load_state_dict(state, strict=False)
    wrong = [key for key in missing if not key.startswith("aux_")] + unexpected
    if wrong:
        raise ValueError(f"not a state of the demo model: {len(wrong)} keys differ, as {wrong[0]}")
