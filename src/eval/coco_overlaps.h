// How much results and annotations of COCO files overlap.
#pragma once

#include <span>

#include "eval/coco_data.h"
#include "eval/matrix.h"

namespace sam3::eval {

enum class IouKind { kBox, kMask };

// IoUs of the detections (rows) and truths (columns) of one picture. Where the truth is a crowd,
// the part of the detection that lies in it, as pycocotools does. All masks have the picture's
// size; what has none overlaps nothing.
Matrix coco_overlaps(std::span<const CocoDetection* const> detections,
                     std::span<const CocoAnnotation* const> truths, IouKind kind);

}  // namespace sam3::eval
