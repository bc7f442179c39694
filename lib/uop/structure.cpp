#include "lib/uop/structure.h"

#include <algorithm>
#include <array>

namespace tgc {
namespace {

constexpr size_t kAny = SIZE_MAX;

struct Count {
  size_t least, most;
};

// How many sources an op has.
constexpr Count count_of(Op op) {
  if (ops::Unary.contains(op)) return {1, 1};
  if (ops::Binary.contains(op)) return {2, 2};
  if (ops::Ternary.contains(op)) return {3, 3};
  switch (op) {
    case Op::CAST: case Op::BITCAST: case Op::GEP: case Op::SPECIAL: case Op::REDUCE_AXIS: case Op::PERMUTE:
    case Op::FLIP: case Op::MULTI:
    case Op::UNROLL: case Op::CONTRACT: case Op::MSELECT: return {1, 1};
    case Op::COPY: case Op::ALLREDUCE: case Op::RESHAPE: case Op::EXPAND: return {2, 2};
    case Op::WMMA: case Op::PAD: case Op::SHRINK: return {3, 3};
    case Op::RANGE: case Op::INDEX: case Op::LOAD: case Op::REDUCE: case Op::END: case Op::AFTER: case Op::BIND:
    case Op::BUFFERIZE: case Op::MSTACK: case Op::IF: case Op::ENDIF: case Op::CONTIGUOUS:
    case Op::CONTIGUOUS_BACKWARD: case Op::DETACH: case Op::ENCDEC:
    case Op::BUFFER_VIEW: return {1, kAny};
    case Op::STORE: case Op::ASSIGN: case Op::BUFFER: return {2, kAny};
    default: return {0, kAny};
  }
}

constexpr auto kCounts = [] {
  std::array<Count, kNumOps> counts{};
  for (int i = 0; i < kNumOps; i++) counts[size_t(i)] = count_of(Op(i));
  return counts;
}();

bool all_of(Arg a, auto is) { return a.is_tuple() && std::all_of(a.items().begin(), a.items().end(), is); }
bool is_int(Arg a) { return a.is_integral(); }
bool is_const(Arg a) { return a.is_const(); }
bool is_size(Arg a) { return a.is_integral() || a.is_uop(); }
bool is_pair(Arg a) { return all_of(a, is_int) && a.items().size() == 2; }

// What the op's arg must be; empty when this one is.
std::string_view wanted_arg(Op op, Arg a) {
  auto unless = [](bool fits, std::string_view wanted) { return fits ? std::string_view() : wanted; };
  switch (op) {
    case Op::CONST: return unless(a.is_const(), "a number");
    case Op::VCONST: return unless(all_of(a, is_const) && !a.items().empty(), "a tuple of numbers");
    case Op::DEFINE_VAR:
      return unless(a.is_tuple() && a.items().size() >= 3 && a[0].is_str() && a[1].is_const() && a[2].is_const(),
                    "a name, a minimum and a maximum");
    case Op::RANGE:
      return unless(a.is_tuple() && a.items().size() >= 2 && a.items().back().kind() == Arg::Kind::AxisType &&
                        std::all_of(a.items().begin(), a.items().end() - 1, is_int),
                    "axis numbers and an axis type");
    case Op::SPECIAL: return unless(a.is_str(), "a name");
    case Op::GEP: return unless(all_of(a, is_int), "a tuple of integers");
    case Op::DEVICE:
      return unless(a.is_str() || all_of(a, [](Arg d) { return d.is_str(); }), "a device or a tuple of devices");
    case Op::REDUCE: case Op::ALLREDUCE: return unless(a.is_op(), "an op");
    case Op::REDUCE_AXIS:
      return unless(a.is_tuple() && a.items().size() >= 2 && a[0].is_op() && all_of(a[1], is_int),
                    "an op and a tuple of axes");
    case Op::PERMUTE: return unless(all_of(a, is_int), "a tuple of axes");
    case Op::FLIP: return unless(all_of(a, [](Arg f) { return f.kind() == Arg::Kind::Bool; }), "a tuple of bools");
    case Op::UNROLL: case Op::CONTRACT: return unless(all_of(a, is_pair), "a tuple of pairs of integers");
    case Op::WMMA: return unless(a.is_tuple() && a.items().size() >= 8, "a tuple of 8");
    case Op::KERNEL: return unless(a.is(RecordClass::Kernel), "a Kernel");
    case Op::BUFFER: return unless(is_int(a), "a size");
    case Op::BUFFER_VIEW: return unless(all_of(a, is_size) && a.items().size() == 2, "a size and an offset");
    case Op::MULTI: case Op::MSELECT: return unless(is_int(a), "an integer");
    case Op::ENCDEC: return unless(a.is_tuple() && !a.items().empty() && all_of(a[0], is_size), "a shape");
    default: return {};
  }
}

}  // namespace

std::string structure_trouble(Op op, DType, std::span<const UOp> src, Arg arg) {
  Count n = kCounts[size_t(op)];
  if (src.size() < n.least || src.size() > n.most) {
    std::string needs = n.most == kAny ? std::to_string(n.least) + " or more" : std::to_string(n.least);
    return "Ops." + std::string(name_of(op)) + " with " + std::to_string(src.size()) +
           (src.size() == 1 ? " source" : " sources") + ", needs " + needs;
  }
  if (auto wanted = wanted_arg(op, arg); !wanted.empty()) {
    std::string text = arg.repr();
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return "Ops." + std::string(name_of(op)) + " with the arg " + text + ", needs " + std::string(wanted);
  }
  return {};
}

}  // namespace tgc
