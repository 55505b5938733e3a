"""Trains the demo model, a tiny but complete SAM 3 (text and click branch), on drawn scenes.

    python train.py --bpe bpe_simple_vocab_16e6.txt.gz --work DIR --out DIR

The phases (recipe.py) run one after the other; each leaves WORK/NAME.pt behind. A call goes on
after the last phase whose file is there, so a copy of NAME.pt is enough to start from it. At the
end the averaged weights are written to OUT/checkpoint and the tokenizer to OUT/tokenizer.
"""

import argparse
import os

import torch

from initialise import load_state
from model import Demo, save_checkpoint
from process import rendezvous_path
from recipe import PHASES, JointPhase, TrunkPhase
from tokenizer import build_tokenizer
from train_branch import ClickBranch, CorrectedClicks, MaskBranch, train_branch
from train_joint import train_joint
from train_trunk import train_trunk

BRANCHES = (ClickBranch(), MaskBranch(), CorrectedClicks())

# For the processes of a phase: idle threads sleep (on a busy machine they would slow every step
# tenfold), and freed memory stays with the process.
ENVIRONMENT = {
    "GOMP_SPINCOUNT": "0",
    "OMP_WAIT_POLICY": "PASSIVE",
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TRIM_THRESHOLD_": "8589934592",
}


def run_phase(options, phase):
    """Runs a phase in processes of its own; its result is in the work folder then."""
    rendezvous = rendezvous_path(options, phase)
    if os.path.exists(rendezvous):  # of a run that was stopped
        os.remove(rendezvous)
    count = options.processes
    if isinstance(phase, TrunkPhase):
        torch.multiprocessing.spawn(train_trunk, (options,), count)
    elif isinstance(phase, JointPhase):
        torch.multiprocessing.spawn(train_joint, (options, phase), count)
        result = os.path.join(options.work, phase.name + ".pt")
        os.replace(os.path.join(options.work, "last.pt"), result)
    else:
        branch = next(b for b in BRANCHES if b.phase == phase)
        torch.multiprocessing.spawn(train_branch, (options, branch), count)


def remaining_phases(work):
    """The phases after the last one whose result is there."""
    done = [i for i, p in enumerate(PHASES) if os.path.exists(os.path.join(work, p.name + ".pt"))]
    return PHASES[done[-1] + 1 :] if done else PHASES


def write_checkpoint(options, path):
    """The averaged weights of a file of training as OUT/checkpoint, and OUT/tokenizer."""
    saved = torch.load(path, weights_only=True)
    demo = Demo(saved["size"])
    load_state(demo, saved["ema"])
    save_checkpoint(demo, os.path.join(options.out, "checkpoint"))
    build_tokenizer(options.bpe).save_pretrained(os.path.join(options.out, "tokenizer"))
    print(f"{path}: {saved['step']} steps of its phase, written to {options.out}/checkpoint")


def _phase_steps(text):
    name, _, steps = text.partition("=")
    if name not in [phase.name for phase in PHASES] or not steps.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not PHASE=STEPS")
    return name, int(steps)


def parse_options():
    names = ", ".join(phase.name for phase in PHASES)
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    add = parser.add_argument
    add("--bpe", required=True, help="CLIP's bpe_simple_vocab_16e6.txt.gz")
    add("--photos", help="folder of pictures for some of the backgrounds (default: clouds instead)")
    add("--work", default="work", help="results of the phases and log (default: %(default)s)")
    add("--out", default="out", help="gets checkpoint/ and tokenizer/ (default: %(default)s)")
    add("--resume", action="store_true", help="go on from WORK/last.pt in a phase that was stopped")
    add("--minutes", type=float, help="length of the phase polished, instead of its steps")
    add(
        "--steps",
        type=_phase_steps,
        nargs="*",
        default=[],
        metavar="PHASE=STEPS",
        help=f"other lengths than the recipe's; phases: {names}",
    )
    add(
        "--fp32",
        action="store_true",
        help="no bfloat16, which only pays on processors that have it",
    )
    add("--seed", type=int, default=20260, help="(default: %(default)s)")
    add("--processes", type=int, default=2, help="data-parallel processes (default: %(default)s)")
    add("--threads", type=int, default=1, help="threads of a process (default: %(default)s)")
    add(
        "--export", metavar="FILE", help="train nothing; write the checkpoint of last.pt or NAME.pt"
    )
    options = parser.parse_args()
    options.steps, options.mixed = dict(options.steps), not options.fp32
    return options


def main():
    options = parse_options()
    if options.export:
        write_checkpoint(options, options.export)
        return
    os.makedirs(options.work, exist_ok=True)
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    for phase in remaining_phases(options.work):
        run_phase(options, phase)
    write_checkpoint(options, os.path.join(options.work, PHASES[-1].name + ".pt"))


if __name__ == "__main__":
    main()
