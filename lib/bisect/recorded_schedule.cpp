#include "lib/bisect/recorded.h"

#include <algorithm>

#include "lib/bisect/failure_repro.h"
#include "lib/bisect/rewrite_origin.h"
#include "lib/bisect/rewrite_sides.h"
#include "lib/compilation/pipeline.h"
#include "lib/compilation/recorded_rewrites.h"
#include "lib/run/recorded_schedule.h"
#include "lib/run/repro_command.h"
#include "lib/run/run.h"
#include "lib/run/tensor_sides.h"
#include "lib/runtime/npz.h"
#include "lib/support/counted.h"
#include "lib/support/deadline.h"

namespace tgc {
namespace {

using Kind = Verdict::Kind;

constexpr double kSearchSeconds = 2;

// `row` is the stage that gives the graph loops. Compares the values before and after the stage, and returns the first
// rewrite of the first node whose value differs; null if there is none. If the values cannot be compared, sets
// `unknown_reason`.
const Rewrite* find_wrong_loop_rewrite(const Pipeline::StageData& row, const TensorVariables& variables,
                                       BisectReport& report, RangedDifference& difference,
                                       std::string& unknown_reason) {
  std::vector<UOp> stages;
  for (const Rewrite& m : row.rewrites)
    for (UOp u : m.after.src())
      for (UOp s : {u, u.num_src() ? u.src(0) : u})
        if (s.is(Op::STAGE)) stages.push_back(s);
  auto compared = compare_tensor_pairs(row.input, row.result, stages, variables, 1);
  if (!compared) {
    unknown_reason = compared.diag().message;
    return nullptr;
  }
  difference = std::move(*compared);
  report.counts.num_compared += difference.num_compared;
  if (difference.culprit)
    for (const Rewrite* m : row.own_rewrites())
      if (m->before == difference.culprit) return m;
  return nullptr;
}

// The sides differ if they do in both of two runs with drawn arrays or, if they are equal there, with the arrays of
// --inputs (`given`). With `of_all_sizes`, one of several runs with drawn arrays suffices, because few values show a
// fault.
EquivalenceResult compare_sides(const Rewrite& m, const TensorParameters& parameters, const Arrays& given,
                                bool of_all_sizes) {
  auto compare = [&](uint64_t seed, const ContentOfBuffer& content = {}) {
    return compare_tensor_sides(m.before, m.after, parameters.variables, seed, content, of_all_sizes);
  };
  EquivalenceResult first = compare(1);
  constexpr uint64_t kMostSeeds = 8;
  for (uint64_t seed = 2; of_all_sizes && seed <= kMostSeeds && first.kind == EquivalenceResult::Kind::Same; seed++)
    first = compare(seed);
  if (of_all_sizes && first.kind == EquivalenceResult::Kind::Differ) return first;
  if (first.kind == EquivalenceResult::Kind::Differ) {
    EquivalenceResult second = compare(2);
    if (second.kind == EquivalenceResult::Kind::Differ) return first;
    first = std::move(second);
  }
  if (first.kind != EquivalenceResult::Kind::Same || given.empty()) return first;
  return compare(1, [&](UOp buffer) -> const Array* {
    int64_t slot = slot_of_buffer(buffer);
    if (buffer.is(Op::PARAM)) slot = parameters.slot_for_param(slot).value_or(slot);
    return find_array(given, "data" + std::to_string(slot));
  });
}

// `m` is a rewrite of the stage that adds loops to a graph; `nodes` are the nodes of the graph before this stage.
// Returns true if `m` rewrites integers or bools that the stage made, such as an index: its sides can be compared by
// themselves.
bool is_index_rewrite(const Rewrite& m, const UOpSet& nodes) {
  const DType dtype = m.before.dtype();
  return !nodes.contains(m.before) && !m.before.in(ops::Movement) && !m.is_discarded && !dtypes::is_float(dtype) &&
         !(dtype == dtypes::void_);
}

bool is_substitution(const Rewrite& m) { return m.source_location.starts_with("uop/ops.py:"); }

bool has_loops(UOp root) {
  return root && std::ranges::any_of(toposort(root), [](UOp u) { return u.is(Op::END); });
}

// Returns why the sides of `m` cannot be imported; "" if they can.
std::string import_error_of(const Rewrite& m, const TensorVariables& variables) {
  auto sides = import_tensor_sides(m.before, m.after, variables);
  return sides ? "" : m.source_location + ": " + sides.diag().message;
}

void set_order_verdict(Verdict& v, const ScheduleFault& f, const ModelReport& run, BisectReport& report) {
  v.kind = Kind::Order;
  v.kernel_numbers = {f.first_kernel, f.second_kernel}, v.shared_buffer = f.buffer,
  v.missing_edge_kind = f.dependency_kind, v.function = f.function;
  v.detail = f.detail();
  for (const Comparison& c : run.comparisons)
    if (report.failure_text.empty() && !c.has_passed()) report.failure_text = c.text();
}

// Sets the verdict on a record that tinygrad refused to schedule.
void set_refused_verdict(const GoldenRecord& record, const InputGraph& in, Verdict& v) {
  constexpr size_t kMany = 50;
  v.kind = Kind::Refused;
  v.detail = *record.error;
  v.stage = record.stages.empty() ? "" : record.stages.back().name;
  const std::string producer = "tinygrad " + std::string(name_of(in.graph->release()));
  Graph graph(in.graph->settings());
  auto matches = read_rewrites(graph, record, producer, in.file);
  if (!matches || matches->empty() || v.detail.find("infinite loop") == std::string::npos) return;
  std::map<std::string, std::pair<size_t, const Rewrite*>> uses;
  for (const Rewrite& m : *matches)
    if (m.stage == matches->back().stage) uses[m.source_location].first++, uses[m.source_location].second = &m;
  for (auto& [place, use] : uses)
    if (use.first >= kMany)
      v.rule_cycle.push_back({place, "", place, tree_text(use.second->before, 3), tree_text(use.second->after, 3)});
}

std::string not_compared_text(const ModelReport& run) {
  std::string out;
  if (!run.comparisons.empty()) out = ": " + std::string(kLeftOutReason) + " every element";
  for (const std::string& note : run.notes) out += (out.empty() ? ": " : "; ") + note;
  if (run.stage_difference && !run.stage_difference->refused_stages.empty())
    out += (out.empty() ? ": " : "; ") + run.stage_difference->refused_stages[0];
  return out;
}

std::string methods_text_of_wrong_kernels(const GoldenRecord& record, const ModelReport& run) {
  std::set<size_t> numbers = run.wrong_kernels;
  if (!run.order_report.order_faults.empty())
    numbers = {run.order_report.order_faults[0].first_kernel, run.order_report.order_faults[0].second_kernel};
  if (numbers.empty() && run.is_kernel_fault && record.kernels.size() == 1) numbers = {0};
  std::vector<GoldenMetadata> methods;
  for (size_t k : numbers)
    if (k < record.kernels.size())
      methods.insert(methods.end(), record.kernels[k].metadata.begin(), record.kernels[k].metadata.end());
  return methods_text(methods);
}

bool is_list_of_kernels(const InputGraph& in) {
  const auto pipeline = make_recorded_pipeline(in);
  auto rows = pipeline->rows();
  if (!rows || rows->empty() || !rows->front().result) return false;
  UOp root = rows->front().result;
  return root.is(Op::LINEAR) || (root.is(Op::CALL) && root.num_src() && root.src(0).is(Op::LINEAR));
}

bool moves_index(const Rewrite& m) {
  return m.before.is(Op::INDEX) && m.before.num_src() > 1 && m.before.src(0).in(ops::Movement);
}

void set_rewrite_verdict(Verdict& v, const Pipeline::StageData& row, const Rewrite& m, const EquivalenceResult& sides) {
  if (moves_index(m)) v.function = "apply_movement_op (schedule/indexing.py)";
  v.kind = Kind::Rewrite, v.stage = row.stage->name;
  v.rule = v.location = v.tinygrad_location = m.source_location;
  for (const Rewrite& other : row.rewrites) {
    v.rewrite_number += other.source_location == m.source_location;
    if (&other == &m) break;
  }
  v.before = tree_text(m.before, 3), v.after = tree_text(m.after, 3);
  v.witness = sides.witness;
  v.witness["before"] = sides.before.empty() ? "in bounds" : sides.before, v.witness["after"] = sides.after;
  v.proof = "its sides differ as above, but a rewrite of a recorded schedule cannot be left out";
}

class RewriteSearch {
 public:
  // `begin` is the time when the work on the record began, from which --timeout counts. With `is_out_of_bounds`, a
  // rewrite that makes an index out of bounds is wrong. `of_all_sizes`: the run failed only with inputs of all
  // magnitudes.
  RewriteSearch(const InputGraph& in, const RunOptions& options, const TensorParameters& parameters,
                Clock::time_point begin, bool is_out_of_bounds, bool of_all_sizes, BisectReport& report)
      : parameters_(parameters), report_(report), begin_time_(begin), begin_cpu_seconds_(thread_seconds()),
        is_out_of_bounds_(is_out_of_bounds), uses_all_sizes_(of_all_sizes),
        limit_seconds_(options.device.timeout_seconds.value_or(kSearchSeconds)),
        is_wall_limit_(options.device.timeout_seconds) {
    if (!options.input.arrays_file.empty())
      given_arrays_ =
          std::move(read_arrays(fill_in_name(options.input.arrays_file, options.input, in)).value_or_throw());
  }

  std::string unknown_reason;
  const Rewrite* culprit = nullptr;

  // Returns true if the search ends in the stage `row`, because a rewrite is wrong or there is no time left.
  bool search_stage(const Pipeline::StageData& row) {
    report_.counts.num_rewrites += row.rewrites.size();
    const bool makes_loops = has_loops(row.result) && !has_loops(row.input);
    if (!makes_loops) return search_among_rewrites(row, [](const Rewrite&) { return true; });
    UOpSet nodes(row.input.graph());
    for (UOp u : toposort(row.input)) nodes.insert(u);
    if (search_among_rewrites(row, [&](const Rewrite& m) { return is_index_rewrite(m, nodes); })) return true;
    RangedDifference loops;
    const Rewrite* wrong = find_wrong_loop_rewrite(row, parameters_.variables, report_, loops, unknown_reason);
    if (wrong && (is_out_of_bounds_ || loops.value_comparison.kind == EquivalenceResult::Kind::Differ))
      return set_culprit(row, *wrong, loops.value_comparison), true;
    // Leaves out nodes of the input graph, which find_wrong_loop_rewrite() has compared: their indices depend on their
    // users, which the sides of a rewrite do not contain.
    return search_among_rewrites(row, [&](const Rewrite& m) {
      return !is_index_rewrite(m, nodes) && !m.before.in(ops::Movement) &&
             !(loops.num_compared && nodes.contains(m.before));
    });
  }

 private:
  void set_culprit(const Pipeline::StageData& row, const Rewrite& m, const EquivalenceResult& sides) {
    culprit = &m;
    set_rewrite_verdict(report_.verdict, row, m, sides);
  }

  template <class IsMeant>
  bool search_among_rewrites(const Pipeline::StageData& row, IsMeant is_meant) {
    for (const Rewrite& m : row.rewrites) {
      if (!is_meant(m) || is_substitution(m)) continue;
      if ((is_wall_limit_ ? seconds_since(begin_time_) : thread_seconds() - begin_cpu_seconds_) > limit_seconds_) {
        report_.verdict.detail =
            formatted("the rewrites were not all compared within %g s: --timeout=S allows more", limit_seconds_);
        return true;
      }
      const EquivalenceResult sides = compare_sides(m, parameters_, given_arrays_, uses_all_sizes_);
      const bool differ = sides.kind == EquivalenceResult::Kind::Differ || (is_out_of_bounds_ && !sides.after.empty());
      report_.counts.num_compared += differ || sides.kind == EquivalenceResult::Kind::Same;
      if (differ) {
        EquivalenceResult inner_sides;
        const Rewrite* inner = find_out_of_bounds_rewrite(row, m, inner_sides);
        return set_culprit(row, inner ? *inner : m, inner ? inner_sides : sides), true;
      }
      if (sides.kind == EquivalenceResult::Kind::Open && unknown_reason.empty())
        unknown_reason = import_error_of(m, parameters_.variables);
    }
    return false;
  }

  // Returns the first rewrite nested in `m` that makes an index out of bounds; null if there is none.
  const Rewrite* find_out_of_bounds_rewrite(const Pipeline::StageData& row, const Rewrite& m,
                                            EquivalenceResult& sides) const {
    const Rewrite* first = &m;
    while (first > row.rewrites.data() && first[-1].depth > m.depth) first--;
    for (; first < &m; first++) {
      if (is_substitution(*first)) continue;
      sides = compare_sides(*first, parameters_, given_arrays_, uses_all_sizes_);
      if (sides.before.empty() && !sides.after.empty()) return first;
    }
    return nullptr;
  }

  const TensorParameters& parameters_;
  BisectReport& report_;
  const Clock::time_point begin_time_;
  const double begin_cpu_seconds_;
  const bool is_out_of_bounds_, uses_all_sizes_;
  const double limit_seconds_;
  // limit_seconds_ is wall time (--timeout); else CPU time, so that other programs change no verdict
  const bool is_wall_limit_;
  Arrays given_arrays_;
};

}  // namespace

void bisect_recorded_schedule(const Session& session, const InputGraph& in, const RunOptions& options,
                              BisectReport& report) {
  const auto begin = Clock::now();
  Verdict& v = report.verdict;
  report.device = "REF", report.pipeline_kind = "recorded";
  if (in.record && in.record->error && in.record->kernels.empty()) return set_refused_verdict(*in.record, in, v);
  const ModelReport run = run_recorded_schedule(session, in, options, true);
  report.device = run.device;
  report.counts.num_runs = 1;
  report.notes = run.notes;
  for (auto& [name, source] : run.variables) report.variables.insert(name);
  report.repro_command = bisect_command(options, repeated_options(session, options, in, Placement()));
  if (in.record) report.origin_text = methods_text_of_wrong_kernels(*in.record, run);
  if (!run.order_report.order_faults.empty())
    return set_order_verdict(v, run.order_report.order_faults[0], run, report);
  if (!run.error.empty() && !run.is_kernel_fault) throw Failure(run.error);
  if (run.result() == RunReport::Result::NotCompared)
    throw Failure("not decided: nothing was compared" + not_compared_text(run));
  if (run.result() != RunReport::Result::Failed) {
    v.kind = run.order_report.stale_reads.empty() ? Kind::Same : Kind::Known;
    report.counts.update_element_counts(run.comparisons);
    for (auto& [name, elements] : run.not_decided_elements)
      report.counts.num_elements += elements, report.counts.num_left_out += elements;
    v.detail = run.has_no_stores ? "the graph stores nothing, and its schedule has no kernels"
               : run.schedule_result.num_kernels  ? "its kernels compute what the tensor graph says"
                                  : "its stages compute what the tensor graph says";
    if (!run.arrays_file.empty())
      v.detail += " for the inputs of " + run.arrays_file +
                  (run.seed ? ", and others drawn with --seed " + std::to_string(*run.seed) : "");
    if (run.schedule_result.num_kernels && !run.float_distribution.empty())
      v.detail += ", for floats " + run.float_distribution;
    if (v.kind == Kind::Known) v.detail = "tinygrad does not keep the old content of a buffer for a late read";
    return;
  }
  if (!run.hazard_text.empty()) {
    v.kind = Kind::Hazard, v.detail = run.hazard_text, v.function = "fix_store_hazard (schedule/rangeify.py)";
    for (const Comparison& c : run.comparisons)
      if (report.failure_text.empty() && !c.has_passed()) report.failure_text = c.text();
    return;
  }
  if (!run.stage_difference) throw Failure(run.error);
  report.failure_text = run.is_kernel_fault ? run.error : run.first_difference();
  const auto pipeline = make_recorded_pipeline(in);
  VariableValues values;
  for (auto& [name, source] : run.variables) values[name] = std::stoll(source);
  const TensorParameters parameters =
      read_parameters(session, *in.record, in.graph->release(), values).value_or_throw();
  if (run.stage_difference->stage.empty()) {
    v.kind = Kind::Unresolved;
    v.detail = "each stage that can be compared is right, but the kernels compute something else";
    if (!run.stage_difference->refused_stages.empty())
      v.detail += "; not compared, for one: " + run.stage_difference->refused_stages[0];
    return;
  }
  v.stage = run.stage_difference->stage;
  if (v.stage == in.record->stages[0].name && is_list_of_kernels(in)) {
    v.kind = Kind::Unresolved;
    v.detail = "tinygrad took this schedule from its cache: bisect the record of the same graph that made it, before "
               "this one, or record with SCACHE=0";
    return;
  }
  v.kind = Kind::Schedule;
  const bool of_all_sizes = run.input_set_note == name_of(InputSet::AllSizes);
  RewriteSearch search(in, options, parameters, begin, run.is_kernel_fault, of_all_sizes, report);
  // search the stages after the last right one, up to the first wrong one
  bool is_candidate = run.stage_difference->last_right_stage.empty();
  const auto rows = pipeline->rows().value_or_throw();
  for (const Pipeline::StageData& row : rows) {
    if (is_candidate && search.search_stage(row)) {
      const std::string user_operation = search.culprit ? methods_of_rewrite(*pipeline, in, *search.culprit) : "";
      if (!user_operation.empty()) report.origin_text = user_operation;
      return;
    }
    if (row.stage->name == run.stage_difference->stage) break;
    if (row.stage->name == run.stage_difference->last_right_stage) is_candidate = true;
  }
  v.detail = pipeline->has_ability(Ability::Rewrites) ? "no recorded rewrite between the stages has sides that differ"
                                    : "the rewrites were not recorded (--rewrites)";
  if (!search.unknown_reason.empty()) v.detail += "; not compared, for one: " + search.unknown_reason;
}

}  // namespace tgc
