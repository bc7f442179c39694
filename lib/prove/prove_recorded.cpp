// Decides the rewrites that another tinygrad release made and tinygrad_export.py --rewrites recorded.
#include <algorithm>
#include <unordered_map>

#include "lib/import/import_sides.h"
#include "lib/prove/prove_kernel.h"
#include "lib/prove/prove_list.h"
#include "lib/prove/stage_runner.h"
#include "lib/prove/store_order.h"
#include "lib/rewrite/rewrite_override.h"
#include "lib/support/clocks.h"
#include "lib/validate/application_sides.h"

namespace tgc {
namespace {

using Kind = RewriteProof::Kind;

// Returns whether the expander makes a RANGE the elements of a vector.
bool is_expanded(UOp range) {
  if (!range.is(Op::RANGE) || !range.arg().is_tuple() || range.arg().items().empty()) return false;
  const Arg last = range.arg().items().back();
  return last == Arg(AxisType::UPCAST) || last == Arg(AxisType::UNROLL);
}

// Returns whether a rewrite replaces a node by what a rule or a stage asks for, not by what the node's own rule makes.
// tinygrad does this by a rule of ops.py, or in a stage that is a function. Inside of rules, check_requests() decides
// it by the rule's own rewrite; of a stage, it is proven as any other rewrite, or all such rewrites together.
bool is_substitution(const Pipeline::Row& row, const Rewrite& m) {
  const bool is_of_stage = row.recorded && !row.recorded->at.empty() && m.place == row.recorded->at[0];
  return m.place.starts_with("uop/ops.py:") || is_of_stage || (m.before.is(Op::RANGE) && !is_expanded(m.before));
}

class RecordedProver {
 public:
  RecordedProver(KernelProof& out, const Settings& settings, ProofCache& cache)
      : out_(out), pipeline_(*out.recorded), all_rows_(pipeline_.rows().value_or_throw()), importer_(settings),
        settings_(settings), cache_(cache) {}

  void run() {
    auto ast = import_graph(pipeline_.ast(), {}, settings_);
    SidesProver prover(importer_.graph(), ast ? memory_sizes(ast->root) : std::map<int64_t, int64_t>(), cache_);
    list_matches();
    const std::vector<Sides> sides = sides_of_list(pipeline_.ast(), list_);
    ListProver rewrites(list_, tops_, prover, [this](const Sides& s) { return imported(s); });
    out_.rewrites = rewrites.run(sides);
    for (RewriteProof& r : out_.rewrites) r.place = places_[r.application];
    check_requests();
    check_order();
    if (ast) sample_stages(*ast);
    out_.counts = prover.counts();
  }

 private:
  // Makes each match an application of a list, with depths from 0 in each stage.
  void list_matches() {
    std::map<std::pair<const Pipeline::Row*, std::string_view>, uint64_t> numbers;
    for (const Pipeline::Row& row : all_rows_) {
      if (row.rewrites.empty()) continue;
      // If the stage changed nothing, all its matches are parts of rules that declined in the end.
      const int own = std::ranges::min_element(row.rewrites, {}, &Rewrite::depth)->depth - !row.changes_graph();
      TopRewrite top{nullptr, row.input, false, {}, {}};
      for (const Rewrite& m : row.rewrites) {
        UOp before = m.before, after = m.after;
        if (before.is(Op::PROGRAM) && after.is(Op::PROGRAM)) {  // it gets a list, a source or a binary
          if (!before.num_src() || !after.num_src() || before.src(0) == after.src(0)) continue;
          before = before.src(0), after = after.src(0);
        }
        if (m.depth == own) top.applications.push_back(list_.size());
        list_.push_back({.number = list_.size() + 1, .depth = m.depth - own, .before = before, .after = after,
                         .substitution_target = is_substitution(row, m) ? after : UOp()});
        places_.push_back({.stage_number = size_t(&row - all_rows_.data()),
                           .stage = std::string(row.stage->name),
                           .rule = m.place, .number = ++numbers[{&row, m.place}]});
        rows_.push_back(&row);
      }
      tops_.push_back(std::move(top));
    }
  }

  Result<SidePairs> imported(const Sides& s) {
    SidePairs out;
    if (!s.before || !s.after) return out;
    auto both = importer_.import(s.before, s.after);
    if (!both) return both.diag();
    for (auto [before, after] : both->pairs) out.push_back({before, after, both->tolerance});
    return out;
  }

  // A substitution inside of a rule replaces what the rule asks for, which the sides of the rule's own rewrite check.
  void check_requests() {
    for (size_t i = list_.size(); i-- > 0;) {
      const Application& a = list_[i];
      if (out_.rewrites[i].kind != Kind::Proven && has_all_indices(a.before, a.after))
        out_.rewrites[i].kind = Kind::Proven, out_.rewrites[i].by = "lanes";
      if (!a.substitution_target || a.depth == 0 || a.before == a.after) continue;
      size_t of = i + 1;
      while (of < list_.size() && rows_[of] == rows_[i] && list_[of].depth >= a.depth) of++;
      RewriteProof& r = out_.rewrites[i];
      r.why.clear(), r.kind = Kind::Proven, r.by = "requested";
      if (of == list_.size() || rows_[of] != rows_[i] || out_.rewrites[of].kind == Kind::Proven) continue;
      r.kind = out_.rewrites[of].kind == Kind::Sampled ? Kind::Sampled : Kind::Unknown;
      r.why = "a part of a rewrite that is not proven";
    }
  }

  void check_order() {
    for (const Pipeline::Row& row : all_rows_) {
      std::vector<RewriteProof*> of_stage;
      for (RewriteProof& r : out_.rewrites)
        if (rows_[r.application] == &row) of_stage.push_back(&r);
      check_store_order(of_stage, list_, row.input, row.result);
    }
  }

  // Decides whether `after` has each index of the loop `before`, in order, as an element of a vector.
  bool has_all_indices(UOp before, UOp after) {
    if (!is_expanded(before)) return false;
    auto loop = importer_.import(before, before), elements = importer_.import(after, after);
    if (!loop || loop->pairs.size() != 1 || !elements) return false;
    if (!py_equal(loop->pairs[0].first.vmax(), Const(int64_t(elements->pairs.size()) - 1))) return false;
    int64_t n = 0;
    return std::ranges::all_of(elements->pairs, [&](const std::pair<UOp, UOp>& p) {
      return p.first.is_const() && p.first.arg().is_int() && p.first.arg().as_int() == Int(n++);
    });
  }

  // Runs the graph after each stage in REF that has a rewrite without values.
  void sample_stages(const ImportedGraph& ast) {
    StageRunner runner(ast.root);
    std::map<const Pipeline::Row*, std::optional<std::string>> differences;  // "": none
    for (RewriteProof& r : out_.rewrites) {
      const Pipeline::Row& row = *rows_[r.application];
      if (r.kind != Kind::Unknown || !row.result) continue;
      auto [it, is_new] = differences.try_emplace(&row);
      if (is_new) {
        auto input = import_graph(row.input, {}, settings_), result = import_graph(row.result, {}, settings_);
        if (result) it->second = runner.difference(input ? input->root : UOp(), result->root);
      }
      if (!it->second) continue;
      r.kind = it->second->empty() ? Kind::Sampled : Kind::Refuted;
      if (r.kind == Kind::Refuted) r.counterexample["stored"] = *it->second;
    }
  }

  KernelProof& out_;
  Pipeline& pipeline_;
  const std::span<const Pipeline::Row> all_rows_;
  SidesImporter importer_;
  const Settings& settings_;
  ProofCache& cache_;
  std::vector<Application> list_;
  std::vector<TopRewrite> tops_;
  std::vector<RewritePlace> places_;
  std::vector<const Pipeline::Row*> rows_;
};

}  // namespace

std::unique_ptr<KernelProof> prove_recording(const InputGraph& in, ProofCache& cache) {
  auto begin = Clock::now();
  auto out = std::make_unique<KernelProof>();
  out->kernel = in.info.name, out->producer = in.info.producer;
  auto done = catch_failures([&] {
    out->recorded = recorded_pipeline(in);
    out->recorded->need(Ability::Rewrites).value_or_throw();
    RecordedProver(*out, in.graph->settings(), cache).run();
    return true;
  });
  if (!done) out->error = done.diag();
  out->set_verdict();
  out->seconds = seconds_since(begin);
  return out;
}

}  // namespace tgc
