#include "lib/fuzz/generator.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "lib/uop/facts.h"
#include "passes/kernel/optimizer/optimizer.h"

namespace tgc {
namespace {

constexpr int64_t kLoops[] = {2, 3, 4, 5, 8, 16, 17, 33};
constexpr int64_t kMaxThreads = 120'000;  // so that REF is fast
constexpr int kMaxBits = 62;

int64_t number_near(int64_t n, RandomSource& c) { return n + int64_t(c.random_below(7)) - 3; }

class EdgeKernelMaker {
 public:
  EdgeKernelMaker(Graph& graph, RandomSource& chance) : graph_(graph), random_(chance) {}

  UOp make_kernel() {
    size_t n = 1 + random_.random_below(2);
    while (loops_.size() < n)
      loops_.push_back(graph_.range(random_.random_item(kLoops), int64_t(loops_.size()), AxisType::LOOP));
    switch (random_.random_below(5)) {
      case 0:
      case 1: return make_store_kernel(condition_as_int(scaled_comparison()));
      case 2: return make_store_kernel(condition_as_int(rounded_comparison()));
      default: return make_store_kernel(narrow_int_operation());
    }
  }

 private:
  UOp index() {
    UOp at = random_.random_item(loops_);
    if (loops_.size() > 1 && random_.one_in(2)) at = make_row_major_index(loops_).position;
    return random_.one_in(3) ? at + graph_.constant(dtypes::index, int64_t(random_.random_below(6)) - 2) : at;
  }
  // Returns a positive number up to about 2^most_bits, often near a power of two at which an integer or float dtype
  // ends.
  int64_t large_number(int most_bits) {
    static constexpr int kEnds[] = {16, 24, 31, 32, 53, 54, 60};
    int bits = random_.one_in(3) ? int(random_.random_below(size_t(most_bits))) : random_.random_item(kEnds);
    return std::max<int64_t>(1, number_near(int64_t(1) << std::min(bits, most_bits), random_));
  }

  // Compares a multiple of an index, sometimes plus a small number, with a number near another multiple.
  UOp scaled_comparison() {
    UOp at = index();
    int64_t most = at.vmax().as_int().small_value() + 3;
    int64_t scale = large_number(kMaxBits - 1 - int(std::bit_width(uint64_t(most))));
    int64_t times = int64_t(random_.random_below(size_t(most))), bound = times * scale;
    if (!random_.one_in(4)) bound = number_near(bound, random_);
    if (random_.one_in(3)) scale = -scale, bound = -bound;
    UOp left = at * Const(scale), right = graph_.constant(dtypes::index, bound);
    if (random_.one_in(4)) left = left + graph_.constant(dtypes::index, int64_t(random_.random_below(5)) - 2);
    return random_comparison(left, right);
  }

  UOp rounded_comparison() {
    static constexpr std::pair<Scalar, int> kDigits[] = {{Scalar::Float32, 24}, {Scalar::Float32, 24},
                                                         {Scalar::Float16, 11}, {Scalar::BFloat16, 8},
                                                         {Scalar::Float64, 53}};
    auto [scalar, digits] = random_.random_item(kDigits);
    DType d = dtypes::of(scalar);
    int64_t end = int64_t(1) << (digits + int(random_.random_below(3)));
    UOp number = (index() + graph_.constant(dtypes::index, number_near(end, random_))).cast(d);
    // Round to a multiple of 4, because near `end` the dtype cannot represent all integers.
    double bound = std::ldexp(std::nearbyint(std::ldexp(double(number_near(end, random_)), -2)), 2);
    return random_comparison(number, graph_.constant(d, bound));
  }

  UOp random_comparison(UOp a, UOp b) {
    switch (random_.random_below(4)) {
      case 0: return b.lt(a);
      case 1: return random_.one_in(2) ? a.ne(b) : a.lt(b).logical_not();
      default: return a.lt(b);
    }
  }
  UOp condition_as_int(UOp condition) {
    return condition.where(graph_.constant(dtypes::int32, int64_t(1)), graph_.constant(dtypes::int32, int64_t(0)));
  }

  UOp narrow_int_operation() {
    static constexpr Scalar kSmall[] = {Scalar::UInt8,  Scalar::UInt8, Scalar::Int8,  Scalar::UInt16,
                                        Scalar::UInt16, Scalar::Int16, Scalar::UInt32, Scalar::Int32};
    DType d = dtypes::of(random_.random_item(kSmall));
    UOp a = buffer_element(d), b = random_.one_in(2) ? buffer_element(d) : a;
    static constexpr Op kJoined[] = {Op::ADD, Op::MUL, Op::MAX, Op::AND, Op::XOR};
    if (random_.one_in(2)) a = a.alu(random_.random_item(kJoined), random_.one_in(2) ? b : edge_constant(d));
    switch (random_.random_below(6)) {
      case 0: return condition_as_int(a.lt(edge_constant(d)));
      case 1: return a % edge_constant(d);
      case 2: return a.alu(Op::SHR, graph_.constant(d, int64_t(random_.random_below(size_t(d.bitsize())))));
      default: return a / edge_constant(d);
    }
  }
  // Returns a number near the dtype's maximum or a power of two, sometimes negated; in one case of four, a number
  // above the maximum.
  UOp edge_constant(DType d) {
    int bits = int(d.bitsize()) - !dtypes::is_unsigned(d);
    int64_t most = (int64_t(1) << bits) - 1, v = most - int64_t(random_.random_below(4));
    if (random_.one_in(2)) v = number_near(int64_t(1) << (2 + random_.random_below(size_t(bits) - 2)), random_);
    v = std::clamp<int64_t>(v, 2, most);
    if (random_.one_in(4)) v = most + 1 + int64_t(random_.random_below(size_t(most)));
    else if (!dtypes::is_unsigned(d) && random_.one_in(3)) v = -v;
    return graph_.constant(d, v);
  }

  UOp new_buffer(DType d, int64_t size) { return graph_.node(Op::DEFINE_GLOBAL, d.ptr(size), {}, Arg(num_buffers_++)); }
  UOp buffer_element(DType d) {
    auto [at, size] = make_row_major_index(loops_);
    return new_buffer(d, size).index(at);
  }
  UOp make_store_kernel(UOp value) {
    auto [at, size] = make_row_major_index(loops_);
    return graph_.sink(new_buffer(value.dtype(), size).index_ptr(at).store(value).end(loops_));
  }

  Graph& graph_;
  RandomSource& random_;
  std::vector<UOp> loops_;
  int64_t num_buffers_ = 0;
};

// Returns sizes of which at least one exceeds its limit; an empty list if no attempt gave them.
std::vector<int64_t> sizes_beyond_limits(const std::array<int64_t, 3>& limits, RandomSource& c) {
  for (int tries = 0; tries < 256; tries++) {
    static constexpr size_t kDimensions[] = {1, 2, 2, 2, 3, 3};
    std::vector<int64_t> sizes(c.random_item(kDimensions));
    int64_t threads = 1;
    bool is_beyond = false;
    for (size_t i = 0; i < sizes.size(); i++) {
      const int64_t limit = std::max<int64_t>(1, limits[i]);
      const int64_t between = limit / 2 + int64_t(c.random_below(size_t(limit)));
      const int64_t choices[] = {1 + int64_t(c.random_below(8)), limit, number_near(limit, c), between, 2 * limit};
      sizes[i] = std::max<int64_t>(1, c.random_item(choices));
      if (sizes[i] > kMaxThreads / threads) {
        threads = kMaxThreads + 1;
        break;
      }
      threads *= sizes[i];
      is_beyond |= sizes[i] > limit;
    }
    if (is_beyond && threads <= kMaxThreads) return sizes;
  }
  return {};
}

}  // namespace

UOp random_edge_kernel(Graph& graph, RandomSource& chance) { return EdgeKernelMaker(graph, chance).make_kernel(); }

UOp random_grid_kernel(Graph& g, RandomSource& c, const Target& target) {
  if (!target.has_local) return {};
  bool is_local = c.one_in(2);
  auto& limits = is_local ? target.local_max : target.global_max;
  if (!limits) return {};
  std::vector<int64_t> sizes = sizes_beyond_limits(*limits, c);
  std::vector<UOp> loops;
  for (int64_t size : sizes)
    loops.push_back(g.range(size, int64_t(loops.size()), is_local ? AxisType::LOCAL : AxisType::GLOBAL));
  if (loops.empty()) return {};
  std::vector<UOp> order = loops;
  if (c.one_in(2)) std::ranges::reverse(order);
  auto [at, threads] = make_row_major_index(order);
  UOp value = loops[0].cast(dtypes::int32);
  for (size_t i = 1; i < loops.size(); i++) value = value * Const(int64_t(7)) + loops[i].cast(dtypes::int32);
  UOp out = g.node(Op::DEFINE_GLOBAL, value.dtype().ptr(threads), {}, Arg(int64_t(0)));
  return sink_with_opts(g.sink(out.index_ptr(at).store(value).end(loops)), {});
}

}  // namespace tgc
