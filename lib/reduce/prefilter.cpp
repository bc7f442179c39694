#include "lib/bisect/rewrite_sides.h"
#include "lib/reduce/prefilter.h"

#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "lib/compilation/rewrite_log.h"
#include "lib/compilation/watchers.h"
#include "lib/execute/executable.h"
#include "lib/reduce/validity_checks.h"
#include "lib/rewrite/rewrite_override.h"
#include "lib/run/repro_bundle.h"
#include "lib/uop/facts.h"

namespace tgc {
namespace {

using Kind = FailureSignature::Kind;

// An RewriteLog that also records which applications the seeded fault changed.
class FaultLog : public RewriteLog {
 public:
  UOp choose_result(const RuleHit& hit, UOp before, UOp after) override {
    UOp made = RewriteLog::choose_result(hit, before, after);
    if (!(made == after)) changed_rewrites_.insert(rewrite_number());
    return made;
  }
  bool has_changed(const Rewrite& a) const { return changed_rewrites_.contains(a.rewrite_number); }
  bool has_changed_any() const { return !changed_rewrites_.empty(); }

 private:
  std::unordered_set<uint64_t> changed_rewrites_;
};

std::string without_digits(std::string_view text) {
  std::string out;
  for (char c : text)
    if (!std::isdigit(static_cast<unsigned char>(c))) out += c;
  return out;
}

// Returns the parts of the source that the compiler's message `said` quotes, without digits, because a reduction
// changes the numbers in names.
std::vector<std::string> quoted_parts_of(const std::string& said, const std::string& source) {
  std::vector<std::string> out;
  for (size_t at = 0; (at = said.find_first_of("'\"", at)) != said.npos; at++) {
    size_t end = said.find(said[at], at + 1);
    if (end == said.npos) break;
    std::string quoted = without_digits(said.substr(at + 1, end - at - 1));
    if (!quoted.empty() && source.find(quoted) != source.npos) out.push_back(std::move(quoted));
    at = end;
  }
  return out;
}

// Returns true if the case has exactly one seeded fault, in a rule of a kernel stage.
bool has_kernel_fault(const TestCase& c) {
  return c.fault && c.fault->kind == FaultSpec::Kind::Kernel && c.fault->other_faults.empty();
}

}  // namespace

CasePrefilter::CasePrefilter(const Session& session, const TestCase& first, FailureSignature symptom,
                             std::map<std::string, std::string> blamed, VariableValues variables)
    : session_(session),
      failure_symptom_(std::move(symptom)),
      blamed_rewrite_(std::move(blamed)),
      variable_values_(std::move(variables)) {
  if (failure_symptom_.kind == Kind::Compile)
    quoted_parts_ = quoted_parts_of(failure_symptom_.message, source_text_of(first));
  checked_property_ = property_to_check();
}

CasePrefilter::CheckedProperty CasePrefilter::property_to_check() const {
  auto text = [&](const char* name) {
    auto it = blamed_rewrite_.find(name);
    return it == blamed_rewrite_.end() ? std::string() : it->second;
  };
  const StageRow* stage = find_stage_row(text("stage"));
  bool is_rule = stage && stage->kernel && !text("rule").empty();
  if (is_rule && (text("verdict") == "rewrite" || text("verdict") == "divergence")) return CheckedProperty::Rule;
  if (failure_symptom_.kind == Kind::Refused || failure_symptom_.kind == Kind::Endless) return CheckedProperty::Refusal;
  if (!quoted_parts_.empty()) return CheckedProperty::Source;
  bool is_outside = failure_symptom_.kind == Kind::Crash && failure_symptom_.cause_key.starts_with("out of bounds");
  return text("verdict") == "crash" && is_outside ? CheckedProperty::Bounds : CheckedProperty::Nothing;
}

bool CasePrefilter::may_fail(const TestCase& c) const {
  switch (checked_property_) {
    case CheckedProperty::Nothing: return true;
    case CheckedProperty::Rule:
      if (blamed_rewrite_.at("verdict") == "rewrite" && !can_be_bisected(c)) return false;
      if (!may_rule_sides_differ(c)) return false;
      if (failure_symptom_.kind == Kind::Refused) return is_refused(c);
      return blamed_rewrite_.at("verdict") == "divergence" || is_rule_relevant(c);
    case CheckedProperty::Bounds: return may_go_out_of_bounds(c);
    case CheckedProperty::Refusal: return can_be_bisected(c) && is_refused(c);
    case CheckedProperty::Source: {
      std::string source = source_text_of(c);
      return std::ranges::all_of(quoted_parts_,
                                 [&](const std::string& word) { return source.find(word) != source.npos; });
    }
  }
  return true;
}

// Returns true if bisect can run on the case: REF must accept it, and it must store something.
bool CasePrefilter::can_be_bisected(const TestCase& c) const {
  auto kernel = Executable::make_for_ref(c.root);
  return kernel && std::ranges::any_of(kernel->buffers(), &BufferSpec::is_written);
}

bool CasePrefilter::is_refused(const TestCase& c) const {
  FaultScope fault(c.fault);
  InputGraph in = c.input_graph();
  auto found = refusal_signature_of(session_, in, c.device);
  return found && *found == failure_symptom_ && (failure_symptom_.kind != Kind::Endless || is_endless_when_watched(c));
}

// Returns true if the stage that bisect named also fails in a compilation with a watcher, which bisect uses: with a
// watcher, other nodes may exceed the stack limit.
bool CasePrefilter::is_endless_when_watched(const TestCase& c) const {
  auto compilation = session_.begin(c.input_graph());
  if (!compilation) return false;
  RewriteLog log;
  ScopedObserver watched(*compilation, log);
  if (compilation->list()) return false;
  auto stage = blamed_rewrite_.find("stage");
  return stage == blamed_rewrite_.end() ||
         (!log.stage_runs().empty() && log.stage_runs().back().row->name == stage->second);
}

// Returns true if vmin and vmax allow an access out of bounds in the graph and, if the case has a target, in the linear
// list. Checks stores if the failure is a store, else loads.
bool CasePrefilter::may_go_out_of_bounds(const TestCase& c) const {
  OpSet which = failure_symptom_.cause_key.ends_with("store") ? OpSet{Op::STORE} : OpSet{Op::LOAD};
  if (!may_leave_buffers(toposort(c.root), which)) return false;
  if (c.info.target.empty()) return true;
  FaultScope fault(c.fault);
  auto compilation = session_.begin(c.input_graph());
  if (!compilation) return false;
  auto& list = compilation->list();
  return list && may_leave_buffers(*list, which);
}

// Returns the source without digits; "" if the kernel is refused.
std::string CasePrefilter::source_text_of(const TestCase& c) const {
  FaultScope fault(c.fault);
  auto compilation = session_.begin(c.input_graph());
  if (!compilation) return {};
  auto& source = compilation->source();
  return source ? without_digits(*source) : std::string();
}

// Returns true if the two sides of an application of the blamed rule in its stage differ, or cannot be compared. With a
// seeded fault, considers only applications that the fault changed. If bisect's verdict is a divergence from tinygrad,
// any application suffices, but a seeded fault must have changed an application of some rule.
bool CasePrefilter::may_rule_sides_differ(const TestCase& c) const {
  FaultScope fault(c.fault);
  auto compilation = session_.begin(c.input_graph());
  if (!compilation) return false;
  FaultLog log;
  ScopedObserver watched(*compilation, log);
  (void)compilation->run_through_stage(*find_stage_row(blamed_rewrite_.at("stage")));
  compilation->set_stage_observer(nullptr);
  bool is_divergence = blamed_rewrite_.at("verdict") == "divergence";
  auto is_accused = [&](const Rewrite& a) {
    if (!a.stage || a.stage->name != blamed_rewrite_.at("stage") || !is_blamed_rule(*a.rule, a.branch)) return false;
    return !has_kernel_fault(c) || is_divergence || log.has_changed(a);
  };
  if (is_divergence)
    return (!has_kernel_fault(c) || log.has_changed_any()) && std::ranges::any_of(log.all_rewrites(), is_accused);
  auto seen =
      evaluate_sides(*compilation, log.all_rewrites(), arrays_from_bundle(c.inputs), variable_values_, is_accused);
  if (!seen) return std::ranges::any_of(log.all_rewrites(), is_accused);
  return std::ranges::any_of(*seen, [](const auto& s) { return s.kind != EquivalenceResult::Kind::Same; });
}

// Compiles the case with and without the blamed rule (or the seeded fault). Returns false if both compilations give the
// same linear list: later rewrites then discard the error. Also returns false if the case itself does not compile.
bool CasePrefilter::is_rule_relevant(const TestCase& c) const {
  if (c.info.target.empty()) return true;
  FaultScope fault(c.fault);
  auto with = session_.begin(c.input_graph());
  if (!with || !with->list() || with->list()->empty()) return false;
  if (c.device == "REF" && !Executable::make_for_ref(*with->list())) return false;  // for example, if an END is missing
  auto without = session_.begin(c.input_graph());
  if (!without) return true;
  if (has_kernel_fault(c)) set_rewrite_override(without->graph(), nullptr);
  RewriteVeto veto([&](uint64_t, const RuleHit& hit, UOp) { return is_blamed_rule(*hit.rule, hit.branch); });
  std::optional<ScopedObserver> watched;
  if (!has_kernel_fault(c)) watched.emplace(*without, veto);
  auto& list = without->list();
  return !list || list->empty() || key_of(list->back()) != key_of(with->list()->back());
}

bool CasePrefilter::is_blamed_rule(const Rule& rule, const char* branch) const {
  if (rule.name != blamed_rewrite_.at("rule")) return false;
  auto blamed = blamed_rewrite_.find("branch");
  return blamed == blamed_rewrite_.end() || (branch && branch == blamed->second);
}

}  // namespace tgc
