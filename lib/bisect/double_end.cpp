#include <algorithm>
#include <unordered_map>

#include "lib/bisect/rewrite_sides.h"
#include "lib/bisect/strategies.h"

namespace tgc {
namespace {

using EndsByRange = std::unordered_map<UOp, std::vector<UOp>>;  // by RANGE: the ENDs that end it

EndsByRange ends_of(UOp root) {
  EndsByRange out;
  for (UOp u : toposort(root))
    if (u.is(Op::END))
      for (UOp range : u.src().subspan(1)) out[range].push_back(u);
  return out;
}

UOp range_that_ends_twice(UOp root) {
  const EndsByRange ends = ends_of(root);
  auto it = std::ranges::find_if(ends, [](auto& e) { return e.second.size() > 1; });
  return it == ends.end() ? UOp() : it->first;
}

}  // namespace

std::optional<Verdict> find_double_end(const FailureRepro&, BisectExecutor& executor) {
  const ObservedRun& watched = executor.observed_run();
  auto fails = [](const StageRun& s) { return s.row->name == "add control flow" && !s.result; };
  if (!watched.outcome.is_refused() || std::ranges::none_of(watched.application_log.stage_runs(), fails))
    return std::nullopt;
  for (const StageRun& stage : watched.application_log.stage_runs()) {
    if (!stage.row->is_graph_stage() || !stage.result || stage.result == stage.input) continue;
    const UOp range = range_that_ends_twice(stage.result);
    if (!range) continue;
    Verdict out{.kind = Verdict::Kind::Unresolved};
    size_t made = 0;  // number of rewrites so far that made an END of the loop
    for (const Rewrite& a : watched.application_log.all_rewrites()) {
      if (a.stage != stage.row || !a.after || a.depth != 0) continue;
      const EndsByRange before = ends_of(a.before), after = ends_of(a.after);
      auto ends = [&](const EndsByRange& e) { return e.contains(range) ? e.at(range).size() : 0; };
      if (ends(after) <= ends(before)) continue;
      if (made++ == 0) continue;
      describe_rewrite(a, out);
      out.kind = Verdict::Kind::Rewrite;
      out.proof = "the loops cannot be ordered after it, and no run without it is possible";
      break;
    }
    out.stage = stage.row->name;
    out.detail = "the stage makes two ENDs from REDUCEs that share a RANGE; 'add control flow' cannot order them: the "
                 "loop would have to run both before and after itself";
    return out;
  }
  return std::nullopt;
}

}  // namespace tgc
