// Builds an ONNX graph (opset 18, standard operators) node by node. Every node is named by the
// place in the model that it belongs to: "/detr_decoder/layers.3/self_attn/q_proj/MatMul".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "convert/weights.h"
#include "graph/editable_model.h"
#include "graph/graph_editor.h"
#include "sam3/result.h"

namespace sam3::convert {

// The name of a value of the graph.
using Value = std::string;

// A size of a declared input or output, or the name of one that is free.
using Dim = std::variant<std::int64_t, std::string>;

using Attributes = std::map<std::string, graph::Attribute>;

// A linear layer of the checkpoint: weight [out, in] and bias [out].
struct Linear {
  std::string key;  // without ".weight"
  std::int64_t in = 0;
  std::int64_t out = 0;
  bool bias = true;
  // Row `order[i]` of the weight becomes output i; empty: as it is.
  std::vector<std::int64_t> order = {};
};

struct Attention {
  std::string key;         // of q_proj, k_proj, v_proj and the output projection
  std::int64_t width = 0;  // of inputs and output
  std::int64_t inner = 0;  // of queries, keys and values
  std::int64_t heads = 0;
  std::string output = "o_proj";
};

class Builder {
 public:
  Builder(const WeightSource& source, const std::string& graph_name);

  // Adds a part to the names of the nodes made during its life.
  class Scope {
   public:
    Scope(Builder& builder, const std::string& part) : builder_(builder) {
      before_ = builder_.place_.size();
      builder_.place_ += "/" + part;
    }
    ~Scope() { builder_.place_.resize(before_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Builder& builder_;
    std::size_t before_;
  };

  Value input(const std::string& name, graph::ElementType type, const std::vector<Dim>& dims);
  // Gives a value its final name and declares it as an output.
  void output(const Value& value, const std::string& name, graph::ElementType type,
              const std::vector<Dim>& dims);
  // A name of its own for a value that is worth looking at.
  Value named(const Value& value, const std::string& name);

  Value node(const std::string& op, const std::vector<Value>& inputs,
             const Attributes& attributes = {});
  std::vector<Value> nodes(const std::string& op, const std::vector<Value>& inputs, int outputs,
                           const Attributes& attributes = {});

  // Constants; equal ones are declared once.
  Value ints(const std::vector<std::int64_t>& values);  // [n]
  Value scalar(float value);
  Value floats(const std::vector<std::int64_t>& dims, const std::vector<float>& values);
  Value constant(const std::string& name, graph::Weight weight);

  // A tensor of the checkpoint under its key. `use` tells several declarations of one apart.
  Value weight(const std::string& key, const std::vector<std::int64_t>& dims,
               const std::string& use = "");
  // The values themselves, of small tensors.
  std::vector<float> values(const std::string& key, const std::vector<std::int64_t>& dims);

  Value reshape(const Value& x, const std::vector<std::int64_t>& dims);
  Value transpose(const Value& x, const std::vector<std::int64_t>& order);
  Value unsqueeze(const Value& x, std::int64_t axis);
  Value squeeze(const Value& x, std::int64_t axis);
  Value slice(const Value& x, std::int64_t axis, std::int64_t begin, std::int64_t end);
  Value concat(const std::vector<Value>& parts, std::int64_t axis);
  Value add(const Value& a, const Value& b) { return node("Add", {a, b}); }
  Value mul(const Value& a, const Value& b) { return node("Mul", {a, b}); }
  Value scale(const Value& x, double factor);
  Value clip(const Value& x, float low, float high);

  Value activation(const Value& x, const std::string& name);  // gelu (by erf), quick_gelu, relu
  Value layer_norm(const Value& x, const std::string& key, std::int64_t width,
                   double epsilon = 1e-5);
  Value linear(const Value& x, const Linear& layer, const std::string& use = "");
  struct Convolution {
    std::string key;
    std::int64_t in = 0;
    std::int64_t out = 0;
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t pad = 0;
    bool bias = true;
  };
  Value convolution(const Value& x, const Convolution& layer);
  Value transposed_convolution(const Value& x, const Convolution& layer);

  // Scaled dot products of queries [B, L, inner] with keys and values [B or 1, M, inner], after
  // their projections; `bias`, if not empty, is added to the scores [B, heads, L, M].
  Value heads_of(const Value& x, const Attention& attention);      // [B, heads, L, d]
  Value key_heads_of(const Value& x, const Attention& attention);  // [B, heads, d, M]
  Value attend(const Value& queries, const Value& keys, const Value& values,
               const Attention& attention, const Value& bias = "");  // [B, L, inner]
  // The whole layer.
  Value attention(const Value& query, const Value& key, const Value& value,
                  const Attention& attention, const Value& bias = "");

  // The graph, or all that was wrong with the weights.
  Result<graph::EditableModel> finish() &&;

 private:
  friend class Scope;
  std::string unique(const std::string& wanted);
  // The weight of a checkpoint, or one without values after a failure.
  graph::Weight find(const std::string& key, const std::vector<std::int64_t>& dims);
  void rename(const Value& from, const Value& to);
  bool first_use(const std::string& name) { return !model_.weights.contains(name); }

  const WeightSource& source_;
  graph::EditableModel model_;
  std::string place_;
  std::map<std::string, int> taken_;
  std::vector<Error> failures_;
};

}  // namespace sam3::convert
