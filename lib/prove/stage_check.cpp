#include "lib/prove/stage_check.h"

#include <algorithm>
#include <functional>
#include <map>

#include "lib/prove/gaps.h"
#include "lib/prove/proof_time.h"
#include "lib/prove/special_inputs.h"
#include "lib/prove/stage_runner.h"
#include "lib/support/deadline.h"
#include "lib/uop/graph.h"

namespace tgc {

using Kind = RewriteProof::Kind;

RewriteProof& add_finding(KernelProof& proof, size_t stage, Kind kind, std::string why) {
  proof.stage_findings.push_back({.kind = kind, .reason = std::move(why), .application_index = SIZE_MAX});
  proof.stage_findings.back().place = {
      .stage_number = stage, .stage = proof.rewrite_history->stages()[stage].name, .rule = {}};
  return proof.stage_findings.back();
}

std::vector<RewriteProof*> rewrites_of(KernelProof& proof, size_t stage) {
  std::vector<RewriteProof*> out;
  for (RewriteProof& r : proof.rewrites)
    if (proof.rewrite_history->stage_index_of(r.application_index) == stage) out.push_back(&r);
  return out;
}

void set_verdict_unknown(RewriteProof& r, std::string_view reason) {
  r.kind = Kind::Unknown, r.reason = "its sides differ";
  for (auto& [name, value] : r.counterexample)
    r.reason += (name == r.counterexample.begin()->first ? " where " : ", ") + name + " = " + value;
  r.reason += "; but " + std::string(reason), r.counterexample.clear();
}

namespace {

bool moves_elements(const KernelProof& proof, const RewriteProof& r) {
  const Rewrite& a = proof.rewrite_history->applications()[r.application_index];
  return r.place.rule.starts_with("schedule/") || (a.substitution_target && a.depth == 0);
}

class StageChecker {
 public:
  StageChecker(KernelProof& out, UOp ast, bool should_check_stages)
      : proof_(out), history_(*out.rewrite_history), checks_stages_(should_check_stages), ast_(ast), runner_(ast) {}

  // Runs the graphs after stages in REF at sample inputs. If all rewrites are proven and the kernel is not small, runs
  // the last graph first and, if it is right, only the linear list after it.
  void run() {
    const bool is_open = std::ranges::any_of(proof_.rewrites, [](auto& r) { return r.kind != Kind::Proven; }) ||
                         std::ranges::any_of(proof_.stage_findings, [](auto& r) { return r.kind != Kind::Proven; });
    const bool runs_stages = is_open || checks_stages_;
    if (!is_open) runner_.limit_evaluations();
    if (!is_open && runs_stages && !runner_.is_small())
      if (is_last_graph_right()) return (void)check_linear_list();
    size_t right = SIZE_MAX;  // the last stage that REF could run and that is right; SIZE_MAX is the AST
    auto first = [&] { return right == SIZE_MAX ? 0 : right + 1; };
    for (size_t i = 0; runs_stages && i < stages().size(); i++) {
      if (!stages()[i].is_graph_changed() || !stages()[i].result) continue;
      if (is_time_over()) throw Failure("the time is over");
      const auto difference = runner_.difference_from_ast(history_.imported_graph(stages()[i].result), kTrials);
      if (!difference) continue;
      proof_.num_checked_stages++;
      if (!difference->empty()) return mark_wrong_stages(first(), i, *difference);
      search_refuting_inputs(first(), i, right, history_.imported_graph(stages()[i].result));
      for (size_t k = first(); k <= i; k++) mark_right_stage(k);
      right = i;
    }
    if (!check_linear_list()) return;
    if (first() < stages().size()) search_refuting_inputs(first(), stages().size() - 1, right, history_.linear_list());
    for (size_t k = first(); k < stages().size(); k++) mark_right_stage(k);
  }

 private:
  std::span<const HistoryStage> stages() const { return history_.stages(); }
  std::span<const Rewrite> applications() const { return history_.applications(); }

  // If rewrites of the stages first..last have sides that differ, searches inputs for which `result` stores something
  // else than the AST, and refutes the rewrites that cause this. `before` is the last right stage (SIZE_MAX is the
  // AST).
  template <class Code>
  void search_refuting_inputs(size_t first, size_t last, size_t before, const Code& result) {
    std::vector<RewriteProof*> suspects;
    std::vector<UOp> sides;
    std::vector<std::map<std::string, std::string>> points;
    for (size_t i = first; i <= last; i++)
      for (RewriteProof* r : rewrites_of(proof_, i)) {
        if (r->kind != Kind::Refuted) continue;
        suspects.push_back(r);
        if (std::ranges::find(points, r->counterexample) == points.end()) points.push_back(r->counterexample);
        const auto pairs = history_.import_sides(
            {applications()[r->application_index].before, applications()[r->application_index].after});
        if (!pairs) continue;
        for (const RewriteSides& s : *pairs)
          for (UOp side : {s.before, s.after})
            if (side) sides.push_back(side);
      }
    const double end = std::min(search_seconds_left_, kSearchSeconds / 2);
    if (suspects.empty() || end <= 0) return;
    const double begin = thread_seconds();
    const SpecialInputs special(runner_, ast_, sides, std::move(points));
    const UOp input = before == SIZE_MAX ? ast_ : history_.imported_graph(stages()[before].result);
    for (size_t n = 0; n < special.num_draws(); n++) {
      if (is_time_over() || thread_seconds() - begin > end) break;
      const auto t = special.draw_trial(n);
      const auto difference = t ? runner_.unexplained_difference(*t, result) : std::nullopt;
      if (!difference || difference->empty() || runner_.unexplained_difference(*t, input) != "") continue;
      if (refute_causes(suspects, first, last, special, *t, *difference, result)) break;
    }
    search_seconds_left_ -= thread_seconds() - begin;
  }

  // Refutes those of the suspects that make the stages first..last compute something else for the inputs of `t`; the
  // first possible one if that is not known. Returns true if one is refuted.
  template <class Code>
  bool refute_causes(std::span<RewriteProof* const> suspects, size_t first, size_t last, const SpecialInputs& special,
                     const StageTrial& t, const std::string& difference, const Code& result) {
    std::vector<RewriteProof*> guilty, open;  // `open`: the graphs before and after the rewrite decide nothing
    for (RewriteProof* r : suspects) {
      const auto around = graphs_around(*r);
      const auto before = around ? runner_.unexplained_difference(t, around->first) : std::nullopt;
      const auto after = around ? runner_.unexplained_difference(t, around->second) : std::nullopt;
      if (before == "" && after && !after->empty()) guilty.push_back(r);
      if (!before || !after) open.push_back(r);
    }
    if (guilty.empty() && !open.empty() && all_stages_replay(first, last)) guilty.push_back(open[0]);
    if (guilty.empty()) return false;
    const std::string after = first == last ? "" : ", after '" + std::string(stages()[last].name) + "'";
    const auto inputs = special.narrow_point(t, [&](const StageTrial& other) {
      return runner_.unexplained_difference(other, result).value_or("") != "";
    });
    for (RewriteProof* r : guilty) {
      r->counterexample["stored"] = difference + after;
      for (auto& [name, value] : inputs) r->counterexample.emplace(name, value);
    }
    return true;
  }

  bool all_stages_replay(size_t first, size_t last) {
    for (size_t i = first; i <= last; i++)
      if (!replays_exactly(i)) return false;
    return true;
  }
  bool replays_exactly(size_t number) {
    auto [it, is_new] = stage_replays_.try_emplace(number);
    const HistoryStage& stage = stages()[number];
    if (is_new)
      it->second = stage.result && std::ranges::all_of(history_.find_corresponding_nodes(stage), [](auto& link) {
        return link.first && graph_difference(link.first, link.second, 1).empty();
      });
    return it->second;
  }

  bool is_last_graph_right() {
    for (size_t i = stages().size(); i-- > 0;) {
      if (!stages()[i].is_graph_changed() || !stages()[i].result) continue;
      const auto difference = runner_.difference_from_ast(history_.imported_graph(stages()[i].result), kTrials);
      if (!difference) continue;
      proof_.num_checked_stages += difference->empty();
      return difference->empty();
    }
    return false;
  }

  // Runs the recorded linear list in REF, because no proof covers it. Returns true if it is right at sample inputs.
  bool check_linear_list() {
    if (stages().empty()) return false;
    const auto difference = runner_.difference_from_ast(history_.linear_list(), kTrials);
    if (!difference || difference->empty()) return difference.has_value();
    RewriteProof& finding = add_finding(proof_, stages().size() - 1, Kind::Refuted, "the linear list is wrong");
    finding.counterexample["stored"] = *difference;
    return false;
  }

  // Returns true if both sides are integers that are computed only from loops.
  bool depends_only_on_loops(const Rewrite& a) {
    const auto pairs = history_.import_sides({a.before, a.after});
    auto is_of_loops = [](UOp u) {
      return dtypes::is_int(u.dtype()) && std::ranges::all_of(toposort(u), [](UOp x) {
               return x.in(ops::ALU | OpSet{Op::RANGE, Op::SPECIAL, Op::CONST});
             });
    };
    return pairs && !pairs->empty() && std::ranges::all_of(*pairs, [&](const RewriteSides& s) {
      return s.before && s.after && is_of_loops(s.before) && is_of_loops(s.after);
    });
  }

  void mark_right_stage(size_t stage) {
    // the run in REF also shows, for the sample inputs, that the graphs of a finding store the same, and that threads
    // do not overwrite each other's elements
    for (RewriteProof& f : proof_.stage_findings)
      if (f.place.stage_number == stage && f.kind == Kind::Unknown &&
          (f.proof_method == "races" || f.proof_method == "graphs"))
        f.kind = Kind::Sampled;
    for (RewriteProof* r : rewrites_of(proof_, stage)) {
      if (r->kind == Kind::Unknown) r->kind = Kind::Sampled;
      if (r->kind != Kind::Refuted || r->counterexample.contains("stored")) continue;
      set_verdict_unknown(*r, "the stage computes the same at sample inputs");
      if (moves_elements(proof_, *r) || depends_only_on_loops(applications()[r->application_index]))
        r->kind = Kind::Sampled;
    }
  }

  // Sets the verdicts if the graph before the stage `first` is right, and the one after the stage `last` is wrong.
  void mark_wrong_stages(size_t first, size_t last, const std::string& difference) {
    const std::string after = first == last ? "" : ", after '" + std::string(stages()[last].name) + "'";
    std::vector<RewriteProof*> open, known;
    for (size_t i = first; i <= last; i++)
      for (RewriteProof* r : rewrites_of(proof_, i)) {
        if (r->kind == Kind::Refuted) known.push_back(r);
        if (r->kind != Kind::Proven && r->kind != Kind::Refuted) open.push_back(r);
      }
    std::vector<RewriteProof*> gaps;
    for (RewriteProof& f : proof_.stage_findings)
      if (f.place.stage_number <= last && f.kind != Kind::Proven) gaps.push_back(&f);
    drop_innocent_rewrites(known);
    for (RewriteProof* r : known) r->counterexample["stored"] = difference + after;
    const bool is_explained = refute_culprits(open) || !known.empty();
    if (is_explained) return;
    if (!open.empty() && (gaps.empty() || open.size() == 1)) return set_refuted(*open[0], difference + after);
    if (!gaps.empty()) return set_refuted(*gaps[0], difference + after);
    RewriteProof& bug = add_finding(proof_, last, Kind::Refuted,
                                    "each rewrite is proven, but REF disagrees: this is a bug of tgc's prover");
    bug.counterexample["stored"] = difference + after;
  }

  // `known` are rewrites of wrong stages with sides that differ. If there are 2 to kMost, removes those for which the
  // graphs before and after the rewrite store the same elements, unless these are all.
  void drop_innocent_rewrites(std::vector<RewriteProof*>& known) {
    constexpr size_t kMost = 8;
    if (known.size() < 2 || known.size() > kMost) return;
    auto is_innocent = [&](RewriteProof* r) { return difference_at(*r) == ""; };
    const auto guilty_end = std::ranges::stable_partition(known, std::not_fn(is_innocent)).begin();
    if (guilty_end == known.begin()) return;
    for (RewriteProof* r : std::span(guilty_end, known.end()))
      set_verdict_unknown(*r, "the graphs around it store the same");
    known.erase(guilty_end, known.end());
  }

  static void set_refuted(RewriteProof& r, const std::string& difference) {
    r.kind = Kind::Refuted, r.counterexample["stored"] = difference;
  }

  // Calls difference_at() for the first kMost open rewrites of wrong stages. Refutes a rewrite with a difference; a
  // rewrite with the difference "" becomes sampled. Returns true if a rewrite is refuted.
  bool refute_culprits(std::span<RewriteProof* const> open) {
    constexpr size_t kMost = 32;
    bool is_found = false;
    for (RewriteProof* r : open.first(std::min(kMost, open.size()))) {
      const std::optional<std::string> difference = difference_at(*r);
      if (!difference) continue;
      if (difference->empty()) r->kind = Kind::Sampled;
      else set_refuted(*r, *difference), is_found = true;
    }
    return is_found;
  }

  std::optional<std::string> difference_at(const RewriteProof& r) {
    const auto around = graphs_around(r);
    return around ? runner_.stage_difference(around->first, around->second) : std::nullopt;
  }

  // Returns the graphs before and after a rewrite; for a nested rewrite, before and after the one that contains it.
  // Returns nullopt if repeating the rewrites does not give the stage's result or these graphs.
  std::optional<std::pair<UOp, UOp>> graphs_around(const RewriteProof& r) {
    const size_t number = history_.stage_index_of(r.application_index);
    if (number == SIZE_MAX || !replays_exactly(number)) return std::nullopt;
    size_t count = 0;
    for (size_t top : stages()[number].graph_rewrites)
      for (size_t k : history_.graph_rewrites()[top].application_indices) count += k < r.application_index;
    const UOp before = history_.replay_stage(stages()[number], count),
              after = history_.replay_stage(stages()[number], count + 1);
    if (!before || !after) return std::nullopt;
    return std::pair(history_.imported_graph(before), history_.imported_graph(after));
  }

  static constexpr size_t kTrials = 3;
  static constexpr double kSearchSeconds = 3;  // processor time for all searches of inputs

  KernelProof& proof_;
  RewriteHistory& history_;
  const bool checks_stages_;
  const UOp ast_;
  StageRunner runner_;
  std::map<size_t, bool> stage_replays_;
  double search_seconds_left_ = kSearchSeconds;
};

}  // namespace

void check_stages(KernelProof& proof, UOp ast, bool should_check_stages) {
  StageChecker(proof, ast, should_check_stages).run();
}

void mark_isolated_sides_unknown(KernelProof& proof, bool has_run) {
  for (RewriteProof& r : proof.rewrites) {
    if (r.kind != Kind::Refuted || r.counterexample.contains("stored")) continue;
    const auto before = r.counterexample.find("before");
    const bool is_invalid = before != r.counterexample.end() && before->second == "Invalid";
    if (moves_elements(proof, r) || (!has_run && is_invalid))
      set_verdict_unknown(r, "REF does not run the graph of the stage");
  }
}

}  // namespace tgc
