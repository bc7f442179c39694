#include "lib/prove/expansions.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "lib/prove/gaps.h"
#include "lib/rewrite/apply_rewrites.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

using Replacements = std::unordered_map<UOp, UOp>;

UOp apply_replacements(UOp root, const Replacements& rewrites, std::unordered_set<UOp>* applied = nullptr) {
  return apply_rewrites(root, rewrites, VisitOrder::SourcesFirst, applied);
}

class ExpansionRemover {
 public:
  ExpansionRemover(RewriteHistory& history, const HistoryStage& stage, std::map<size_t, std::string>& open)
      : history_(history), stage_(stage), reasons_(open) {}

  std::optional<UnexpandedStage> run() {
    if (stage_.graph_rewrites.size() != 1 || !stage_.result) return {};
    const TopLevelRewrite& top = history_.graph_rewrites()[stage_.graph_rewrites[0]];
    std::vector<size_t> functions;
    for (size_t k : top.application_indices)
      if (applications()[k].before.in({Op::LOG2, Op::EXP2, Op::SIN})) functions.push_back(k);
    if (functions.empty()) return {};
    Replacements all;
    for (size_t k : top.application_indices) all[applications()[k].before] = applications()[k].after;
    if (!are_same_graph(apply_replacements(top.input, all), stage_.result)) return {};
    UnexpandedStage out{.input = top.input};
    for (size_t k : functions) add_expansion(k, apply_replacements(applications()[k].before, all), out);
    if (out.expansions.empty()) return {};
    std::unordered_map<UOp, size_t> numbers;
    Replacements rest;
    for (size_t k : top.application_indices) {
      if (std::ranges::find(out.expansions, k, &UnexpandedStage::Expansion::rewrite_index) != out.expansions.end())
        continue;
      const UOp before = restore_functions(applications()[k].before);
      rest[before] = restore_functions(applications()[k].after), numbers[before] = k;
    }
    std::unordered_set<UOp> applied;
    out.result = apply_replacements(top.input, rest, &applied);
    if (!are_same_graph(out.result, restore_functions(stage_.result))) return {};
    for (UOp before : applied) out.rewrites[numbers.at(before)] = {before, rest.at(before)};
    for (UnexpandedStage::Expansion& e : out.expansions) e.function = restore_functions(e.function);
    return out;
  }

 private:
  std::span<const Rewrite> applications() const { return history_.applications(); }
  static bool are_same_graph(UOp a, UOp b) { return a && b && graph_difference(a, b, 1).empty(); }

  // Adds an approximation with an error of at most kMaxUlp to `to`. Sets `reasons_` if the error is unknown or larger.
  void add_expansion(size_t number, UOp expansion, UnexpandedStage& to) {
    const UOp function = applications()[number].before;
    if (!expansion || function.num_src() != 1) return;
    const UOp operand = function.src(0);
    const auto sides = history_.import_sides({function, expansion}),
               operands = history_.import_sides({operand, operand});
    if (!sides || !operands || sides->empty() || sides->size() != operands->size()) return;
    UnexpandedStage::Expansion out{.rewrite_index = number, .function = function};
    for (size_t i = 0; i < sides->size(); i++) {
      auto a = find_approximation((*sides)[i].before, (*sides)[i].after, (*operands)[i].before);
      if (!a) return;
      auto [error, is_new] = measured_errors_.try_emplace(a->key, ApproximationError());
      if (is_new) error->second = tgc::measure_error(*a);
      if (!error->second) reasons_[number] = error->second.diag().message;
      else if (error->second->max_ulp > kMaxUlp) reasons_[number] = "the approximation has too large an error";
      if (!error->second || error->second->max_ulp > kMaxUlp) return;
      // keep the error and approximation of the last lane
      out.approximation_error = *error->second, out.approximation = std::move(*a);
    }
    if (functions_by_expansion_.emplace(expansion, function).second) to.expansions.push_back(std::move(out));
  }

  UOp restore_functions(UOp root) {
    if (auto it = restored_nodes_.find(root); it != restored_nodes_.end()) return it->second;
    for (UOp u : toposort(root, [&](UOp x) { return !restored_nodes_.contains(x); })) {
      if (restored_nodes_.contains(u)) continue;
      auto it = functions_by_expansion_.find(u);
      const UOp from = it == functions_by_expansion_.end() ? u : it->second;
      std::vector<UOp> src;
      for (UOp s : from.src()) src.push_back(restore_functions(s));
      restored_nodes_[u] = std::ranges::equal(src, from.src()) ? from : from.with_src(src);
    }
    return restored_nodes_.at(root);
  }

  RewriteHistory& history_;
  const HistoryStage& stage_;
  std::map<size_t, std::string>& reasons_;
  std::map<std::string, Result<ApproximationError>> measured_errors_;
  Replacements functions_by_expansion_;
  Replacements restored_nodes_;
};

}  // namespace

UOp UnexpandedStage::replay_rewrites(size_t last) const {
  Replacements first;
  for (auto& [k, s] : rewrites)
    if (k <= last) first[s.before] = s.after;
  return apply_replacements(input, first);
}

std::optional<UnexpandedStage> remove_expansions(RewriteHistory& history, const HistoryStage& stage,
                                                 std::map<size_t, std::string>& open) {
  return ExpansionRemover(history, stage, open).run();
}

}  // namespace tgc
