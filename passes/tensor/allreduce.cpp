// Mirrors tinygrad schedule/multi.py: handle_allreduce, replace_allreduce.
#include <algorithm>

#include "lib/uop/debug.h"
#include "lib/uop/facts.h"
#include "lib/uop/movement.h"
#include "passes/tensor/movement_index.h"
#include "passes/tensor/stages.h"

namespace tgc {

using namespace pat;

namespace {

// tinygrad's rule declines if all devices are in one group, which tgc assumes.
UOp handle_allreduce_multirank(UOp, UOp) { return {}; }

enum class AllreduceAlgorithm { Naive, Ring, AllToAll };

AllreduceAlgorithm choose_algorithm(const Settings& settings, size_t devices, Int numel) {
  bool large = devices > 2 && numel > Int(settings.RING_ALLREDUCE_THRESHOLD);
  if (settings.ALL2ALL >= 2 || (large && settings.ALL2ALL >= 1)) return AllreduceAlgorithm::AllToAll;
  return settings.RING >= 2 || (large && settings.RING >= 1) ? AllreduceAlgorithm::Ring : AllreduceAlgorithm::Naive;
}

UOp reduce_values(const std::vector<UOp>& values, Op op) {
  UOp out = values[0];
  for (size_t i = 1; i < values.size(); i++) out = out.alu(op, values[i]);
  return out;
}

// Expands an ALLREDUCE over n devices: divides the value into n chunks, which are reduced separately, and joins the
// results on each device.
class ChunkedAllreduce {
 public:
  ChunkedAllreduce(UOp buf, Op op, bool all_to_all)
      : buf_(buf), op_(op), is_all_to_all_(all_to_all), num_devices_(int64_t(device_of(buf).items().size())) {
    numel_ = prod(shape_of(buf)).as_int().int64_or_throw("the size of an allreduce");
  }

  UOp run() {
    std::vector<UOp> parts;
    auto chunks = divide_into_chunks();
    for (int64_t i = 0; i < num_devices_; i++) {
      UOp reduced = is_all_to_all_ ? reduce_all_to_all(i, chunks[size_t(i)]) : reduce_around_ring(i, chunks[size_t(i)]);
      reduced_chunks_.push_back(reduced);
    }
    for (int64_t i = 0; i < num_devices_; i++) {
      auto [begin, end] = chunks[size_t(i)];
      UOp everywhere = is_all_to_all_ ? copy_to_all_devices(reduced_chunks_[size_t(i)])
                                      : pass_around_ring(i, reduced_chunks_[size_t(i)]);
      std::pair<Sint, Sint> amounts[] = {{begin, numel_ - end}};
      parts.push_back(pad(everywhere, amounts));
    }
    return reshape(reduce_values(parts, Op::ADD), shape_of(buf_));
  }

 private:
  using Chunk = std::pair<int64_t, int64_t>;

  // Divides the elements into n chunks [begin, end). Chunk sizes are multiples of the largest power of two up to 32
  // that divides the number of elements.
  std::vector<Chunk> divide_into_chunks() const {
    int64_t factor = 1;
    for (int64_t f : {32, 16, 8, 4, 2})
      if (factor == 1 && numel_ % f == 0) factor = f;
    int64_t base = numel_ / factor / num_devices_, left = numel_ / factor % num_devices_, at = 0;
    std::vector<Chunk> out;
    for (int64_t i = 0; i < num_devices_; i++) {
      int64_t size = (i < left ? base + 1 : base) * factor;
      out.emplace_back(at, at + size);
      at += size;
    }
    return out;
  }

  Arg device(int64_t i) const { return device_of(buf_)[size_t(i)]; }
  UOp shrink_to_chunk(UOp u, Chunk chunk) const {
    std::pair<Sint, Sint> bounds[] = {{chunk.first, chunk.second}};
    return shrink(reshape(u, ShapeVec{numel_}), bounds);
  }

  UOp reduce_all_to_all(int64_t i, Chunk chunk) const {
    std::vector<UOp> copies;
    for (int64_t j = 0; j < num_devices_; j++)
      copies.push_back(copy_to_device(shrink_to_chunk(mselect(buf_, j), chunk), device(i)));
    return reduce_values(copies, op_);
  }
  UOp copy_to_all_devices(UOp reduced) const {
    std::vector<UOp> copies;
    for (int64_t j = 0; j < num_devices_; j++) copies.push_back(copy_to_device(reduced, device(j)));
    return mstack(buf_, copies);
  }

  UOp reduce_around_ring(int64_t i, Chunk bounds) const {
    UOp chunk = shrink_to_chunk(buf_, bounds), reduced = chunk;
    for (int64_t step = 0; step < num_devices_ - 1; step++) {
      int64_t from = (i + step) % num_devices_, to = (i + step + 1) % num_devices_;
      UOp passed = device_of(reduced).is_tuple() ? copy_to_device(reduced, device(to), from)
                                                 : copy_to_device(reduced, device(to));
      reduced = passed.alu(op_, copy_to_device(chunk, device(to), to));
    }
    return reduced;
  }
  UOp pass_around_ring(int64_t i, UOp reduced) const {
    std::vector<UOp> copies;
    copies.resize(size_t(num_devices_));
    copies[size_t((i + num_devices_ - 1) % num_devices_)] = reduced;
    for (int64_t step = 0; step < num_devices_ - 1; step++) {
      int64_t to = (i + step) % num_devices_;
      copies[size_t(to)] = reduced = copy_to_device(reduced, device(to));
    }
    return mstack(buf_, copies);
  }

  UOp buf_;
  Op op_;
  bool is_all_to_all_;
  int64_t num_devices_, numel_;
  std::vector<UOp> reduced_chunks_;
};

FoldingResult handle_allreduce(UOp buf, UOp red) {
  Arg devices = device_or_throw(buf);
  if (!devices.is_tuple()) return {};
  Shape shape = shape_of(buf);
  if (!std::all_of(shape.begin(), shape.end(), [](Sint s) { return s.is_int(); }))
    throw Failure("cannot allreduce the symbolic shape " + str(shape));
  size_t n = devices.items().size();
  AllreduceAlgorithm algorithm = choose_algorithm(buf.graph().settings(), n, prod(shape).as_int());
  if (has_debug_level(buf.graph(), 2)) {
    const char* name = algorithm == AllreduceAlgorithm::Naive  ? "NAIVE"
                       : algorithm == AllreduceAlgorithm::Ring ? "RING"
                                                               : "ALL2ALL";
    print_debug_line(std::string(name) + " ALLREDUCE " + std::to_string(n) + "x" + prod(shape).str() + " | " +
                     std::string(buf.dtype().repr()));
  }
  buf = contiguous(buf);
  Op op = red.arg().op();
  if (algorithm != AllreduceAlgorithm::Naive) {
    bool all_to_all = algorithm == AllreduceAlgorithm::AllToAll;
    return {ChunkedAllreduce(buf, op, all_to_all).run(), all_to_all ? "all-to-all" : "ring"};
  }
  std::vector<UOp> copies;
  for (size_t i = 0; i < n; i++)
    copies.push_back(buf.graph().node(Op::COPY, buf.dtype(), {mselect(buf, int64_t(i)), red.src(1)}));
  return {reduce_values(copies, op), "naive"};
}

UOp shrink_for_device(UOp u, UOp shrink_op, int64_t device) {
  auto bounds = marg_pairs(shrink_op);
  auto settle = [&](Sint& s) {
    if (s.is_int()) return;
    if (UOp number = device_number_in(s.uop())) s = substitute(s.uop(), {{number, number.const_like(device)}});
  };
  for (auto& [begin, end] : bounds) settle(begin), settle(end);
  return shrink(u, bounds);
}

// Shrinks each part of an MSTACK, below a COPY where possible.
UOp mstack_early_shrink(UOp ms, UOp shrink_op) {
  std::vector<UOp> src;
  for (size_t i = 0; i < ms.num_src(); i++) {
    UOp x = ms.src(i);
    auto number = int64_t(i);
    if (!x.is(Op::COPY)) {
      src.push_back(contiguous(shrink_for_device(x, shrink_op, number)));
      continue;
    }
    Arg from = device_or_throw(x.src(0));
    bool computes = !(from.is_str() && (from.text() == "DISK" || from.text() == "NPY"));
    src.push_back(computes ? copy_to_device(shrink_for_device(x.src(0), shrink_op, number), device_of(x))
                  : shrink_for_device(x, shrink_op, number));
  }
  return ms.with_src(src);
}

UOp copy_to_each(UOp copy, UOp x) {
  Arg to = device_of(copy);
  if (!to.is_tuple() || !device_or_throw(x).is_str()) return {};
  std::vector<UOp> copies;
  for (Arg d : to.items()) copies.push_back(copy_to_device(x, d));
  return mstack(copy, copies);
}

UOp copy_first_part(UOp copy, UOp x) {
  Arg to = device_of(copy);
  return to.is_str() && device_or_throw(x).is_tuple() ? copy_to_device(mselect(x, 0), to) : UOp();
}

UOp part_of_stack(UOp stack, UOp ms) {
  Int i = ms.arg().as_int();
  if (i < 0 || i >= Int(int64_t(stack.num_src())))
    throw Failure("MSELECT " + i.str() + " of an MSTACK of " + std::to_string(stack.num_src()));
  return stack.src(size_t(i.small_value()));
}

}  // namespace

const RuleSet& replace_allreduce() {
  auto copied = node(OpSet::all() - Op::CONST).as(x);
  static const RuleSet set(
      "replace_allreduce",
      {
          rule("allreduce-in-groups", node(Op::ALLREDUCE, buf, anything()).as(red),
               with<handle_allreduce_multirank>(buf, red)),
          rule("allreduce", node(Op::ALLREDUCE, buf, anything()).as(red),
               with<handle_allreduce>(buf, red).branches({"naive", "ring", "all-to-all"})),
          rule("copy-to-many", node(Op::COPY, copied, node(Op::DEVICE)).as(y), with<copy_to_each>(y, x)),
          rule("copy-to-one", node(Op::COPY, copied, node(Op::DEVICE)).as(y), with<copy_first_part>(y, x)),
          rule("select-of-stack", node(Op::MSELECT, node(Op::MSTACK).as(s)).as(m), with<part_of_stack>(s, m)),
          rule("shrink-of-stack", any_len(Op::SHRINK, node(Op::MSTACK).as(m)).as(s), with<mstack_early_shrink>(m, s)),
          rule("select-below-movement", node(Op::MSELECT, any_len(ops::Movement, s).as(v)).as(m),
               with(s, v, m,
                    [](UOp s, UOp v, UOp m) {
                      return with_first_source(v, m.graph().node(Op::MSELECT, s.dtype(), s, m.arg()));
                    })),
      });
  return set;
}

}  // namespace tgc
