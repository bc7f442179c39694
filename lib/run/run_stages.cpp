#include "lib/run/run_stages.h"

#include <algorithm>

#include "lib/compilation/pipeline.h"
#include "lib/records/round_trip.h"
#include "lib/uop/graph.h"
#include "lib/validate/reference_runner.h"

namespace tgc {

Failure failure_with_prefix(const std::string& where, Diag diag) {
  diag.message = where + ": " + diag.message;
  return Failure(std::move(diag));
}

namespace {

std::vector<UOp> nodes_of(const ImportedGraph& graph) { return graph.list.empty() ? toposort(graph.root) : graph.list; }

// `inputs` and the results have the dtypes of the buffers of `ast`.
Result<ExecutionResult> run_imported_graph(const ImportedGraph& graph, UOp ast, const Arrays& inputs,
                                           const VariableValues& variables, const ExecuteOptions& options) {
  const Arrays own = arrays_with_dtypes_of(inputs, buffers_of_nodes(nodes_of(graph)));
  const ReferenceRunner ref(own, variables, options);
  auto done = graph.list.empty() ? ref.run_reference(graph.root) : ref.run_reference(graph.list);
  if (done) done->outputs = arrays_with_dtypes_of(done->outputs, buffers_of_nodes(toposort(ast)));
  return done;
}

// True if the row has a linear list, or a graph to run that differs from that of the row before.
bool has_new_graph(const Pipeline::StageData& row) {
  const bool only_compiles = row.result && row.result.is(Op::PROGRAM) && list_of_program(row.result).empty();
  return !row.list.empty() || (row.result && row.changes_graph() && !only_compiles);
}

}  // namespace

Result<LastRecordedGraph> last_recorded_graph(const Session& session, const InputGraph& in) {
  std::string why = "the record has no list and no stage";
  auto pipeline = session.pipeline(in);
  if (!pipeline) return pipeline.diag();
  auto rows = (*pipeline)->rows();
  if (!rows) return rows.diag();
  for (size_t i = rows->size(); i-- > 0;) {
    const Pipeline::StageData& row = (*rows)[i];
    if (!has_new_graph(row)) continue;
    auto graph = (*pipeline)->imported_graph(row);
    if (graph) return LastRecordedGraph{std::move(*graph), row.list.empty() ? std::string(row.stage->name) : ""};
    why = std::string(row.stage->name) + ": " + graph.diag().message;
  }
  return Diag{.message = "no recorded graph runs in REF: " + why, .file = in.file,
              .expected = "the kernel's device, or --emulate"};
}

Result<ExecutionResult> run_recorded_graph(const LastRecordedGraph& last, UOp ast, const Arrays& inputs,
                                           const VariableValues& variables, const ExecuteOptions& ref) {
  return run_imported_graph(last.graph, ast, inputs, variables, ref);
}

namespace {

class StageRunner {
 public:
  StageRunner(const InputGraph& in, const RunOptions& options, const Arrays& inputs, const Arrays& expected)
      : input_(in), options_(options), inputs_(inputs), expected_(expected) {}

  bool run_and_compare_stage(std::string_view name, const ImportedGraph& graph) {
    const std::string where = "after '" + std::string(name) + "'";
    auto done = run_imported_graph(graph, input_.root, inputs_, options_.input.variables, ref_options_);
    if (!done) throw failure_with_prefix(where, done.diag());
    stage_difference.num_stages_run++;
    if (expected_.empty() && first_outputs_.empty()) return first_outputs_ = std::move(done->outputs), true;
    auto compared = compare_outputs(done->outputs, Recheck::Always);
    if (!compared) throw failure_with_prefix(where, compared.diag());
    // if no element of an array was compared, repeats without a recheck
    if (!std::ranges::all_of(*compared, &Comparison::has_compared_elements))
      compared = compare_outputs(done->outputs, Recheck::Never);
    bool passed = std::ranges::all_of(compared.value_or_throw(), &Comparison::has_passed);
    if (std::ranges::any_of(*compared, &Comparison::is_recheck_incomplete))
      throw failure_with_prefix(
          where, {.message = "differs, but the rerun that tells rounding from faults did not end in time",
                  .expected = "--timeout=S where it may take longer"});
    auto has_left_out = [](const Comparison& c) { return c.num_left_out > 0; };
    if (!passed || std::ranges::any_of(*compared, has_left_out)) stage_difference.comparisons = std::move(*compared);
    if (!passed) stage_difference.stage = name;
    return passed;
  }

  StageDifference stage_difference;

 private:
  Result<std::vector<Comparison>> compare_outputs(const Arrays& outputs, Recheck recheck) const {
    return reference_runner_.compare_arrays(input_.root, outputs, expected_.empty() ? first_outputs_ : expected_,
                                            options_.compare, recheck);
  }

  const InputGraph& input_;
  const RunOptions& options_;
  const Arrays &inputs_, &expected_;
  const ExecuteOptions ref_options_ = options_.device.ref_options_in_process();
  const ReferenceRunner reference_runner_{inputs_, options_.input.variables, ref_options_};
  Arrays first_outputs_;  // results of the input graph
};

// Copies the graph of `in`, because facts that REF caches in a graph may change rewrites.
std::unique_ptr<Pipeline> pipeline_of_copy(Session session, const InputGraph& in, const Target& target, bool recorded) {
  InputGraph copy = in;
  copy.graph = std::make_shared<Graph>(in.graph->settings()), copy.root = copy_into(*copy.graph, in.root);
  copy.graph->extension<ImportFacts>() = import_facts_of_input(in);
  copy.info.target = target.name();
  session.overrides.target.clear(), session.overrides.uses_recorded_pipeline |= recorded;
  return std::move(session.pipeline(std::move(copy)).value_or_throw());
}

}  // namespace

Result<StageDifference> run_stages(const Session& session, const InputGraph& in, const Target& target,
                                   const RunOptions& options, const Arrays& inputs, const Arrays& expected) {
  if (!in.list.empty())
    return Diag{.message = "a linear list has no stages before it", .expected = "a graph for --each-stage"};
  return catch_failures([&] {
    StageRunner runs(in, options, inputs, expected);
    ImportedGraph before{.graph = in.graph, .root = in.root};
    if (!runs.run_and_compare_stage("ast", before)) return std::move(runs.stage_difference);
    const auto pipeline = pipeline_of_copy(session, in, target, options.input.should_run_recorded);
    const auto rows = pipeline->rows().value_or_throw();
    for (const Pipeline::StageData& row : rows) {
      if (row.error) throw Failure(*row.error);
      if (!has_new_graph(row)) continue;
      auto graph = pipeline->imported_graph(row);
      if (!graph) {
        runs.stage_difference.refused_stages.push_back(std::string(row.stage->name) + ": " + graph.diag().message);
        continue;
      }
      // many recorded stages change only what the import changes as well, such as weak dtypes
      if (graph->list.empty() && graph->graph != before.graph && is_same_graph(before.root, graph->root))
        runs.stage_difference.num_stages_run++;
      else if (!runs.run_and_compare_stage(row.stage->name, *graph)) return std::move(runs.stage_difference);
      if (graph->list.empty()) before = std::move(*graph);
    }
    return std::move(runs.stage_difference);
  });
}

namespace {

Array copy_with_dtype(const Array& array, DType dtype, std::vector<int64_t> shape) {
  Array out(dtype, std::move(shape));
  std::copy_n(array.data(), std::min(array.nbytes(), out.nbytes()), out.data());
  return out;
}

}  // namespace

Arrays arrays_with_dtypes_of(const Arrays& arrays, const std::vector<BufferSpec>& buffers) {
  Arrays out;
  for (const NamedArray& a : arrays) {
    auto spec = std::ranges::find_if(buffers, [&](const BufferSpec& b) { return b.name() == a.name; });
    const bool changes = spec != buffers.end() && !(spec->dtype == a.array.dtype()) && spec->num_elements >= 0 &&
                         size_t(spec->num_elements * spec->dtype.itemsize()) == a.array.nbytes();
    out.push_back({a.name, changes ? copy_with_dtype(a.array, spec->dtype, {spec->num_elements}) : a.array.copy()});
  }
  return out;
}

}  // namespace tgc
