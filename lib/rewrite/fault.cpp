#include "lib/rewrite/fault.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

#include "lib/uop/graph.h"

namespace tgc {
namespace {

struct RequestedFault {
  FaultSpec spec;
  bool was_seeded = false, is_reported = false;
  uint64_t max_applications = 0;
};
struct FaultWarnings {
  std::mutex mutex;
  std::set<std::string> warning_texts;
  std::map<std::string, RequestedFault> requested_faults = {};

  RequestedFault& entry_of(const FaultSpec& spec) {
    FaultSpec alone{spec.rule, spec.application_number, spec.kind};
    return requested_faults.try_emplace(alone.text(), RequestedFault{alone}).first->second;
  }
};
FaultWarnings& fault_warnings() {
  static FaultWarnings all;
  return all;
}

std::optional<FaultSpec>& fault_of_thread() {
  static thread_local std::optional<FaultSpec> fault;
  return fault;
}

// Ops whose nodes have a dtype but no value that change_value could change.
constexpr OpSet kNoValue = {Op::INDEX, Op::BUFFERIZE, Op::RANGE, Op::BUFFER, Op::BUFFER_VIEW};

bool has_value(UOp u) {
  return u.dtype().is_value() && !u.dtype().is(Scalar::Void) && !u.in(kNoValue) && !u.is_invalid();
}

}  // namespace

namespace {

constexpr std::string_view kKindPrefixes[] = {"", "tensor", "renderer", "llvm", "endless", "shortcut"};

std::optional<FaultSpec> parse_single_fault(std::string_view text) {
  FaultSpec out;
  std::string_view name = text.substr(0, text.find('@'));
  if (size_t colon = name.find(':'); colon != name.npos) {
    auto prefix = std::ranges::find(kKindPrefixes, name.substr(0, colon));
    if (prefix == std::end(kKindPrefixes)) return std::nullopt;
    out.kind = FaultSpec::Kind(prefix - kKindPrefixes), name.remove_prefix(colon + 1);
  }
  out.rule = name;
  if (out.rule.empty()) return std::nullopt;
  if (size_t at = text.find('@'); at != text.npos) {
    const char* end = text.data() + text.size();
    auto parsed = std::from_chars(text.data() + at + 1, end, out.application_number);
    if (parsed.ec != std::errc() || parsed.ptr != end || out.application_number == 0) return std::nullopt;
  }
  return out;
}

}  // namespace

std::string FaultSpec::text() const {
  std::string out = kind == Kind::Kernel ? "" : std::string(kKindPrefixes[size_t(kind)]) + ":";
  out += rule + (application_number > 1 ? "@" + std::to_string(application_number) : "");
  for (const FaultSpec& other : other_faults) out += "," + other.text();
  return out;
}

Result<FaultSpec> parse_fault(std::string_view text) {
  std::optional<FaultSpec> out;
  bool good = true;
  for (size_t begin = 0; good && begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    auto one = parse_single_fault(text.substr(begin, end - begin));
    good = one.has_value();
    if (good && out) out->other_faults.push_back(std::move(*one));
    else if (good) out = std::move(one);
    begin = end + 1;
  }
  if (good) return std::move(*out);
  return Diag{.message = "TGC_FAULT='" + std::string(text) + "' is not a valid fault",
              .expected = "RULE or RULE@N, the N-th application of a rule, N from 1; tensor:RULE[@N]; "
                          "endless:RULE[@N]; shortcut:NAME[@N]; renderer:NAME.OP[@N]; llvm:NAME; several as A,B"};
}

void set_fault_of_thread(std::optional<FaultSpec> fault) { fault_of_thread() = std::move(fault); }

Result<std::optional<FaultSpec>> fault_of_environment() {
  if (fault_of_thread()) return fault_of_thread();
  const char* text = std::getenv("TGC_FAULT");
  if (!text || !*text) return std::optional<FaultSpec>();
  auto spec = parse_fault(text);
  return spec ? Result(std::optional(std::move(*spec))) : Result<std::optional<FaultSpec>>(spec.diag());
}

Result<std::optional<FaultSpec>> fault_of_environment(FaultSpec::Kind kind) {
  auto all = fault_of_environment();
  if (!all || !*all) return all;
  std::optional<FaultSpec> out;
  auto add = [&](const FaultSpec& one) {
    if (one.kind != kind) return;
    FaultSpec alone{one.rule, one.application_number, one.kind};
    if (out) out->other_faults.push_back(std::move(alone));
    else out = std::move(alone);
  };
  add(**all);
  for (const FaultSpec& one : (*all)->other_faults) add(one);
  return out;
}

UOp change_value(UOp u) {
  if (u.is(Op::STORE)) {
    std::vector<UOp> src(u.src().begin(), u.src().end());
    UOp value = change_value(src[1]);
    if (!value) return {};
    src[1] = value;
    return u.with_src(src);
  }
  if (!has_value(u)) return {};
  if (dtypes::is_bool(u.dtype())) return u.logical_not();
  return dtypes::is_float(u.dtype()) ? u * Const(2.0) : u + Const(int64_t(1));
}

UOp change_some_value(UOp u) {
  bool is_value = has_value(u) && !u.in({Op::VECTORIZE});
  if (UOp other = is_value ? change_value(u) : UOp()) return other;
  std::vector<UOp> src(u.src().begin(), u.src().end());
  for (size_t i = src.size(); i-- > 0;) {
    UOp other = src[i].in({Op::RANGE, Op::CONST, Op::DEVICE}) ? src[i] : change_some_value(src[i]);
    if (other == src[i]) continue;
    src[i] = other;
    return u.with_src(src);
  }
  return u;
}

void record_requested_fault(const FaultSpec& spec) {
  std::lock_guard guard(fault_warnings().mutex);
  (void)fault_warnings().entry_of(spec);
}

void record_seeded_fault(const FaultSpec& spec) {
  std::lock_guard guard(fault_warnings().mutex);
  fault_warnings().entry_of(spec).was_seeded = true;
}

FaultOverride::FaultOverride(const FaultSpec& spec) {
  add_seeded_fault(spec);
}

void FaultOverride::add_seeded_fault(const FaultSpec& spec) {
  record_requested_fault(spec);
  seeded_faults_.push_back({spec});
  for (const FaultSpec& other : spec.other_faults) add_seeded_fault(other);
}

UOp FaultOverride::choose_result(const RuleHit& hit, UOp before, UOp after) {
  for (SeededFault& one : seeded_faults_) {
    if (hit.rule->name != one.spec.rule) continue;
    std::lock_guard guard(fault_warnings().mutex);
    RequestedFault& expected = fault_warnings().entry_of(one.spec);
    expected.max_applications = std::max(expected.max_applications, ++one.num_applications);
    if (one.spec.kind == FaultSpec::Kind::Endless && one.num_applications >= one.spec.application_number) {
      expected.was_seeded = true;
      return before.tag().is_none() ? before.rtag() : before.rtag(Arg());
    }
    if (one.num_applications != one.spec.application_number) continue;
    expected.was_seeded = true;
    if (UOp other = change_value(after); other && !(other == before)) return other;
    fault_warnings().warning_texts.insert("TGC_FAULT: application " + std::to_string(one.spec.application_number) +
                                          " of " + one.spec.rule + " makes a node without a value (" +
                                          std::string(name_of(after.op())) + "): nothing is changed");
  }
  return after;
}

void ShortcutFault::review_result(const Shortcut& what, ShortcutWay way, std::span<UOp> result) {
  if (way != ShortcutWay::Quick || what.name != fault_spec_.rule) return;
  std::lock_guard guard(fault_warnings().mutex);
  RequestedFault& expected = fault_warnings().entry_of(fault_spec_);
  expected.max_applications = std::max(expected.max_applications, ++num_seen_results_);
  if (num_seen_results_ != fault_spec_.application_number) return;
  expected.was_seeded = true;
  for (UOp& u : result)
    if (u) u = change_some_value(u);
}

namespace {

std::string unseeded_fault_text(const RequestedFault& e) {
  switch (e.spec.kind) {
    case FaultSpec::Kind::Renderer: return e.spec.text() + " was in no node that was printed";
    case FaultSpec::Kind::Llvm: return e.spec.text() + " found no place in the code";
    default:
      return "there was no application " + std::to_string(e.spec.application_number) + " of " + e.spec.rule +
             (e.max_applications ? ", only up to " + std::to_string(e.max_applications) + " in a kernel" : "");
  }
}

}  // namespace

std::vector<std::string> extract_fault_warnings() {
  std::lock_guard guard(fault_warnings().mutex);
  std::vector<std::string> out(fault_warnings().warning_texts.begin(), fault_warnings().warning_texts.end());
  fault_warnings().warning_texts.clear();
  const bool is_of_bundle = !std::getenv("TGC_FAULT");
  for (auto& [text, e] : fault_warnings().requested_faults)
    if (!e.was_seeded && !std::exchange(e.is_reported, true))
      out.push_back((is_of_bundle ? "the bundle's fault: " : "TGC_FAULT: ") + unseeded_fault_text(e) +
                    ": nothing is changed");
  return out;
}

}  // namespace tgc
