// Helpers for the rule tests of this folder.
#pragma once
#include <array>

#include "lib/rewrite/testing.h"
#include "lib/uop/facts.h"
#include "lib/uop/movement.h"
#include "passes/tensor/stages.h"

namespace tgc {

class TensorTest : public RuleTest {
 public:
  explicit TensorTest(const RuleSet& set, const Settings& settings = {}) : RuleTest(set, settings) {}

  UOp node(Op op, DType dtype = dtypes::void_, UOpSpan src = {}, Arg arg = {}) {
    return graph.node(op, dtype, src, arg);
  }
  UOp device(std::string_view name) { return make_device_node(graph, graph.str(name)); }
  // Returns a BUFFER of `size` float32 elements on a device or a tuple of devices.
  UOp make_buffer_on(Arg devices, int64_t number, int64_t size) {
    return node(Op::BUFFER, dtypes::float32,
                {node(Op::UNIQUE, dtypes::void_, {}, number), make_device_node(graph, devices)}, size);
  }
  UOp tensor(int64_t number, ShapeVec shape, std::string_view on = "CPU") {
    return reshape(make_buffer_on(graph.str(on), number, small_size(prod(shape))), shape);
  }
  Arg device_pair() { return graph.tuple({graph.str("A"), graph.str("B")}); }
  UOp tensor_on_pair(int64_t number, ShapeVec shape) {
    return reshape(make_buffer_on(device_pair(), number, small_size(prod(shape))), shape);
  }

  UOp transpose_axes(UOp u) { return permute(u, std::array<int64_t, 2>{1, 0}); }
  UOp pad_axes(UOp u, std::vector<std::pair<Sint, Sint>> amounts) { return pad(u, amounts); }
  UOp shrink_axes(UOp u, std::vector<std::pair<Sint, Sint>> bounds) { return shrink(u, bounds); }
  UOp make_contiguous(UOp u) { return node(Op::CONTIGUOUS, u.dtype(), u); }
  UOp copy_to(UOp u, std::string_view to) { return copy_to_device(u, graph.str(to)); }
  UOp copy_to_pair(UOp u) { return copy_to_device(u, device_pair()); }

 private:
  static int64_t small_size(Sint size) { return size.int64_or_throw("a test's size"); }
};

}  // namespace tgc
