// RandomKernelMaker: generates random kernel ASTs with arithmetic in many dtypes.
#pragma once
#include <algorithm>
#include <vector>

#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {

class RandomKernelMaker {
 public:
  RandomKernelMaker(Graph& graph, uint64_t seed) : graph_(graph), random_state_(seed * 0x9E3779B97F4A7C15ull + 1) {}

  UOp make_ast() {
    std::vector<UOp> stores;
    for (size_t n = draw_one_in(8) ? 2 : 1; n > 0; n--) stores.push_back(make_store());
    return graph_.sink(stores);
  }

 private:
  uint64_t next_random() {
    uint64_t z = random_state_ += 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
  }
  size_t draw_below(size_t n) { return size_t(next_random() % n); }
  bool draw_one_in(size_t one_in) { return draw_below(one_in) == 0; }
  template <class T>
  T random_item(std::initializer_list<T> choices) { return choices.begin()[draw_below(choices.size())]; }

  UOp new_range(AxisType type) {
    if (draw_one_in(24))
      return graph_.range(graph_.variable("i", 1, random_item({7, 16, 32})), std::vector<Arg>{next_axis_++, type});
    return graph_.range(random_item({2, 3, 4, 5, 7, 8, 12, 16, 17, 32, 33, 64, 100, 128, 256}), next_axis_++, type);
  }
  std::vector<UOp> new_ranges(size_t count, AxisType type) {
    std::vector<UOp> out;
    while (out.size() < count) out.push_back(new_range(type));
    return out;
  }
  UOp index_const(int64_t value) { return graph_.constant(dtypes::index, value); }

  // Returns the row-major index over `ranges`, the innermost last. Sets `size` to the number of iterations.
  UOp row_major_position(const std::vector<UOp>& ranges, int64_t& size) {
    UOp out;
    size = 1;
    for (size_t i = ranges.size(); i-- > 0;) {
      UOp term = size == 1 ? ranges[i] : ranges[i] * size;
      out = out ? term + out : term;
      size *= int64_t(ranges[i].vmax().as_int().small_value()) + 1;
    }
    return out ? out : index_const(0);
  }

  DType random_dtype() {
    return random_item({dtypes::float32, dtypes::float32, dtypes::float32, dtypes::int32, dtypes::float16,
                        dtypes::int32, dtypes::uint8, dtypes::bfloat16, dtypes::int64, dtypes::uint32, dtypes::bool_,
                        dtypes::int8});
  }

  UOp random_load(DType dtype, const std::vector<UOp>& ranges) {
    std::vector<UOp> used;
    for (UOp r : ranges)
      if (!draw_one_in(4)) used.push_back(r);
    if (draw_one_in(3)) std::reverse(used.begin(), used.end());
    int64_t size = 1;
    UOp at = row_major_position(used, size), valid;
    switch (draw_below(8)) {
      case 0: at = at / random_item<int64_t>({2, 3, 4, 7}); break;
      case 1: size = random_item<int64_t>({3, 4, 5, 8}), at = at % size; break;
      case 2: {  // the first `pad` indices are padding: load nothing
        int64_t pad = int64_t(1 + draw_below(5));
        valid = at.lt(pad).logical_not(), at = at - pad;
        break;
      }
      case 3: valid = at.lt(std::max<int64_t>(1, size - int64_t(draw_below(4)))); break;
      case 4: at = index_const(size - 1) - at; break;
      default: break;
    }
    if (valid && valid.op() != Op::CONST) at = valid.where(at, graph_.invalid());
    UOp buffer = graph_.node(Op::DEFINE_GLOBAL, dtype.ptr(std::max<int64_t>(size, 1)), {}, Arg(next_buffer_++));
    return buffer.index(at);
  }

  Const random_literal(DType dtype) {
    if (dtypes::is_float(dtype)) return random_item({0.0, 1.0, -1.0, 0.5, 2.0, 3.25, -0.125, 1.4426950408889634});
    if (dtypes::is_bool(dtype)) return draw_one_in(2);
    return random_item<int64_t>({0, 1, 2, 3, 5, 7, 8, 16, 100});
  }

  UOp random_value(DType dtype, const std::vector<UOp>& ranges, int depth) {
    if (depth <= 0 || draw_one_in(6))
      return draw_one_in(5) ? graph_.constant(dtype, random_literal(dtype)) : random_load(dtype, ranges);
    auto deeper = [&](DType d) { return random_value(d, ranges, depth - 1); };
    if (draw_one_in(6)) {
      DType from = random_dtype();
      return from == dtype ? deeper(dtype) : deeper(from).cast(dtype);
    }
    if (draw_one_in(8)) {
      UOp yes = deeper(dtype), no = deeper(dtype);
      return random_condition(ranges, depth - 1).where(yes, no);
    }
    if (dtypes::is_bool(dtype))
      return draw_one_in(2) ? random_condition(ranges, depth - 1)
                       : deeper(dtype).alu(random_item({Op::AND, Op::OR, Op::XOR}), deeper(dtype));
    if (dtypes::is_float(dtype)) {
      if (draw_one_in(3))
        return deeper(dtype).alu(random_item({Op::EXP2, Op::LOG2, Op::SIN, Op::SQRT, Op::RECIPROCAL, Op::TRUNC}));
      return deeper(dtype).alu(random_item({Op::ADD, Op::MUL, Op::MAX, Op::ADD, Op::MUL}), deeper(dtype));
    }
    if (draw_one_in(4))
      return deeper(dtype).alu(random_item({Op::IDIV, Op::MOD, Op::SHL, Op::SHR}),
                               graph_.constant(dtype, random_item<int64_t>({1, 2, 3, 4, 7})));
    return deeper(dtype).alu(random_item({Op::ADD, Op::MUL, Op::MAX, Op::AND, Op::OR, Op::XOR}), deeper(dtype));
  }

  UOp random_condition(const std::vector<UOp>& ranges, int depth) {
    if (!ranges.empty() && draw_one_in(2)) {
      UOp r = ranges[draw_below(ranges.size())];
      return r.lt(int64_t(1 + draw_below(8)));
    }
    DType dtype = random_item({dtypes::float32, dtypes::int32});
    return random_value(dtype, ranges, depth)
        .alu(random_item({Op::CMPLT, Op::CMPNE}), random_value(dtype, ranges, depth));
  }

  UOp make_store() {
    auto out = new_ranges(draw_below(4), AxisType::LOOP);
    DType dtype = random_dtype();
    UOp v;
    if (draw_one_in(2)) {
      auto reduced = new_ranges(1 + draw_below(2), AxisType::REDUCE), all = out;
      all.insert(all.end(), reduced.begin(), reduced.end());
      DType inner = dtypes::is_bool(dtype) ? dtypes::int32 : dtype;
      v = (draw_one_in(3) ? random_load(inner, all) * random_load(inner, all) : random_value(inner, all, 2))
              .reduce(reduced, random_item({Op::ADD, Op::ADD, Op::MAX}));
      if (draw_one_in(2)) v = v.alu(random_item({Op::ADD, Op::MUL}), random_value(inner, out, 2));
      if (!(inner == dtype)) v = v.cast(dtype);
    } else {
      v = random_value(dtype, out, int(1 + draw_below(4)));
    }
    int64_t size = 1;
    UOp at = row_major_position(out, size);
    UOp buffer = graph_.node(Op::DEFINE_GLOBAL, dtype.ptr(size), {}, Arg(next_buffer_++));
    return buffer.index_ptr(at).store(v).end(out);
  }

  Graph& graph_;
  uint64_t random_state_;
  int64_t next_axis_ = 0, next_buffer_ = 0;
};

}  // namespace tgc
