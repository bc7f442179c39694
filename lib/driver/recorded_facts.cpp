#include "lib/driver/recorded_facts.h"

#include "lib/records/read_graph.h"
#include "lib/uop/facts.h"

namespace tgc {

std::string recorded_device(const InputGraph& in) {
  if (!in.is_tensor_graph) return "";
  const bool is_sink = in.root.is(Op::SINK) && in.root.num_src() > 0;
  Arg device = device_of(is_sink ? in.root.src(0) : in.root);
  if (device.is_tuple() && !device.items().empty()) device = device.items()[0];  // several devices: take the first one
  if (!device.is_str()) return "";
  std::string name = target_of_device(device.text(), in.graph->settings());
  return name == "CPU" ? "" : name;
}

std::string shortened_first_line(std::string_view message) {
  constexpr size_t kMaxLineBytes = 200;
  const std::string_view line = message.substr(0, message.find('\n'));
  return std::string(line.substr(0, kMaxLineBytes)) + (line.size() > kMaxLineBytes ? "..." : "");
}

Status check_is_runnable(const InputGraph& in) {
  if (!in.record) return Unit{};
  const GoldenRecord& r = *in.record;
  const std::string what = (in.is_tensor_graph ? "the schedule '" : "the kernel '") + r.id + "'";
  std::string after = r.stages.empty() ? "" : " after the stage '" + r.stages.back().name + "'";
  if (!r.error_stage.empty()) after = " at the stage '" + r.error_stage + "'";
  if (r.error)
    return Diag{.message = "tinygrad did not finish " + what + after + ": " + shortened_first_line(*r.error),
                .file = in.file};
  if (in.is_tensor_graph || r.linear || r.source) return Unit{};
  return Diag{.message = what + " has no compiled kernel: neither a linear list nor a source was recorded" + after,
              .file = in.file,
              .expected = "a recording of a program that compiles the kernel; `tgc dump` shows the stages"};
}

namespace {

bool is_volatile(UOp u) { return u.is(Op::PARAM) && u.arg().repr().find("volatile=True") != std::string::npos; }
bool is_unbounded_loop(UOp u) { return u.is(Op::RANGE) && u.dtype() == dtypes::void_; }

// Returns true for tinygrad 0.14's signal_prog, which stores an int for another thread. Only its name and its tag
// distinguish this kernel from others.
bool is_signal(UOp sink) {
  return sink.is(Op::SINK) && !sink.tag().is_none() && sink.arg().repr().find("'signal_prog'") != std::string::npos;
}

}  // namespace

UOp find_call_of_value(UOp root) {
  for (UOp u : toposort(root))
    if (u.is(Op::CALL) && u.num_src() && u.src(0).dtype() != dtypes::void_) return u;
  return {};
}

bool is_runtime_kernel(const GoldenRecord& record, std::string_view producer) {
  if (record.is_of_runtime) return true;
  const std::string_view ast = record.ast;
  auto has = [&](std::string_view word) { return ast.find(word) != ast.npos; };
  // do not parse a record without these words: it cannot be a kernel of the runtime
  if (record.target.empty() || !(has("CALL") || has("volatile") || has("signal_prog"))) return false;
  Graph graph;
  GraphReadReport report{.accepts_malformed_graphs = true, .producer = producer};
  auto read = read_graph(graph, detect_input_kind(ast), ast, record.id, &report);
  if (!read) return false;
  const std::vector<UOp> nodes = toposort(read->root);
  return find_call_of_value(read->root) || is_signal(read->root) ||
         (std::ranges::any_of(nodes, is_volatile) && std::ranges::any_of(nodes, is_unbounded_loop));
}

bool is_runtime_kernel(const InputGraph& in) { return in.record && is_runtime_kernel(*in.record, in.info.producer); }

}  // namespace tgc
