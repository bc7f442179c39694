#include "lib/reduce/initial_case.h"

#include "lib/execute/executable.h"
#include "lib/run/repro_bundle.h"
#include "lib/text/pyrender.h"
#include "lib/uop/copy.h"
#include "lib/validate/input_distribution.h"
#include "passes/kernel/optimizer/apply_opts_stage.h"

namespace tgc {

Session without_overrides(const Session& session) {
  Session out = session;
  out.events = nullptr;
  out.over.target.clear(), out.over.opts.clear(), out.over.from.clear();
  return out;
}

TestCase initial_case(const Session& session, InputGraph& in, const RunOptions& options, bool runs_nowhere) {
  if (!in.list.empty()) throw Failure(Diag{.message = "this is a linear list", .file = in.file, .expected = "a graph"});
  if (!options.compare.reference.empty() || !options.compare.expect.empty())
    session.note("what is expected is what REF makes of the graph: of a smaller one nobody else knows");
  Placement place = std::move(placement_for(session, options.device.name, in).value_or_throw());
  TestCase out{.graph = std::make_shared<Graph>(in.graph->settings()),
               .info = in.info,
               .device = runs_nowhere ? "REF" : place.device_option()};
  if (place.target) out.info.target = place.target->name();
  if (session.compiler()->compiles(in)) out.info.settings.clear();  // the graph has tgc's
  out.root = copy_into(*out.graph, in.root);
  if (!session.over.opts.empty())
    out.root = with_opts(out.root, read_opts(*out.graph, session.over.opts, "--opts").value_or_throw());
  out.fault = std::move(fault_of_environment().value_or_throw());
  auto kernel = Executable::for_ref(in.root);
  if (!kernel) return out;
  std::string source;
  InputDistribution draw = input_distribution(in.root, options.input.seed.value_or(0));
  out.inputs =
      bundled(input_arrays(kernel->buffers(), given_inputs(options, in, source), source, draw).value_or_throw());
  return out;
}

}  // namespace tgc
