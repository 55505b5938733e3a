"""The numbers of the recipe. Pictures and prompts are counted per process; there are two."""

from dataclasses import dataclass

from batches import Plan


@dataclass(frozen=True)
class TrunkPhase:
    """The trunk alone, from dense labels."""

    name: str
    plan: Plan
    steps: int
    rate: float  # peak of the learning rate
    sample: int  # pictures from which the patch embedding is made


@dataclass(frozen=True)
class JointPhase:
    """Several parts together.

    name            its result is NAME.pt
    source          the result it starts from
    continues       whether it goes on with the weights and the average of its source; otherwise it
                    starts from the average (or, after the trunk's phase, from fresh weights)
    stream          number of its batches' random stream
    warm_up         steps of linear warm-up
    floor           learning rate at the end, as a part of its peak
    trunk_scale     learning rate of the trunk, as a part of that of the detector
    click_scale     the same of the click branch
    average_decay   of the moving average of the weights, per step
    attributes      weight of the dense attribute heads at the start, from where it falls in
                    proportion to what is left of the phase, and its least value
    """

    name: str
    source: str
    continues: bool
    stream: int
    plan: Plan
    steps: int
    rate: float
    warm_up: int
    floor: float
    trunk_scale: float
    average_decay: float
    attributes: tuple
    click_scale: float = 2.0


@dataclass(frozen=True)
class BranchPhase:
    """A part of the network alone, the rest frozen; fields as in JointPhase."""

    name: str
    source: str
    stream: int
    plan: Plan
    steps: int
    rate: float
    warm_up: int
    average_decay: float


TRUNK = TrunkPhase(
    name="trunk",
    plan=Plan(size=168, images=32, max_objects=4, aspect_spread=0.25),
    steps=2000,
    rate=1.5e-3,
    sample=160,
)
SMALL = JointPhase(
    name="small",
    source="trunk",
    continues=False,
    stream=0,
    plan=Plan(size=168, images=8, prompts=3, mask_images=4, max_objects=4),
    steps=1200,
    rate=1.0e-3,
    warm_up=100,
    floor=0.3,
    trunk_scale=0.25,
    average_decay=0.997,
    attributes=(1.0, 1.0),
)
JOINT = JointPhase(
    name="joint",
    source="small",
    continues=True,
    stream=1,
    plan=Plan(size=336, images=6, prompts=3, mask_images=6),
    steps=1850,
    rate=7e-4,
    warm_up=60,
    floor=0.02,
    trunk_scale=0.5,
    average_decay=0.99,
    attributes=(0.6, 0.15),
)
REFINED = BranchPhase(
    name="refined",
    source="joint",
    stream=2,
    plan=Plan(size=336, images=6, prompts=1, click_images=6, click_mask_images=6, click_prompts=8),
    steps=1080,
    rate=1e-3,
    warm_up=40,
    average_decay=0.99,
)
FINAL = BranchPhase(
    name="final",
    source="refined",
    stream=3,
    plan=Plan(size=336, images=6, prompts=2),
    steps=420,
    rate=1e-3,
    warm_up=20,
    average_decay=0.98,
)
POLISHED = JointPhase(
    name="polished",
    source="final",
    continues=False,
    stream=2,
    plan=Plan(
        size=336,
        images=6,
        prompts=2,
        mask_images=4,
        click_images=6,
        click_mask_images=3,
        click_prompts=8,
    ),
    steps=500,
    rate=5e-4,
    warm_up=60,
    floor=0.02,
    trunk_scale=1.0,
    average_decay=0.995,
    attributes=(0.6, 0.15),
)
CORRECTED = BranchPhase(
    name="corrected",
    source="polished",
    stream=4,
    plan=Plan(
        size=336,
        images=6,
        prompts=0,
        click_images=6,
        click_mask_images=3,
        click_prompts=8,
        max_objects=6,
        cut=0.9,
        point_odds=(0.06, 0.1, 0.58, 0.16, 0.1),
    ),
    steps=3300,
    rate=1.6e-3,
    warm_up=40,
    average_decay=0.99,
)
PHASES = [TRUNK, SMALL, JOINT, REFINED, FINAL, POLISHED, CORRECTED]
