#include "lib/bisect/crash.h"

#include <cstring>

#include "lib/contain/contain.h"
#include "lib/runtime/array.h"
#include "lib/trace/applications.h"

namespace tgc {
namespace {

// What the process did last, in memory that it shares with this one.
struct Last {
  char stage[64], rule[128], location[192];
  uint64_t number, in_stage;
};

template <size_t N>
void put(char (&to)[N], std::string_view text) {
  size_t n = std::min(text.size(), N - 1);
  std::memcpy(to, text.data(), n);
  to[n] = 0;
}

class Tell : public ApplicationWatcher {
 public:
  Tell(Last& last, uint64_t left_out) : last_(last), left_out_(left_out) {}
  void stage(const StageRow& row, UOp input) override {
    ApplicationWatcher::stage(row, input);
    in_stage_.clear();
    put(last_.stage, row.name), put(last_.rule, ""), last_.in_stage = 0;
  }

 protected:
  UOp decide(const Hit& hit, UOp, UOp after) override {
    if (number() == left_out_) return {};
    put(last_.rule, hit.rule->name);
    put(last_.location, location_of(*hit.rule));
    last_.number = number(), last_.in_stage = ++in_stage_[hit.rule->name];
    return after;
  }

 private:
  Last& last_;
  uint64_t left_out_;
  std::map<std::string_view, uint64_t> in_stage_;
};

// How it died; nothing: it lives.
std::optional<Diag> compile_contained(const FailureRepro& run, Last& last, uint64_t left_out, double seconds) {
  Death death;
  auto answer = contain(
      [&](Worker&) -> Result<std::string> {
        Tell tell(last, left_out);
        Compilation c = run.begin();
        c.watch(&tell);
        (void)c.list();
        c.watch(nullptr);
        return std::string();
      },
      {.timeout_seconds = seconds}, &death);
  if (death.signal == 0 && !death.timed_out) return std::nullopt;
  return answer.diag();
}

}  // namespace

bool blame_crash(FailureRepro& run, double timeout_seconds, BisectReport& report) {
  Array shared = Array::shared(dtypes::uint8, {int64_t(sizeof(Last))});
  auto& last = *new (shared.data()) Last{};
  auto died = compile_contained(run, last, 0, timeout_seconds);
  if (!died) return false;
  report.verdict = BisectReport::Verdict::Crash;
  report.stage = last.stage, report.detail = died->text();
  report.rule = last.rule, report.location = last.rule[0] ? last.location : "", report.rewrite = last.in_stage;
  if (last.number) report.confirmed = !compile_contained(run, last, uint64_t(last.number), timeout_seconds);
  return true;
}

}  // namespace tgc
