#include "lib/prove/approximations.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "lib/compile/cache.h"
#include "lib/compile/compile.h"
#include "lib/compile/load.h"
#include "lib/prove/proof_time.h"
#include "lib/rewrite/rewrite.h"
#include "lib/runtime/ref/ref.h"
#include "lib/support/sha256.h"
#include "lib/uop/graph.h"
#include "renderers/renderer.h"

namespace tgc {
namespace {

// A part of the cache key: increase it if errors are measured in another way.
constexpr std::string_view kMeasurementVersion = "1";

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr OpSet kArithmetic = (ops::ALU - OpSet{Op::THREEFRY}) | OpSet{Op::CONST, Op::CAST, Op::BITCAST};

// Hashes ops and dtypes by their names, so that the hash is the same in each build.
std::string cache_key_of(UOp function, UOp expansion) {
  std::string text;
  for (UOp root : {function, expansion}) {
    std::unordered_map<UOp, size_t> numbers;
    for (UOp u : toposort(root)) {
      numbers.emplace(u, numbers.size());
      text.append(name_of(u.op())).append(" ").append(u.dtype().repr()).append(" ");
      u.arg().append_repr(text);
      for (UOp s : u.src()) text.append(" ").append(std::to_string(numbers.at(s)));
      text += '\n';
    }
    text += '\n';
  }
  return sha256_hex(sha256(text));
}

// Returns a kernel whose output data0[i] is the expansion's value, as float32, for the operand with the bits first *
// count + i * stride. `first` is a variable of the kernel.
UOp expansion_kernel(const Approximation& a, int64_t count, int64_t stride) {
  Graph& g = a.operand.graph();
  const DType d = a.operand.dtype(), bits = d.itemsize() == 4 ? dtypes::uint32 : dtypes::uint16;
  auto number = [&](int64_t n) { return g.constant(dtypes::uint32, Const(n)); };
  const UOp out = g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(count), {}, 0);
  const UOp first = g.variable("first", 0, (int64_t(1) << 32) / count - 1, dtypes::int32);
  const UOp size = g.constant(dtypes::int32, Const(count));
  const Arg axis[] = {Arg(0), Arg(AxisType::LOOP)};
  const UOp i = g.range(size, axis, dtypes::int32);
  const UOp at = first.cast(dtypes::uint32) * number(count) + i.cast(dtypes::uint32) * number(stride);
  const UOp value = substitute(a.expansion, {{a.operand, (bits == at.dtype() ? at : at.cast(bits)).bitcast(d)}});
  const UOp stored = d == dtypes::float32 ? value : value.cast(dtypes::float32);
  return g.sink({out.index_ptr(i).store(stored).end({i})});
}

// Replaces ops for which no LLVM IR is rendered: NEG, for example, becomes x * -1.
UOp replace_unrendered_ops(UOp root) {
  std::unordered_map<UOp, UOp> made;
  for (UOp u : toposort(root)) {
    std::vector<UOp> src;
    for (UOp s : u.src()) src.push_back(made.at(s));
    UOp& out = made[u];
    switch (u.op()) {
      case Op::NEG: out = src[0].alu(Op::MUL, u.const_like(-1)); break;
      case Op::SUB: out = src[0].alu(Op::ADD, src[1].alu(Op::MUL, u.const_like(-1))); break;
      case Op::RECIPROCAL: out = u.const_like(1).alu(Op::FDIV, src[0]); break;
      case Op::MULACC: out = src[0].alu(Op::MUL, src[1]).alu(Op::ADD, src[2]); break;
      default: out = std::ranges::equal(src, u.src()) ? u : u.with_src(src);
    }
  }
  return made.at(root);
}

// Machine code of a kernel of expansion_kernel(), which rounds the result of each op, as REF does.
class NativeKernel {
 public:
  explicit NativeKernel(UOp sink) {
    const Target target = std::move(parse_target("CPU:LLVM", sink.graph().settings()).value_or_throw());
    const std::vector<UOp> list = toposort(replace_unrendered_ops(sink));
    CompileJob job{.language = Language::LlvmIr, .source = render_source(target, list).value_or_throw()};
    // the rendered code lets LLVM compute with other roundings, compares NaNs otherwise, and has undefined overflows
    constexpr std::pair<std::string_view, std::string_view> kExact[] = {
        {" nsz arcp contract afn", ""}, {"fcmp ult", "fcmp olt"}, {"add nsw", "add"}};
    for (auto [from, to] : kExact)
      for (size_t at; (at = job.source.find(from)) != job.source.npos;) job.source.replace(at, from.size(), to);
    const size_t end = job.source.find('('), begin = job.source.rfind('@', end) + 1;
    const std::string name = job.source.substr(begin, end - begin);
    loaded_code_ = load_object(compile(job, Artifact::Binary).value_or_throw()).value_or_throw();
    kernel_function_ = reinterpret_cast<void (*)(float*, int32_t)>(loaded_code_->symbol(name));
    if (!kernel_function_) throw Failure("the compiled approximation has no function '" + name + "'");
  }
  void run(std::span<float> to, int32_t first) const { kernel_function_(to.data(), first); }

 private:
  std::shared_ptr<const LoadedCode> loaded_code_;
  void (*kernel_function_)(float*, int32_t) = nullptr;
};

// Runs a kernel of expansion_kernel() in REF with first = 0.
void run_in_ref(UOp sink, std::span<float> to) {
  const RefProgram program = RefProgram::make_from_graph(sink).value_or_throw();
  const RefBuffer buffer{0, to.data(), to.size_bytes()};
  program.run({&buffer, 1}, {{"first", 0}}).value_or_throw();
}

float float_of_bits(uint32_t bits, DType d) {
  if (d == dtypes::bfloat16) bits <<= 16;
  if (d == dtypes::float16) return float(std::bit_cast<_Float16>(uint16_t(bits)));
  return std::bit_cast<float>(bits);
}

double exact_value(Op function, double x) {
  return function == Op::LOG2 ? std::log2(x) : function == Op::EXP2 ? std::exp2(x) : std::sin(x);
}

class UlpMetric {
 public:
  UlpMetric(DType d, Op function)
      : is_unit_of_one_(function == Op::SIN), mantissa_bits_(dtypes::finfo(d).mantissa_bits),
        min_exponent_(2 - (1 << (dtypes::finfo(d).exponent_bits - 1))),
        overflow_limit_(std::ldexp(1.0, 1 << (dtypes::finfo(d).exponent_bits - 1))) {}

  // Returns the difference in units in the last place of `exact` (of 1 for a sine); infinity if only one of the two is
  // NaN or, except for a sine, if only `exact` is 0. Clamps both to the first power of two beyond the dtype.
  double error(double value, double exact) const {
    if (std::isnan(value) || std::isnan(exact)) return std::isnan(value) == std::isnan(exact) ? 0 : kInfinity;
    value = std::clamp(value, -overflow_limit_, overflow_limit_),
    exact = std::clamp(exact, -overflow_limit_, overflow_limit_);
    if (value == exact) return 0;
    if (exact == 0 && !is_unit_of_one_) return kInfinity;
    const int exponent =
        is_unit_of_one_ ? 0 : std::max(std::ilogb(std::min(std::abs(exact), overflow_limit_ / 2)), min_exponent_);
    const double unit = std::ldexp(1.0, exponent - mantissa_bits_);
    return std::abs(value - exact) / unit;
  }

 private:
  bool is_unit_of_one_;  // errors are in units of the last place of 1 (SIN)
  int mantissa_bits_, min_exponent_;
  double overflow_limit_;
};

// `values` are for the operands with the bits `first`, `first` + 1, and so on.
void add_errors(const Approximation& a, std::span<const float> values, uint32_t first, ApproximationError& sum) {
  const Op function = a.function.op();
  const DType d = a.operand.dtype();
  const UlpMetric ulp(d, function);
  const bool is_float = d == dtypes::float32;
  for (size_t i = 0; i < values.size(); i++) {
    const double operand = double(float_of_bits(first + uint32_t(i), d)), exact = exact_value(function, operand);
    if (is_float && float(exact) == values[i]) {
      sum.max_ulp = std::max(sum.max_ulp, 0.5);
      continue;
    }
    const double error = ulp.error(values[i], exact);
    const bool is_special = std::isfinite(operand) && !std::isfinite(exact);
    if (!is_special) sum.max_ulp = std::max(sum.max_ulp, error);
    else if (error > 0) sum.num_special_inputs++;
  }
}

ApproximationError error_for_16_bit_operands(const Approximation& a) {
  std::vector<float> values(1 << 16);
  run_in_ref(expansion_kernel(a, 1 << 16, 1), values);
  ApproximationError out;
  add_errors(a, values, 0, out);
  return out;
}

// Measures the error for all 2^32 operands, or until it exceeds kMaxUlp. Throws Failure, for example, if there is too
// little time, or if compiled code and REF compute different values.
ApproximationError error_for_32_bit_operands(const Approximation& a) {
  auto seconds_left = [] { return std::min(ProcessorTimeLimit::seconds_left(), current_deadline().seconds_left()); };
  constexpr double kLeastSeconds = 60;
  if (seconds_left() < kLeastSeconds)
    throw Failure("the error of this approximation is not known; --timeout=1000 tries all operands");
  constexpr int64_t kSample = 1 << 16, kStride = 65521;
  std::vector<float> compiled(kSample), interpreted(kSample);
  NativeKernel(expansion_kernel(a, kSample, kStride)).run(compiled, 0);
  run_in_ref(expansion_kernel(a, kSample, kStride), interpreted);
  for (size_t i = 0; i < compiled.size(); i++)
    if (std::memcmp(&compiled[i], &interpreted[i], sizeof(float)) != 0 &&
        !(std::isnan(compiled[i]) && std::isnan(interpreted[i])))
      throw Failure("the compiled approximation gives another value than REF");
  constexpr int64_t kCount = 1 << 20, kParts = (int64_t(1) << 32) / kCount;
  const NativeKernel kernel(expansion_kernel(a, kCount, 1));
  std::vector<float> values(kCount);
  ApproximationError out;
  const auto begin = Clock::now();
  for (int64_t part = 0; part < kParts; part++) {
    kernel.run(values, int32_t(part));
    add_errors(a, values, uint32_t(part * kCount), out);
    const double seconds = seconds_since(begin) / double(part + 1) * double(kParts - part - 1);
    if (seconds > seconds_left())
      throw Failure("2^32 operands take " + std::to_string(int(seconds)) + " s");
    if (out.max_ulp > kMaxUlp) break;
  }
  return out;
}

}  // namespace

std::optional<Approximation> find_approximation(UOp function, UOp expansion, UOp operand) {
  constexpr OpSet kFunctions{Op::LOG2, Op::EXP2, Op::SIN};
  const DType d = operand.dtype();
  if (!function.in(kFunctions) || function.src(0) != operand || function.dtype() != d || expansion.dtype() != d)
    return {};
  if (d != dtypes::float32 && d != dtypes::float16 && d != dtypes::bfloat16) return {};
  Graph& g = operand.graph();
  const UOp leaf = g.node(Op::NOOP, d, {}, g.str("operand"));
  Approximation out{.function = g.node(function.op(), d, {leaf}), .operand = leaf};
  out.expansion = substitute(expansion, {{operand, leaf}});
  bool has_operand = false;
  for (UOp u : toposort(out.expansion)) {
    has_operand |= u == leaf;
    if (u != leaf && (!u.in(kArithmetic) || u.dtype().count() != 1)) return {};
  }
  if (!has_operand || out.expansion == out.function) return {};
  out.key = cache_key_of(out.function, out.expansion);
  return out;
}

Result<ApproximationError> measure_error(const Approximation& a) {
  static const std::unordered_map<std::string_view, ApproximationError> known{
#define APPROXIMATION(key, function, ulp, special) {key, {ulp, special}},
#include "lib/prove/known_approximations.def"
#undef APPROXIMATION
  };
  const Sha256 entry = make_cache_key({"error of an approximation", a.key, kMeasurementVersion});
  ApproximationError error;
  const auto kept = CompileCache::shared_cache().load_entry(entry);
  if (kept && kept->size() == sizeof error) return std::memcpy(&error, kept->data(), sizeof error), error;
  const bool has_limit = current_deadline().limit_seconds > 0;
  if (auto it = known.find(a.key); it != known.end() && has_limit) return it->second;
  auto out = catch_failures([&] {
    return a.operand.dtype().itemsize() == 2 ? error_for_16_bit_operands(a) : error_for_32_bit_operands(a);
  });
  if (out) CompileCache::shared_cache().store_entry(entry, {reinterpret_cast<const char*>(&*out), sizeof error});
  return out;
}

}  // namespace tgc
