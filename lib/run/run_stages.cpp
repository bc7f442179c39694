#include "lib/run/run_stages.h"

#include <algorithm>

#include "lib/driver/compile_copy.h"
#include "lib/text/recorded_stages.h"
#include "lib/validate/compare_outputs.h"

namespace tgc {

Failure failure_at(const std::string& where, Diag diag) {
  diag.message = where + ": " + diag.message;
  return Failure(std::move(diag));
}

StageDifference run_stages(const Session& session, const InputGraph& in, const Target& target, const RunOptions& spec,
                           const Arrays& inputs, Arrays expected,
                           const std::function<ToleranceOptions(const Array& expected)>& tolerance) {
  if (!in.list.empty())
    throw Failure(Diag{.message = "a linear list has no stages before it", .expected = "a graph for --each-stage"});
  StageDifference out;
  Placement ref = place_in_ref();
  ExecuteOptions options{.in_process = spec.in_process, .timeout_seconds = spec.timeout_for(ref)};
  auto same = [&](std::string_view name, Executable kernel) {
    Arrays own = std::move(input_arrays(kernel.buffers(), inputs, "", std::nullopt).value_or_throw());
    auto done = execute(kernel, *ref.device, own, spec.variables, options);
    if (!done) throw failure_at("after '" + std::string(name) + "'", done.diag());
    out.stages_run++;
    if (expected.empty()) return expected = std::move(done->outputs), true;
    auto compared = judge({in.root, inputs, spec.variables, options}, done->outputs, expected, tolerance);
    if (!compared) throw failure_at("after '" + std::string(name) + "'", compared.diag());
    auto is_left_out = [](const Comparison& c) { return c.left_out > 0 && c.left_out == c.size; };
    if (std::ranges::any_of(*compared, is_left_out))  // which says nothing: as it is, then
      compared = judge({UOp(), inputs, spec.variables, options}, done->outputs, expected, tolerance);
    auto has_left_out = [](const Comparison& c) { return c.left_out > 0; };
    bool passed = std::ranges::all_of(compared.value_or_throw(), &Comparison::passed);
    if (!passed || std::ranges::any_of(*compared, has_left_out)) out.arrays = std::move(*compared);
    if (passed) return true;
    out.stage = name;
    return false;
  };
  if (!same("ast", std::move(Executable::for_ref(in.root).value_or_throw()))) return out;
  if (spec.recorded) {
    for (const RecordedStage& s : RecordedStages(*in.record)) {
      if (s.kind != RecordedStage::Kind::Stage || s.same || !s.text) continue;
      auto recorded = load_text(in.graph->settings(), InputKind::Pyrender, *s.text, in.file + " (" + s.name + ")");
      auto kernel = Executable::for_ref(recorded.value_or_throw().root);
      if (!kernel) throw failure_at("after '" + s.name + "'", kernel.diag());
      if (!same(s.name, std::move(*kernel))) return out;
    }
    return out;
  }

  Compilation compilation = compile_copy(session, in, target.name(), in.graph->settings());
  while (const StageRow* row = compilation.next()) {
    if (!row->is_graph_stage()) break;
    auto step = std::move(compilation.step().value_or_throw());
    if (!step.changed()) continue;
    auto kernel = Executable::for_ref(step.after);
    if (!kernel) throw failure_at("after '" + std::string(row->name) + "'", kernel.diag());
    if (!same(row->name, std::move(*kernel))) return out;
  }
  auto& list = compilation.list();
  if (!list) throw Failure(list.diag());
  same("linear", std::move(Executable::for_ref(*list).value_or_throw()));
  return out;
}

}  // namespace tgc
