// Where the mask of a detection comes from: kept small until somebody asks for it at full size.
#pragma once

#include "mask/upsample.h"
#include "runtime/tensor.h"
#include "sam3/mask.h"
#include "sam3/picture.h"

namespace sam3::model {

class MaskSource {
 public:
  virtual ~MaskSource() = default;
  // At the picture's size.
  virtual Mask full() const = 0;
  // At the model's own size where it is smaller, for comparing masks of one picture.
  virtual Mask compact() const = 0;
};

// Row `query` of pred_masks_bits [1, Q, H, W/8].
class BitMaskSource : public MaskSource {
 public:
  BitMaskSource(runtime::Tensor bits, int query, mask::BitOrder order, Size picture)
      : bits_(std::move(bits)), query_(query), order_(order), picture_(picture) {}
  Mask full() const override { return mask::upsample_bits(plane(), picture_); }
  Mask compact() const override { return mask::unpack_bits(plane()); }

 private:
  mask::BitPlane plane() const;

  runtime::Tensor bits_;
  int query_;
  mask::BitOrder order_;
  Size picture_;
};

// Plane `token` of the first object of pred_masks [1, P, M, H, W].
class LogitMaskSource : public MaskSource {
 public:
  LogitMaskSource(runtime::Tensor logits, int token, Size picture)
      : logits_(std::move(logits)), token_(token), picture_(picture) {}
  Mask full() const override;
  Mask compact() const override;

 private:
  const float* plane() const;
  Size low() const;

  runtime::Tensor logits_;
  int token_;
  Size picture_;
};

// A mask that the graph has already made at the picture's size.
class ReadyMaskSource : public MaskSource {
 public:
  explicit ReadyMaskSource(Mask mask) : mask_(std::move(mask)) {}
  Mask full() const override { return mask_; }
  Mask compact() const override { return mask_; }

 private:
  Mask mask_;
};

}  // namespace sam3::model
