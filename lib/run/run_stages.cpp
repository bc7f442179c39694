#include "lib/run/run_stages.h"

#include <algorithm>

#include "lib/driver/compile_copy.h"
#include "lib/driver/import_input.h"
#include "lib/run/emulated_dtypes.h"
#include "lib/text/recorded_stages.h"
#include "lib/text/round_trip.h"
#include "lib/validate/reference_runner.h"

namespace tgc {

Failure failure_at(const std::string& where, Diag diag) {
  diag.message = where + ": " + diag.message;
  return Failure(std::move(diag));
}

namespace {

const GoldenRecord& record_of(const InputGraph& in) {
  if (!in.record)
    throw Failure(Diag{.message = "'" + in.info.name + "' has no recorded stages", .file = in.file,
                       .expected = "--native with --each-stage, or a record"});
  return *in.record;
}

// Reads and imports the recorded graph or list `text` after `stage` of an imported kernel. Recordings with rewrites
// hold graphs as JSON, others as Python text.
Result<InputGraph> import_recorded(const Session& session, const InputGraph& in, std::string_view text,
                                   const std::string& stage) {
  for (std::string_view instruction : {"Ops.INS", "X86Ops.", "\"INS\""})  // their registers are no text of a graph
    if (text.find(instruction) != text.npos)
      return Diag{.message = "machine instructions are listed, not executed, in " + imported_from(in).producer};
  InputGraph out;
  out.graph = std::make_shared<Graph>(in.graph->settings());
  out.text = text, out.file = in.file + " (" + stage + ")";
  out.report.producer = imported_from(in).producer;
  auto read = read_graph(*out.graph, detect_kind(text), text, out.file, &out.report);
  if (!read) return read.diag();
  out.root = read->root, out.list = std::move(read->list);
  out.info.producer = imported_from(in).producer;
  auto imported = import_input(session, std::move(out), true);
  if (imported && imported_from(*imported).refused) return *imported_from(*imported).refused;
  return imported;
}

std::vector<UOp> nodes_of(UOp root) { return toposort(root); }
std::span<const UOp> nodes_of(const std::vector<UOp>& list) { return list; }

}  // namespace

Result<InputGraph> last_recorded(const Session& session, const InputGraph& in) {
  std::string why = "the record has no list and no stage";
  const RecordedStages recorded(record_of(in));
  for (size_t i = recorded.size(); i-- > 0;) {
    const RecordedStage& s = recorded[i];
    const bool is_list = s.kind == RecordedStage::Kind::Output && s.name == "linear";
    if ((!is_list && s.kind != RecordedStage::Kind::Stage) || s.same || !s.text) continue;
    auto read = import_recorded(session, in, *s.text, s.name);
    if (read && (is_list || read->list.empty())) return read->info.stage = is_list ? "" : s.name, std::move(read);
    if (!read) why = s.name + ": " + read.diag().message;
  }
  return Diag{.message = "no recorded graph runs in REF: " + why, .file = in.file,
              .expected = "the kernel's device, or --emulate"};
}

Result<Execution> run_recorded_graph(const InputGraph& last, UOp ast, const Arrays& inputs, const RunOptions& options) {
  const Arrays own = with_dtypes_of(inputs, buffers_of(last.list.empty() ? toposort(last.root) : last.list));
  const ReferenceRunner ref(own, options.input.variables, options.device.execute_options(place_in_ref()));
  auto done = last.list.empty() ? ref.run(last.root) : ref.run(last.list);
  if (done) done->outputs = with_dtypes_of(done->outputs, buffers_of(toposort(ast)));
  return done;
}

StageDifference run_stages(const Session& session, const InputGraph& in, const Target& target,
                           const RunOptions& options, const Arrays& inputs, const Arrays& expected) {
  if (!in.list.empty())
    throw Failure(Diag{.message = "a linear list has no stages before it", .expected = "a graph for --each-stage"});
  StageDifference out;
  const ReferenceRunner ref(inputs, options.input.variables, options.device.execute_options(place_in_ref()));
  Arrays first;  // results of the input graph, which are expected if `expected` is empty
  // Runs `graph`, the graph after the stage `name`, in REF. Returns whether its results are as expected.
  auto is_same = [&](std::string_view name, const auto& graph) {
    const std::string where = "after '" + std::string(name) + "'";
    const Arrays as_stage = is_imported(in) ? with_dtypes_of(inputs, buffers_of(nodes_of(graph))) : Arrays();
    const ReferenceRunner ref_of_stage(is_imported(in) ? as_stage : inputs, options.input.variables,
                                       options.device.execute_options(place_in_ref()));
    auto done = ref_of_stage.run(graph);
    if (!done) throw failure_at(where, done.diag());
    if (is_imported(in)) done->outputs = with_dtypes_of(done->outputs, buffers_of(toposort(in.root)));
    out.stages_run++;
    if (expected.empty() && first.empty()) return first = std::move(done->outputs), true;
    const Arrays& wanted = expected.empty() ? first : expected;
    auto compared = ref.compare(in.root, done->outputs, wanted, options.compare);
    if (!compared) throw failure_at(where, compared.diag());
    auto is_left_out = [](const Comparison& c) { return c.left_out > 0 && c.left_out == c.size; };
    if (std::ranges::any_of(*compared, is_left_out))  // no element of an array was compared: repeat without a recheck
      compared = ref.compare(in.root, done->outputs, wanted, options.compare, Recheck::Never);
    auto has_left_out = [](const Comparison& c) { return c.left_out > 0; };
    bool passed = std::ranges::all_of(compared.value_or_throw(), &Comparison::passed);
    if (std::ranges::any_of(*compared, &Comparison::recheck_cut))
      throw failure_at(where, {.message = "differs, but the rerun that tells rounding from faults did not end in time",
                               .expected = "--timeout=S where it may take longer"});
    if (!passed || std::ranges::any_of(*compared, has_left_out)) out.arrays = std::move(*compared);
    if (!passed) out.stage = name;
    return passed;
  };
  if (!is_same("ast", in.root)) return out;
  if (is_imported(in) && !session.over.native) {
    std::optional<InputGraph> before;  // the last stage that ran
    for (const RecordedStage& s : RecordedStages(record_of(in))) {
      if (s.kind != RecordedStage::Kind::Stage || s.same || !s.text) continue;
      Result<InputGraph> stage = import_recorded(session, in, *s.text, s.name);
      // many stages change only what the import changes too, such as weak dtypes: their graphs need not run again
      const bool is_known = stage && stage->list.empty() && same_graph(before ? before->root : in.root, stage->root);
      if (is_known) out.stages_run++;
      else if (!stage) out.refused.push_back(s.name + ": " + stage.diag().message);
      else if (stage->list.empty() ? !is_same(s.name, stage->root) : !is_same(s.name, stage->list)) return out;
      if (stage && stage->list.empty()) before = std::move(*stage);
    }
    if (!in.record->linear) return out;
    Result<InputGraph> list = import_recorded(session, in, *in.record->linear, "linear");
    if (!list) out.refused.push_back("linear: " + list.diag().message);
    else is_same("linear", list->list);
    return out;
  }
  if (options.input.recorded) {
    for (const RecordedStage& s : RecordedStages(*in.record)) {
      if (s.kind != RecordedStage::Kind::Stage || s.same || !s.text) continue;
      auto recorded = load_text(in.graph->settings(), detect_kind(*s.text), *s.text, in.file + " (" + s.name + ")");
      const UOp root = recorded.value_or_throw().root;
      const std::span<const UOp> list = list_of_program(root);  // of the stage that compiles the kernel
      if (root.is(Op::PROGRAM) && list.empty()) continue;
      if (list.empty() ? !is_same(s.name, root) : !is_same(s.name, std::vector(list.begin(), list.end()))) return out;
    }
    return out;
  }

  Compilation compilation = compile_copy(session, in, target.name(), in.graph->settings());
  while (const StageRow* row = compilation.next()) {
    if (!row->is_graph_stage()) break;
    auto step = std::move(compilation.step().value_or_throw());
    if (!step.changed()) continue;
    if (!is_same(row->name, step.after)) return out;
  }
  auto& list = compilation.list();
  if (!list) throw Failure(list.diag());
  is_same("linear", *list);
  return out;
}

}  // namespace tgc
