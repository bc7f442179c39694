#include "lib/rewrite/fault.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <set>

#include "lib/uop/graph.h"

namespace tgc {
namespace {

struct Warnings {
  std::mutex lock;
  std::set<std::string> texts;
  std::optional<FaultSpec> never;  // what was asked for and has not come about
  uint64_t most = 0;               // applications of that rule in a kernel
};
Warnings& warnings() {
  static Warnings all;
  return all;
}

std::optional<FaultSpec>& fault_of_thread() {
  static thread_local std::optional<FaultSpec> fault;
  return fault;
}

// Nodes that have a dtype, but stand for a place, a loop or nothing.
constexpr OpSet kNoValue = {Op::INDEX, Op::BUFFERIZE, Op::RANGE, Op::BUFFER, Op::BUFFER_VIEW};

bool has_value(UOp u) {
  return u.dtype().is_value() && !u.dtype().is(Scalar::Void) && !u.in(kNoValue) && !u.is_invalid();
}

}  // namespace

Result<FaultSpec> parse_fault(std::string_view text) {
  FaultSpec out;
  std::string_view name = text.substr(0, text.find('@'));
  if (size_t colon = name.find(':'); colon != name.npos) {
    constexpr std::string_view kPlaces[] = {"", "tensor", "renderer", "llvm"};
    auto place = std::ranges::find(kPlaces, name.substr(0, colon));
    if (place != std::end(kPlaces)) out.in = FaultSpec::In(place - kPlaces), name.remove_prefix(colon + 1);
    else name = {};
  }
  out.rule = name;
  bool good = !out.rule.empty();
  if (size_t at = text.find('@'); at != text.npos) {
    const char* end = text.data() + text.size();
    auto parsed = std::from_chars(text.data() + at + 1, end, out.application);
    good &= parsed.ec == std::errc() && parsed.ptr == end && out.application > 0;
  }
  if (good) return out;
  return Diag{.message = "TGC_FAULT=" + std::string(text) + " is no fault",
              .expected = "RULE or RULE@N, the N-th application of a rule, N from 1; tensor:RULE[@N]; "
                          "renderer:NAME.OP[@N]; llvm:NAME"};
}

void set_fault_of_thread(std::optional<FaultSpec> fault) { fault_of_thread() = std::move(fault); }

Result<std::optional<FaultSpec>> fault_of_environment() {
  if (fault_of_thread()) return fault_of_thread();
  const char* text = std::getenv("TGC_FAULT");
  if (!text || !*text) return std::optional<FaultSpec>();
  auto spec = parse_fault(text);
  return spec ? Result(std::optional(std::move(*spec))) : Result<std::optional<FaultSpec>>(spec.diag());
}

Result<std::optional<FaultSpec>> fault_of_environment(FaultSpec::In in) {
  auto fault = fault_of_environment();
  if (fault && *fault && (*fault)->in != in) return std::optional<FaultSpec>();
  return fault;
}

UOp something_else(UOp u) {
  if (u.is(Op::STORE)) {
    std::vector<UOp> src(u.src().begin(), u.src().end());
    UOp value = something_else(src[1]);
    if (!value) return {};
    src[1] = value;
    return u.with_src(src);
  }
  if (!has_value(u)) return {};
  if (dtypes::is_bool(u.dtype())) return u.logical_not();
  return dtypes::is_float(u.dtype()) ? u * Const(2.0) : u + Const(int64_t(1));
}

Fault::Fault(FaultSpec spec, uint64_t seen) : spec_(std::move(spec)), seen_(seen) {
  std::lock_guard guard(warnings().lock);
  static bool first = true;
  if (std::exchange(first, false)) warnings().never = spec_;
}

UOp Fault::instead(const Hit& hit, UOp before, UOp after) {
  if (hit.rule->name != spec_.rule) return after;
  std::lock_guard guard(warnings().lock);
  warnings().most = std::max(warnings().most, ++seen_);
  if (seen_ != spec_.application) return after;
  warnings().never.reset();
  if (UOp other = something_else(after); other && !(other == before)) return other;
  warnings().texts.insert("TGC_FAULT: application " + std::to_string(spec_.application) + " of " + spec_.rule +
                          " makes a node without a value (" + std::string(name_of(after.op())) +
                          "): nothing is changed");
  return after;
}

std::vector<std::string> take_fault_warnings() {
  std::lock_guard guard(warnings().lock);
  std::vector<std::string> out(warnings().texts.begin(), warnings().texts.end());
  warnings().texts.clear();
  if (auto never = std::exchange(warnings().never, std::nullopt))
    out.push_back("TGC_FAULT: there was no application " + std::to_string(never->application) + " of " + never->rule +
                  (warnings().most ? ", but " + std::to_string(warnings().most) + " at most in a kernel" : "") +
                  ": nothing is changed");
  return out;
}

}  // namespace tgc
