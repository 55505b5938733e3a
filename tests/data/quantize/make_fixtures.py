#!/usr/bin/env python3
"""Makes blocks.safetensors: matrices as ONNX Runtime's MatMulNBitsQuantizer packs them.

Needs NumPy, onnxruntime, safetensors. `weight_N` [inputs, outputs]; `packed_N_B` and `scales_N_B`
for B bits."""

import os

import numpy as np
from onnxruntime.quantization.matmul_nbits_quantizer import (
    DefaultWeightOnlyQuantConfig,
    DefaultWeightOnlyQuantizer,
    QuantFormat,
)
from safetensors.numpy import save_file

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    random = np.random.default_rng(7)
    tensors = {}
    # Whole blocks, and a last block that is cut.
    for number, (inputs, outputs) in enumerate([(64, 5), (70, 6)]):
        weight = random.standard_normal((inputs, outputs)).astype(np.float32)
        weight[:, 2] = 0
        weight[:32, 3] = np.abs(weight[:32, 3])
        weight[5, 4] = 1e6
        tensors[f"weight_{number}"] = weight
        for bits in (4, 8):
            quantizer = DefaultWeightOnlyQuantizer(
                DefaultWeightOnlyQuantConfig(
                    block_size=32,
                    is_symmetric=True,
                    bits=bits,
                    quant_format=QuantFormat.QOperator,
                )
            )
            packed, scales, _ = quantizer.qbits_block_quant(weight)
            tensors[f"packed_{number}_{bits}"] = packed
            tensors[f"scales_{number}_{bits}"] = scales
    save_file(tensors, os.path.join(HERE, "blocks.safetensors"))


if __name__ == "__main__":
    main()
