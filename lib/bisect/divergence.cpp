#include "lib/bisect/divergence.h"

#include <cstdlib>
#include <map>
#include <set>
#include <unordered_set>

#include "lib/bisect/rewrite_bisect.h"
#include "lib/compilation/scoped_watch.h"
#include "lib/compilation/tinygrad_question.h"
#include "lib/diff/run_diff.h"
#include "lib/driver/compile_copy.h"
#include "lib/driver/source.h"
#include "lib/rewrite/fault.h"
#include "lib/text/pyrender.h"
#include "lib/text/recorded_rewrites.h"
#include "lib/text/recorded_stages.h"
#include "lib/trace/applications.h"
#include "lib/trace/trace.h"
#include "lib/uop/copy.h"

namespace tgc {
namespace {

// What there is after a stage; empty: it failed.
std::string text_after(const StageRun& run) {
  return run.result ? pyrender(run.result).value_or_throw() : "";
}

// One compilation of ours, for that target, beside tinygrad's of the same graph.
class Divergence {
 public:
  Divergence(const Session& session, const InputGraph& in, const std::string& target, BisectReport& report)
      : session_(session), in_(in), target_(target), report_(report), ours_(begin()) {
    ScopedWatch watched(ours_, log_);
    is_refused_ = !ours_.list();
    ours_.watch(nullptr);
  }

  bool is_refused() const { return is_refused_; }

  // What there is after each stage, by its name.
  std::vector<std::pair<std::string, std::string>> texts() const {
    std::vector<std::pair<std::string, std::string>> out;
    for (const StageRun& run : log_.stages()) out.emplace_back(run.row->name, text_after(run));
    return out;
  }

  // Whether it differs from what tinygrad makes.
  bool blame(const GoldenRecord& record) {
    record_ = &record;
    const RecordedStages stages(record);
    if (in_.text != record.ast && pyrender(in_.root).value_or_throw() != record.ast) return at("ast");
    for (const StageRun& run : log_.stages()) {
      const RecordedStage* theirs = stages.find(run.row->name);
      if (!theirs || !theirs->text || !run.row->is_graph_stage()) continue;
      std::string ours = text_after(run);
      if (ours == *theirs->text) continue;
      at(std::string(run.row->name));
      if (run.result) name_rewrite(run, ours, std::string(*theirs->text));
      return true;
    }
    return differs_behind();
  }

 private:
  bool at(const std::string& stage) {
    report_.verdict = BisectReport::Verdict::Divergence, report_.stage = stage;
    return true;
  }

  Compilation begin() const { return compile_copy(session_, in_, target_, in_.graph->settings()); }

  bool differs_behind() {
    for (auto& [stage, theirs] : {std::pair("linear", &record_->linear), std::pair("source", &record_->source)}) {
      if (!*theirs) continue;
      auto ours = ours_.output(row_of(stage));
      if (!ours || *ours != **theirs) return at(stage);
    }
    return false;
  }

  // The first rewrite that tinygrad does not make: where its own are recorded, by them; else one whose result stays,
  // and is no node of theirs.
  void name_rewrite(const StageRun& run, const std::string& ours, const std::string& theirs) {
    const Application* accused = nullptr;
    if (!record_->rewrites.empty()) accused = first_not_made(run);
    if (accused) report_.proof = "tinygrad, asked for its own rewrites, does not make this one";
    else if (report_.detail.empty()) accused = first_left(run, ours, theirs);
    if (!accused) return;
    name_application(*accused, report_);
    Veto veto([&](uint64_t number, const Hit&, UOp) { return number == accused->number; });
    bool is_theirs = is_theirs_without(veto, *run.row, theirs);
    report_.confirmed = is_theirs || !report_.proof.empty();
    if (is_theirs) report_.proof.clear();
  }

  // A rewrite of a node that tinygrad rewrites, too, into something else, or that it leaves as it is.
  const Application* first_not_made(const StageRun& run) {
    auto matches = matches_in(*run.row);
    if (!matches) return nullptr;
    const std::vector<RecordedMatch>& theirs = *matches;
    std::map<uint32_t, std::set<uint32_t>> made;  // by ids of nodes in theirs_: what becomes of a node
    for (const RecordedMatch& m : theirs) made[m.before.id()].insert(m.after.id());
    std::vector<const Application*> list;
    std::vector<UOp> nodes{run.input, run.result};
    for (const Application& a : log_.list())
      if (a.stage == run.row) list.push_back(&a), nodes.push_back(a.before), nodes.push_back(a.after);
    const UOp ours = copy_into(theirs_, run.input.graph().sink(nodes));
    const Application* inner = nullptr;  // inside a rule; these come before the one that they are part of
    for (size_t i = 0; i < list.size(); i++) {
      auto of_node = made.find(ours.src(2 * i + 2).id());
      const bool is_rewritten = of_node != made.end();
      if (is_rewritten && of_node->second.contains(ours.src(2 * i + 3).id())) continue;
      if (list[i]->depth > 0 && !inner && is_rewritten) inner = list[i];
      if (list[i]->depth > 0) continue;
      if (inner) return inner;
      return is_rewritten || !is_left_out(theirs, ours) ? list[i] : nullptr;
    }
    if (!inner) is_left_out(theirs, ours);
    return inner;
  }

  // Whether tinygrad rewrites a node that comes up here, too, and that is left as it is; the report then says how.
  // `ours`: what a stage takes in and leaves, and both sides of each of its rewrites.
  bool is_left_out(std::span<const RecordedMatch> theirs, UOp ours) {
    UOpSet met(theirs_), rewritten(theirs_);
    for (UOp u : toposort(ours)) met.insert(u);
    for (size_t i = 2; i < ours.num_src(); i += 2) rewritten.insert(ours.src(i));
    for (const RecordedMatch& m : theirs) {
      if (!met.contains(m.before) || rewritten.contains(m.before)) continue;
      report_.detail = "tinygrad rewrites by " + m.place + " what is left as it is here";
      report_.before = tree_text(m.before, 3), report_.after = tree_text(m.after, 3);
      return true;
    }
    return false;
  }

  // The rewrites that the record has of a stage, in theirs_; an error: they cannot be read.
  Result<std::vector<RecordedMatch>> matches_in(const StageRow& row) {
    auto matches = read_rewrites(theirs_, record_->rewrites, "tinygrad 0.12.0", in_.file);
    if (!matches) return matches;
    std::erase_if(*matches, [&](const RecordedMatch& m) {
      return m.stage >= record_->stages.size() || record_->stages[m.stage].name != row.name;
    });
    return matches;
  }

  const Application* first_left(const StageRun& run, const std::string& ours, const std::string& theirs) const {
    Graph graph(in_.graph->settings());
    auto pair = read_alike(graph, ours, "tgc", theirs, in_.file);
    if (!pair) return nullptr;
    std::vector<UOp> made = toposort(run.result), read = toposort(pair->first), other = toposort(pair->second);
    if (made.size() != read.size()) return nullptr;
    std::unordered_set<UOp> known(other.begin(), other.end()), off;
    for (size_t i = 0; i < made.size(); i++)
      if (!known.contains(read[i])) off.insert(made[i]);
    for (const Application& a : log_.list())
      if (a.stage == run.row && off.contains(a.after)) return &a;
    return nullptr;
  }

  bool is_theirs_without(Veto& veto, const StageRow& row, const std::string& theirs) const {
    Compilation c = begin();
    c.watch(&veto);
    bool same = c.run_through(row) && pyrender(c.current()).value_or_throw() == theirs;
    c.watch(nullptr);
    (void)take_fault_warnings();  // of what was left out
    return same;
  }

  const Session& session_;
  const InputGraph& in_;
  const std::string& target_;
  BisectReport& report_;
  ApplicationLog log_;
  Compilation ours_;
  bool is_refused_ = false;
  const GoldenRecord* record_ = nullptr;  // tinygrad's compilation
  Graph theirs_;  // of what the record has of rewrites
};

}  // namespace

bool blame_divergence(const Session& session, const InputGraph& in, const GoldenRecord& record, BisectReport& report) {
  return Divergence(session, in, record.target, report).blame(record);
}

bool blame_divergence(const Session& session, const InputGraph& in, TinygradProcess& tinygrad, const std::string& stage,
                      BisectReport& report) {
  CompileQuestion question = question_about(in);
  if (const StageRow* row = find_row(stage); row && row->kernel) question.until = stage;
  Divergence divergence(session, in, in.info.target, report);
  question.texts = divergence.texts();
  GoldenRecord theirs = std::move(tinygrad.ask(question).value_or_throw());
  if (divergence.blame(theirs)) return true;
  if (theirs.error && !divergence.is_refused()) throw Failure("tinygrad refuses it: " + *theirs.error);
  if (theirs.error) report.detail = "tinygrad refuses it, too, and tgc makes what it makes up to there";
  return false;
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

bool is_as_recorded(const Session& session, const InputGraph& in) {
  const Overrides& over = session.over;
  const char* fault = std::getenv("TGC_FAULT");
  return in.record && over.target.empty() && over.sets.empty() && over.opts.empty() && over.from.empty() &&
         !(fault && *fault);
}

}  // namespace tgc
