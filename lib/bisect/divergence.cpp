#include <map>
#include <set>
#include <unordered_set>

#include "lib/bisect/rewrite_sides.h"
#include "lib/bisect/strategies.h"
#include "lib/compilation/graph_compiler.h"
#include "lib/compilation/recorded_rewrites.h"
#include "lib/compilation/rewrite_log.h"
#include "lib/compilation/watchers.h"
#include "lib/diff/run_diff.h"
#include "lib/driver/failure_collector.h"
#include "lib/records/recorded_stages.h"
#include "lib/rewrite/fault.h"
#include "lib/text/pyrender.h"
#include "lib/trace/trace_file.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

std::string stage_result_text(const StageRun& run) {
  return run.result ? pyrender(run.result).value_or_throw() : "";
}

class DivergenceFinder {
 public:
  DivergenceFinder(const Session& session, const InputGraph& in, const std::string& target)
      : session_(session), input_graph_(in), target_(target), compilation_(begin_compilation()) {
    ScopedObserver watched(compilation_, log_);
    is_refused_ = !compilation_.list();
    compilation_.set_stage_observer(nullptr);
  }

  bool is_refused() const { return is_refused_; }

  std::vector<std::pair<std::string, std::string>> stage_texts() const {
    std::vector<std::pair<std::string, std::string>> out;
    for (const StageRun& run : log_.stage_runs()) out.emplace_back(run.row->name, stage_result_text(run));
    return out;
  }

  std::optional<Verdict> find(const GoldenRecord& record) {
    record_ = &record;
    const RecordedStageTexts stages(record);
    if (input_graph_.text != record.ast && pyrender(input_graph_.root).value_or_throw() != record.ast)
      return divergence_verdict("ast");
    for (const StageRun& run : log_.stage_runs()) {
      const RecordedStage* theirs = stages.find_stage(run.row->name);
      if (!theirs || !theirs->text || !run.row->is_graph_stage()) continue;
      std::string ours = stage_result_text(run);
      if (ours == *theirs->text) continue;
      if (run.result) name_culprit(run, ours, std::string(*theirs->text));
      return divergence_verdict(std::string(run.row->name));
    }
    return compare_list_and_source();
  }

 private:
  Verdict divergence_verdict(const std::string& stage) {
    verdict_.kind = Verdict::Kind::Divergence, verdict_.stage = stage;
    return std::move(verdict_);
  }

  Compilation begin_compilation() const {
    return compile_copy(session_, input_graph_, target_, input_graph_.graph->settings()).value_or_throw();
  }

  std::optional<Verdict> compare_list_and_source() {
    for (auto& [stage, theirs] : {std::pair("linear", &record_->linear), std::pair("source", &record_->source)}) {
      if (!*theirs) continue;
      auto ours = compilation_.row_output(get_stage_row(stage));
      if (!ours || *ours != **theirs) return divergence_verdict(stage);
    }
    return std::nullopt;
  }

  // Names a rewrite that only tgc makes, or describes one that only tinygrad makes. If neither is known, names the
  // first rewrite whose result is in tgc's graph after the stage (`ours`), but not in tinygrad's (`theirs`).
  void name_culprit(const StageRun& run, const std::string& ours, const std::string& theirs) {
    const Rewrite* culprit = nullptr;
    if (!record_->rewrites_json.empty()) culprit = first_extra_rewrite(run);
    if (culprit) verdict_.proof = "tinygrad does not make this rewrite";
    else if (verdict_.detail.empty()) culprit = first_surviving_rewrite(run, ours, theirs);
    if (!culprit) return;
    describe_rewrite(*culprit, verdict_);
    RewriteVeto veto([&](uint64_t number, const RuleHit&, UOp) { return number == culprit->rewrite_number; });
    bool is_theirs = matches_tinygrad_without(veto, *run.row, theirs);
    verdict_.is_confirmed = is_theirs || !verdict_.proof.empty();
    if (is_theirs) verdict_.proof.clear();
  }

  // Returns the first rewrite of a node that tinygrad does not rewrite, or rewrites into something else; of the nested
  // rewrites, only one of a node that tinygrad rewrites. Returns null if none is found, or if the cause is a rewrite
  // that only tinygrad makes, which the verdict then describes.
  const Rewrite* first_extra_rewrite(const StageRun& run) {
    auto matches = recorded_rewrites(*run.row);
    if (!matches) return nullptr;
    const std::vector<Rewrite>& theirs = *matches;
    std::map<uint32_t, std::set<uint32_t>> made;  // by a node's id: ids of tinygrad's results
    for (const Rewrite& m : theirs) made[m.before.id()].insert(m.after.id());
    std::vector<const Rewrite*> list;
    std::vector<UOp> nodes{run.input, run.result};
    for (const Rewrite& a : log_.all_rewrites())
      if (a.stage == run.row) list.push_back(&a), nodes.push_back(a.before), nodes.push_back(a.after);
    const UOp ours = copy_into(recorded_graph_, run.input.graph().sink(nodes));
    // the first nested rewrite of a node that tinygrad rewrites, but into something else
    const Rewrite* inner = nullptr;
    for (size_t i = 0; i < list.size(); i++) {
      auto of_node = made.find(ours.src(2 * i + 2).id());
      const bool is_rewritten = of_node != made.end();
      if (is_rewritten && of_node->second.contains(ours.src(2 * i + 3).id())) continue;
      if (list[i]->depth > 0 && !inner && is_rewritten) inner = list[i];
      if (list[i]->depth > 0) continue;
      if (inner) return inner;
      return is_rewritten || !describe_missing_rewrite(theirs, ours) ? list[i] : nullptr;
    }
    if (!inner) describe_missing_rewrite(theirs, ours);
    return inner;
  }

  // If tinygrad rewrites a node of both compilations that tgc does not rewrite, describes tinygrad's rewrite in the
  // verdict and returns true. The sources of `ours` are the stage's input and result, followed by both sides of each of
  // the stage's rewrites.
  bool describe_missing_rewrite(std::span<const Rewrite> theirs, UOp ours) {
    UOpSet met(recorded_graph_), rewritten(recorded_graph_);
    for (UOp u : toposort(ours)) met.insert(u);
    for (size_t i = 2; i < ours.num_src(); i += 2) rewritten.insert(ours.src(i));
    for (const Rewrite& m : theirs) {
      if (!met.contains(m.before) || rewritten.contains(m.before)) continue;
      verdict_.detail = "tinygrad rewrites a node by " + m.source_location + " that tgc does not rewrite";
      verdict_.before = tree_text(m.before, 3), verdict_.after = tree_text(m.after, 3);
      return true;
    }
    return false;
  }

  // Returns tinygrad's recorded rewrites of the stage `row`. Adds their nodes to recorded_graph_.
  Result<std::vector<Rewrite>> recorded_rewrites(const StageRow& row) {
    auto matches = read_rewrites(recorded_graph_, *record_, "tinygrad 0.12.0", input_graph_.file);
    if (!matches) return matches;
    std::erase_if(*matches, [&](const Rewrite& m) {
      return !m.stage || m.stage->name != row.name;
    });
    return matches;
  }

  const Rewrite* first_surviving_rewrite(const StageRun& run, const std::string& ours,
                                         const std::string& theirs) const {
    Graph graph(input_graph_.graph->settings());
    auto pair = read_graph_pair(graph, {ours, "tgc"}, {theirs, input_graph_.file});
    if (!pair) return nullptr;
    std::vector<UOp> made = toposort(run.result), read = toposort(pair->first), other = toposort(pair->second);
    if (made.size() != read.size()) return nullptr;
    std::unordered_set<UOp> known(other.begin(), other.end()), ours_only;
    for (size_t i = 0; i < made.size(); i++)
      if (!known.contains(read[i])) ours_only.insert(made[i]);
    for (const Rewrite& a : log_.all_rewrites())
      if (a.stage == run.row && ours_only.contains(a.after)) return &a;
    return nullptr;
  }

  bool matches_tinygrad_without(RewriteVeto& veto, const StageRow& row, const std::string& theirs) const {
    Compilation c = begin_compilation();
    c.set_stage_observer(&veto);
    bool same = c.run_through_stage(row) && pyrender(c.current_graph()).value_or_throw() == theirs;
    c.set_stage_observer(nullptr);
    (void)extract_fault_warnings();  // drop warnings that a fault had no effect: `veto` may have suppressed the fault
    return same;
  }

  const Session& session_;
  const InputGraph& input_graph_;
  const std::string& target_;
  Verdict verdict_;
  RewriteLog log_;
  Compilation compilation_;
  bool is_refused_ = false;
  const GoldenRecord* record_ = nullptr;
  Graph recorded_graph_;  // the graph with the nodes of tinygrad's recorded rewrites
};

}  // namespace

std::optional<Verdict> find_divergence(const Session& session, const InputGraph& in, const GoldenRecord& record) {
  return DivergenceFinder(session, in, record.target).find(record);
}

std::optional<Verdict> find_divergence(const Session& session, const InputGraph& in, TinygradProcess& tinygrad,
                                       const std::string& stage) {
  CompileQuestion question = question_about_graph(in);
  if (const StageRow* row = find_stage_row(stage); row && row->kernel) question.last_stage = stage;
  DivergenceFinder divergence(session, in, in.info.target);
  question.stage_graph_texts = divergence.stage_texts();
  const GoldenRecord theirs = std::move(tinygrad.ask_process(question).value_or_throw());
  if (auto verdict = divergence.find(theirs)) return verdict;
  if (theirs.error && !divergence.is_refused()) throw Failure("tinygrad refuses it: " + *theirs.error);
  if (!theirs.error) return std::nullopt;
  return Verdict{Verdict::Kind::Same, "tinygrad refuses it, too, and up to there tgc compiles it as tinygrad does"};
}

}  // namespace tgc
