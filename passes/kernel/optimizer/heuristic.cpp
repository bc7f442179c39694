#include "passes/kernel/optimizer/optimizer.h"

#include <algorithm>
#include <tuple>

#include "lib/uop/debug.h"
#include "lib/uop/facts.h"
#include "lib/uop/integer_math.h"
#include "lib/uop/render.h"

namespace tgc {
namespace {

constexpr AxisTypeSet kUpcasts{AxisType::UPCAST, AxisType::UNROLL};
constexpr AxisTypeSet kReduces{AxisType::REDUCE, AxisType::UNROLL, AxisType::GROUP_REDUCE};

bool try_opt(Scheduler& k, const Opt& opt) {
  try {
    k.apply_opt(opt);
    return true;
  } catch (const KernelOptError&) {
    return false;
  }
}

bool is_size_divisible(Sint size, int64_t by) { return size.is_int() && floor_mod(size.as_int(), by) == Int(0); }

UOp access_index(UOp buf) { return buf.src(1).get_idx(); }

Int num_upcastable_outputs(const Scheduler& k) {
  Int out = 1;
  for (size_t i : k.upcastable_dims())
    if (!kReduces.contains(k.facts().types[i])) out *= k.full_shape()[i].as_int();
  return out;
}

bool has_term(const std::vector<UOp>& terms, UOp u) { return std::find(terms.begin(), terms.end(), u) != terms.end(); }

// Returns the kernel with a tensor core and, where the sizes are divisible, with upcasts of M and N and a LOCAL of N.
// Returns nullopt if no tensor core is to be used or fits, and with AMX, whose kernel is discarded as in tinygrad.
std::optional<Scheduler> with_tensor_core(const Scheduler& original) {
  const Settings& s = original.graph().settings();
  if (s.TC <= 0 || original.target().tensor_cores.empty()) return std::nullopt;
  if (s.TC_OPT < 1 && original.axes_of({AxisType::GROUP_REDUCE, AxisType::REDUCE}).size() != 1) return std::nullopt;
  Scheduler k = original.copy();
  std::vector<UOp> axes;
  try {
    axes = k.apply_opt({OptOps::TC, 0, k.graph().ints(std::array{s.TC_SELECT, s.TC_OPT, s.TC})});
  } catch (const KernelOptError&) {
    return std::nullopt;
  }
  if (s.AMX) return std::nullopt;
  auto largest = [](UOp rng, std::initializer_list<int64_t> sizes) -> int64_t {
    auto it = std::find_if(sizes.begin(), sizes.end(), [&](int64_t size) { return is_divisible(rng.src(0), size); });
    return it == sizes.end() ? 0 : *it;
  };
  for (size_t dim : {size_t(1), size_t(0)})
    if (int64_t size = largest(axes[dim], {5, 4, 3, 2}))
      axes[dim] = k.apply_opt({OptOps::UPCAST, int64_t(k.axis_of(axes[dim])), size})[0];
  if (int64_t size = largest(axes[0], {4, 2})) k.apply_opt({OptOps::LOCAL, int64_t(k.axis_of(axes[0])), size});
  return k;
}

// For each image access, if possible upcasts or unrolls by 4 the first axis that is a term of the image's index and
// whose size 4 divides.
void upcast_images(Scheduler& k) {
  const auto original = k.bufs();
  for (size_t i = 0; i < original.size(); i++) {
    if (!original[i].src(0).dtype().is_image()) continue;
    if (i >= k.bufs().size()) throw Failure("an upcast merged two accesses of an image");
    for (UOp term : split_uop(access_index(k.bufs()[i]), Op::ADD)) {
      if (!term.is(Op::RANGE) || floor_mod(term.vmax().as_int() + 1, 4) != Int(0)) continue;
      size_t axis = k.axis_of(term);
      auto upcastable = k.upcastable_dims(), unrollable = k.unrollable_dims();
      if (std::find(upcastable.begin(), upcastable.end(), axis) != upcastable.end())
        k.apply_opt({OptOps::UPCAST, int64_t(axis), 4});
      else if (auto it = std::find(unrollable.begin(), unrollable.end(), axis); it != unrollable.end())
        k.apply_opt({OptOps::UNROLL, it - unrollable.begin(), 4});
      break;
    }
  }
}

bool is_matvec(const Scheduler& k) {
  UOp reduce = k.reduceop();
  if (!reduce || !reduce.arg().is(Op::ADD) || k.full_shape().size() < 2 || !k.target().has_shared) return false;
  UOp mul = reduce.src(0);
  if (!mul.is(Op::MUL) || !mul.src(0).is(Op::INDEX) || !mul.src(1).is(Op::INDEX)) return false;
  auto reduced = k.ranges_of({AxisType::REDUCE});
  if (reduced.empty()) return false;
  UOp idx0 = access_index(mul.src(0)), idx1 = access_index(mul.src(1));
  auto ranges0 = idx0.ranges();
  return has_term(split_uop(idx0, Op::ADD), reduced[0]) &&
         std::all_of(ranges0.begin(), ranges0.end(), [&](UOp r) { return is_inside_range(idx1, r); });
}

bool optimize_matvec(Scheduler& k) {
  const Settings& s = k.graph().settings();
  if (!k.target().has_local || !s.MV || (s.MV_BLOCKSIZE <= 1 && s.MV_THREADS_PER_ROW <= 1 && s.MV_ROWS_PER_THREAD <= 1))
    return false;
  if (!is_matvec(k)) return false;
  UOp reduced = k.ranges_of({AxisType::REDUCE})[0];
  for (size_t axis : k.axes_of({AxisType::GLOBAL})) {
    if (!is_divisible(reduced.src(0), s.MV_THREADS_PER_ROW) ||
        !is_size_divisible(k.full_shape()[axis], s.MV_BLOCKSIZE * s.MV_ROWS_PER_THREAD))
      continue;
    if (has_debug_level(k.graph(), 3)) {
      auto option = [](const char* name, int64_t value) {
        return std::string(" ") + name + "=" + std::to_string(value);
      };
      print_debug_line("MATVEC: k.full_shape=" + str(Shape(k.full_shape())) + " " + render(reduced) +
                       option("MV_BLOCKSIZE", s.MV_BLOCKSIZE) + option("MV_THREADS_PER_ROW", s.MV_THREADS_PER_ROW) +
                       option("MV_ROWS_PER_THREAD", s.MV_ROWS_PER_THREAD));
    }
    if (s.MV_THREADS_PER_ROW > 1) try_opt(k, {OptOps::GROUP, 0, s.MV_THREADS_PER_ROW});
    if (s.MV_BLOCKSIZE > 1) k.apply_opt({OptOps::LOCAL, int64_t(axis), s.MV_BLOCKSIZE});
    if (s.MV_ROWS_PER_THREAD > 1) k.apply_opt({OptOps::UPCAST, int64_t(axis), s.MV_ROWS_PER_THREAD});
    return true;
  }
  return false;
}

// If the kernel has few outputs, tries to make groups of 16 threads share a reduce, because most threads would be idle
// otherwise. Returns true if the kernel has a GROUP_REDUCE axis.
bool group_reduce(Scheduler& k) {
  if (k.target().has_local && num_upcastable_outputs(k) <= Int(k.graph().settings().NOLOCALS ? 240 : 2048))
    for (int64_t axis : {0, 1, 2})
      if (try_opt(k, {OptOps::GROUPTOP, axis, 16})) break;
  return k.has_axis_of_type({AxisType::GROUP_REDUCE});
}

// Upcasts small axes that WHERE conditions depend on (from stacking or padding), so that the conditions fold.
void upcast_masked_axes(Scheduler& k) {
  std::vector<size_t> chosen;
  Int product = 1;
  for (size_t axis : k.upcastable_dims()) {
    Int size = k.full_shape()[axis].as_int();
    if (size > Int(7) || product * size > Int(7 * 7)) continue;
    auto& wheres = k.facts().wheres;
    if (std::none_of(wheres.begin(), wheres.end(), [&](UOp w) { return k.depends_on(w.src(0), axis); })) continue;
    if (has_debug_level(k.graph(), 4)) print_debug_line("upcasting masked axis : " + std::to_string(axis));
    chosen.push_back(axis);
    product *= size;
  }
  for (size_t i = chosen.size(); i-- > 0;) k.apply_opt({OptOps::UPCAST, int64_t(chosen[i]), 0});
}

// A candidate axis for an upcast. The best candidate has the fewest accesses that depend on the axis. Among equals, it
// has the smallest sum of strides, then the lowest axis number.
struct UpcastChoice {
  int64_t num_strides;
  Int sum_strides;
  size_t axis;
  int64_t amount;
  friend bool operator<(const UpcastChoice& a, const UpcastChoice& b) {
    return std::tie(a.num_strides, a.sum_strides, a.axis, a.amount) <
           std::tie(b.num_strides, b.sum_strides, b.axis, b.amount);
  }
  std::string choice_text() const {
    return "(" + std::to_string(num_strides) + ", " + sum_strides.str() + ", " + std::to_string(axis) + ", " +
           std::to_string(amount) + ")";
  }
};

void print_choices(std::vector<UpcastChoice> choices) {
  std::stable_sort(choices.begin(), choices.end());
  std::string line;
  for (const UpcastChoice& c : choices) line += (line.empty() ? "" : ", ") + c.choice_text();
  print_debug_line("more upcast axis : [" + line + "]");
}

// Returns the index expressions that depend on all upcast and unrolled axes.
std::vector<UOp> indices_using_upcasts(const Scheduler& k) {
  auto upcasts = k.axes_of(kUpcasts);
  std::vector<UOp> out;
  for (UOp b : k.bufs()) {
    UOp idx = access_index(b);
    if (std::all_of(upcasts.begin(), upcasts.end(), [&](size_t u) { return k.depends_on(idx, u); })) out.push_back(idx);
  }
  return out;
}

struct AxisUse {
  int64_t num_strides = 0;
  Int sum_strides = 0;
};

std::vector<AxisUse> uses_of_axes(const Scheduler& k) {
  std::vector<AxisUse> out(k.rngs().size());
  UOpMap<size_t> axes(k.graph());
  for (size_t axis = 0; axis < out.size(); axis++) axes[k.rngs()[axis]] = axis;
  auto add_stride = [&](UOp range, UOp stride) {
    if (const size_t* axis = axes.find(range); axis && stride.is_const())
      out[*axis].sum_strides += stride.arg().as_int();
  };
  for (UOp b : k.bufs()) {
    UOp idx = access_index(b);
    for (size_t axis : k.axes_used_by(idx)) out[axis].num_strides++;
    for (UOp c : split_uop(idx, Op::ADD)) {
      if (const size_t* axis = axes.find(c)) out[*axis].sum_strides += 1;
      if (!c.is(Op::MUL)) continue;
      add_stride(c.src(0), c.src(1));
      add_stride(c.src(1), c.src(0));
    }
  }
  return out;
}

// For large outputs, upcasts by 3 or 4 along axes where loaded values are reused.
void upcast_reused_axes(Scheduler& k) {
  std::vector<size_t> done;
  while (num_upcastable_outputs(k) >= Int(1024) && k.upcast_size() < Int(32)) {
    const std::vector<UOp> indices = indices_using_upcasts(k);
    std::vector<AxisUse> uses;
    std::optional<UpcastChoice> best;
    std::vector<UpcastChoice> shown;
    for (size_t axis : k.upcastable_dims()) {
      if (std::find(done.begin(), done.end(), axis) != done.end()) continue;
      bool by3 = is_size_divisible(k.full_shape()[axis], 3), by4 = is_size_divisible(k.full_shape()[axis], 4);
      if ((!by3 && !by4) ||
          std::all_of(indices.begin(), indices.end(), [&](UOp idx) { return k.depends_on(idx, axis); }))
        continue;
      if (uses.empty()) uses = uses_of_axes(k);
      // if both 3 and 4 divide the axis, upcast by 3, as tinygrad does
      UpcastChoice choice{uses[axis].num_strides, uses[axis].sum_strides, axis, by3 ? 3 : 4};
      if (!best || choice < *best) best = choice;
      if (!has_debug_level(k.graph(), 4)) continue;
      shown.push_back(choice);
      if (by3 && by4) shown.push_back(choice), shown.back().amount = 4;
    }
    if (!best) break;
    if (!shown.empty()) print_choices(shown);
    k.apply_opt({OptOps::UPCAST, int64_t(best->axis), best->amount});
    done.push_back(best->axis);
  }
}

// If few steps are upcast or unrolled yet, unrolls the last reduce axis: completely if it is short, else by 4 if 4
// divides its size. Also unrolls the reduce axis before it if both axes have at most 3 steps.
void unroll_reduce(Scheduler& k) {
  auto last_size = [&] { return k.full_shape()[k.unrollable_dims().back()].as_int(); };
  auto unroll_last = [&](int64_t amount) {
    return try_opt(k, {OptOps::UNROLL, int64_t(k.unrollable_dims().size()) - 1, amount});
  };
  if (k.unrollable_dims().empty() || (k.upcast_size() > Int(4) && k.has_axis_of_type({AxisType::UNROLL})) ||
      k.upcast_size() >= Int(64))
    return;
  if (Int size = last_size(); size > Int(32)) {
    if (floor_mod(size, 4) == Int(0)) unroll_last(4);
  } else if (unroll_last(0) && !k.unrollable_dims().empty() && size <= Int(3) && last_size() <= Int(3)) {
    unroll_last(0);
  }
}

void upcast_last_axis(Scheduler& k) {
  auto dims = k.upcastable_dims();
  if (!k.has_axis_of_type(kUpcasts) && !dims.empty() && is_size_divisible(k.full_shape()[dims.back()], 4))
    k.apply_opt({OptOps::UPCAST, int64_t(dims.back()), 4});
}

// Makes up to three axes local, with at most 128 threads in total. Prefers axes that some access does not depend on.
void make_axes_local(Scheduler& k) {
  struct RankedAxis {
    bool is_expanded;
    size_t axis;
  };
  std::vector<RankedAxis> ranking;
  for (size_t axis : k.axes_of({AxisType::GLOBAL, AxisType::LOOP}))
    if (k.rngs()[axis].src(0).is_const())
      ranking.push_back(
          {std::any_of(k.bufs().begin(), k.bufs().end(), [&](UOp b) { return !k.depends_on(access_index(b), axis); }),
           axis});
  std::sort(ranking.begin(), ranking.end(), [](RankedAxis a, RankedAxis b) {
    return std::pair(a.is_expanded, a.axis) > std::pair(b.is_expanded, b.axis);
  });

  std::vector<std::pair<size_t, int64_t>> chosen;
  int64_t threads = 1;
  for (RankedAxis r : ranking) {
    for (int64_t size : {32, 16, 8, 4, 3, 2}) {
      if ((size == 32 && r.axis != 0) || !is_size_divisible(k.full_shape()[r.axis], size) || threads * size > 128)
        continue;
      chosen.emplace_back(r.axis, size);
      threads *= size;
      break;
    }
  }
  if (chosen.size() > 3) chosen.resize(3);
  std::sort(chosen.begin(), chosen.end());
  size_t gone = 0;  // number of axes that became local as a whole, which lowers the numbers of later axes
  for (auto [axis, size] : chosen) {
    bool whole = k.full_shape()[axis - gone] == Sint(size);
    k.apply_opt({OptOps::LOCAL, int64_t(axis - gone), size});
    gone += whole;
  }
}

// Splits a loop over CPU threads: at most as many as the target allows, with at least 128 Ki steps for each thread.
void make_threads(Scheduler& k) {
  if (!k.target().has_threads || !k.target().global_max) return;
  Sint steps = floor_div(prod(Shape(k.full_shape())), 128 << 10);
  for (int64_t threads : {32, 16, 12, 8, 6, 5, 4, 3, 2}) {
    if (threads > (*k.target().global_max)[0] || resolve_lt(steps, threads)) continue;
    for (size_t axis : k.axes_of({AxisType::LOOP})) {
      if (!is_size_divisible(k.full_shape()[axis], threads)) continue;
      if (k.is_globalizable(k.rngs()[axis])) try_opt(k, {OptOps::THREAD, int64_t(axis), threads});
      break;
    }
    if (!k.applied_opts().empty() && k.applied_opts().back().op == OptOps::THREAD) break;
  }
}

}  // namespace

Scheduler hand_coded_optimizations(const Scheduler& original) {
  if (auto k = with_tensor_core(original)) return *std::move(k);
  Scheduler k = original.copy();
  upcast_images(k);
  if (optimize_matvec(k) || group_reduce(k)) return k;
  upcast_masked_axes(k);
  upcast_reused_axes(k);
  unroll_reduce(k);
  upcast_last_axis(k);
  if (k.target().has_local) {
    if (k.graph().settings().NOLOCALS) k.apply_opt({OptOps::NOLOCALS});
    else make_axes_local(k);
  }
  make_threads(k);
  return k;
}

}  // namespace tgc
