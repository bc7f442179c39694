#include "lib/reduce/glance.h"

#include <algorithm>
#include <unordered_set>

#include "lib/compilation/scoped_watch.h"
#include "lib/inspect/applications.h"
#include "lib/session/blame/rewrites.h"
#include "lib/session/bundle.h"

namespace tgc {
namespace {

bool may_leave_its_buffer(UOp u) {
  if (!u.is(Op::INDEX) || u.num_src() < 2 || !u.src(0).dtype().is_ptr()) return false;
  if (u.src(0).dtype().is_image()) return true;
  Const low = u.src(1).get_idx().vmin(), high = u.src(1).get_idx().vmax();
  bool is_known = low.is_integral() && high.is_integral();
  return !is_known || low.as_int() < Int(0) || high.as_int() >= Int(u.src(0).dtype().size());
}

// Notes which applications a seeded fault changed, too.
class FaultLog : public ApplicationLog {
 public:
  UOp instead(const Hit& hit, UOp before, UOp after) override {
    UOp made = ApplicationLog::instead(hit, before, after);
    if (!(made == after)) changed_.insert(number());
    return made;
  }
  bool changed(const Application& a) const { return changed_.contains(a.number); }

 private:
  std::unordered_set<uint64_t> changed_;
};

}  // namespace

Glance::Glance(const Session& session, const Symptom& symptom, std::map<std::string, std::string> blamed,
               VariableValues variables)
    : session_(session), blamed_(std::move(blamed)), variables_(std::move(variables)) {
  auto verdict = blamed_.find("verdict");
  if (verdict == blamed_.end()) return;
  const StageRow* stage = blamed_.contains("stage") ? find_row(blamed_["stage"]) : nullptr;
  if (verdict->second == "rewrite" && stage && stage->kernel) what_ = What::Rule;
  if (verdict->second == "crash" && symptom.kind == Symptom::Kind::Crash && symptom.cause.starts_with("out of bounds"))
    what_ = What::Bounds;
}

bool Glance::may_fail(const Specimen& c) const {
  if (what_ == What::Bounds) return std::ranges::any_of(toposort(c.root), may_leave_its_buffer);
  return what_ != What::Rule || rule_errs(c);
}

// Whether an application of the rule in the stage (of a seeded fault: one that it changed) makes something else of its
// node, as far as its sides can be told.
bool Glance::rule_errs(const Specimen& c) const {
  FaultHere fault(c.fault);
  auto compilation = session_.begin(c.loaded());
  if (!compilation) return false;
  FaultLog log;
  ScopedWatch watched(*compilation, log);
  (void)compilation->run_through(*find_row(blamed_.at("stage")));
  compilation->watch(nullptr);
  auto branch = blamed_.find("branch");
  bool is_seeded = c.fault && c.fault->in == FaultSpec::In::Kernel && c.fault->others.empty();
  auto is_accused = [&](const Application& a) {
    if (!a.stage || a.stage->name != blamed_.at("stage") || a.rule->name != blamed_.at("rule")) return false;
    if (branch != blamed_.end() && !(a.branch && a.branch == branch->second)) return false;
    return !is_seeded || log.changed(a);
  };
  auto seen = look_at(*compilation, log.list(), unbundled(c.inputs), variables_, is_accused);
  if (!seen) return std::ranges::any_of(log.list(), is_accused);
  return std::ranges::any_of(*seen, [](const Seen& s) { return s.kind != Seen::Kind::Same; });
}

}  // namespace tgc
