#include "lib/compare/resume_check.h"

#include "lib/compilation/schedule_text.h"
#include "lib/records/round_trip.h"
#include "lib/text/formats.h"
#include "lib/text/print_uops.h"

namespace tgc {
namespace {

// Returns list and source of a kernel, kernels of a tensor graph, or the error.
std::string compilation_output(Compilation& c) {
  if (c.is_tensor_graph()) {
    auto& schedule = c.schedule();
    if (!schedule) return schedule.diag().message;
    auto kernels = golden_kernels(*schedule);
    return kernels ? kernels_text(*kernels, {}) : kernels.diag().message;
  }
  if (!c.list()) return c.list().diag().message;
  return print_uops(*c.list()) + (c.source() ? *c.source() : c.source().diag().message);
}

Result<Compilation> resume_from_format(const Compilation& c, GraphFormat format) {
  InputGraph in;
  in.graph = std::make_unique<Graph>(c.graph().settings());
  in.info = c.input_graph().info;
  in.info.stage = c.last_row() ? c.last_row()->name : "";
  in.is_tensor_graph = c.is_tensor_graph();
  auto root = round_trip_graph(format, c.last_row() ? c.current_graph() : c.input_graph().root, in.info, *in.graph);
  if (!root) return root.diag();
  in.root = *root;
  return Compilation::begin(std::move(in), c.spec());
}

}  // namespace

ResumeReport check_resume(const std::function<Result<Compilation>()>& begin) {
  ResumeReport report;
  auto whole = begin(), c = begin();
  if (!whole || !c) {
    report.failed_stage = "ast", report.difference = (!whole ? whole : c).diag().text();
    return report;
  }
  const std::string expected = compilation_output(*whole);
  const bool runs_on_from_ast_alone = c->is_tensor_graph();
  UOp checked;
  for (;;) {
    std::string_view stage = c->last_row() ? c->last_row()->name : "ast";
    for (GraphFormat format : {GraphFormat::Pyrender, GraphFormat::Repr, GraphFormat::Json}) {
      if (c->current_graph() == checked) break;
      auto copy = resume_from_format(*c, format);
      bool runs_on = copy && (!c->last_row() || !runs_on_from_ast_alone);
      std::string got = runs_on ? compilation_output(*copy) : "";
      if (copy && (!runs_on || got == expected)) {
        report.num_same++;
        continue;
      }
      report.failed_stage = stage;
      report.difference =
          std::string(name_of(format)) + ": " +
          (copy ? "it compiles to another result than the graph itself" : copy.diag().text());
      return report;
    }
    checked = c->current_graph();
    const StageRow* row = c->next_row();
    if (!row || !row->is_graph_stage() || !c->run_step()) return report;
  }
}

}  // namespace tgc
