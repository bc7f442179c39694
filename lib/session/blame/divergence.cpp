#include "lib/session/blame/divergence.h"

#include <cstdlib>
#include <unordered_set>

#include "lib/compilation/scoped_watch.h"
#include "lib/inspect/applications.h"
#include "lib/inspect/run_diff.h"
#include "lib/inspect/trace.h"
#include "lib/session/begin_anew.h"
#include "lib/session/blame/rewrites.h"
#include "lib/session/source.h"
#include "lib/text/pyrender.h"

namespace tgc {
namespace {

class Divergence {
 public:
  Divergence(const Session& session, const Loaded& in, const GoldenRecord& record, BisectReport& report)
      : session_(session), in_(in), record_(record), report_(report) {}

  bool blame() {
    if (in_.text != record_.ast && pyrender(in_.root).value_or_throw() != record_.ast) return at("ast");
    Compilation c = begin();
    ApplicationLog log;
    ScopedWatch watched(c, log);
    (void)c.list();
    c.watch(nullptr);
    for (const StageRun& run : log.stages()) {
      const std::string* theirs = text_of(run.row->name);
      if (!theirs) continue;
      std::string ours = run.result && run.row->is_graph_stage() ? pyrender(run.result).value_or_throw() : "";
      if (!run.row->is_graph_stage() || ours == *theirs) continue;
      at(std::string(run.row->name));
      if (run.result) name_rewrite(run, log, ours, *theirs);
      return true;
    }
    return differs_behind(c);
  }

 private:
  bool at(const std::string& stage) {
    report_.verdict = BisectReport::Verdict::Divergence, report_.stage = stage;
    return true;
  }

  Compilation begin() const {
    return begin_anew(session_, in_, record_.target, in_.graph->settings());
  }

  // What the record has of a stage; null: nothing, or the graph of the stage before.
  const std::string* text_of(std::string_view stage) const {
    for (const GoldenStage& s : record_.stages)
      if (s.name == stage) return s.ir ? &*s.ir : nullptr;
    return nullptr;
  }

  bool differs_behind(Compilation& c) {
    for (auto& [stage, theirs] : {std::pair("linear", &record_.linear), std::pair("source", &record_.source)}) {
      if (!*theirs) continue;
      auto ours = c.output(row_of(stage));
      if (!ours || *ours != **theirs) return at(stage);
    }
    return false;
  }

  // The first rewrite whose result stays, and is no node of theirs.
  void name_rewrite(const StageRun& run, const ApplicationLog& log, const std::string& ours,
                    const std::string& theirs) {
    Graph graph(in_.graph->settings());
    auto pair = read_alike(graph, ours, "tgc", theirs, in_.file);
    if (!pair) return;
    std::vector<UOp> made = toposort(run.result), read = toposort(pair->first), other = toposort(pair->second);
    if (made.size() != read.size()) return;
    std::unordered_set<UOp> known(other.begin(), other.end()), off;
    for (size_t i = 0; i < made.size(); i++)
      if (!known.contains(read[i])) off.insert(made[i]);
    for (const Application& a : log.list()) {
      if (a.stage != run.row || !off.contains(a.after)) continue;
      name_application(a, report_);
      Veto veto([&](uint64_t number, const Hit&, UOp) { return number == a.number; });
      report_.confirmed = is_theirs_without(veto, *run.row, theirs);
      return;
    }
  }

  bool is_theirs_without(Veto& veto, const StageRow& row, const std::string& theirs) const {
    Compilation c = begin();
    c.watch(&veto);
    bool same = c.run_through(row) && pyrender(c.current()).value_or_throw() == theirs;
    c.watch(nullptr);
    return same;
  }

  const Session& session_;
  const Loaded& in_;
  const GoldenRecord& record_;
  BisectReport& report_;
};

}  // namespace

bool blame_divergence(const Session& session, const Loaded& in, const GoldenRecord& record, BisectReport& report) {
  return Divergence(session, in, record, report).blame();
}

Result<std::shared_ptr<const GoldenRecord>> record_against(const Session& session, const std::string& against,
                                                           const std::string& id) {
  auto source = Source::open(session, against);
  if (!source) return source.diag();
  std::vector<std::shared_ptr<const GoldenRecord>> all;
  for (;;) {
    auto next = source->next();
    if (!next) return next.diag();
    if (!*next) break;
    if (!(*next)->record || (*next)->is_tensor_graph)
      return Diag{.message = "--against=" + against + " is no golden record of a kernel", .expected = "golden records"};
    if ((*next)->record->id == id) return (*next)->record;
    all.push_back((*next)->record);
  }
  if (all.size() == 1) return all[0];
  return Diag{.message = "no record '" + id + "' to be against", .file = against, .expected = "FILE#ID"};
}

bool is_as_recorded(const Session& session, const Loaded& in) {
  const Overrides& over = session.over;
  const char* fault = std::getenv("TGC_FAULT");
  return in.record && over.target.empty() && over.sets.empty() && over.opts.empty() && over.from.empty() &&
         !(fault && *fault);
}

}  // namespace tgc
