#include "lib/driver/runtime_kernel.h"
#include "lib/records/read_graph.h"

#include <algorithm>

namespace tgc {
namespace {

bool is_volatile(UOp u) { return u.is(Op::PARAM) && u.arg().repr().find("volatile=True") != std::string::npos; }
bool is_unbounded_loop(UOp u) { return u.is(Op::RANGE) && u.dtype() == dtypes::void_; }

// tinygrad 0.14 stores an int in 4 bytes for another thread in a kernel of this name, which has no other mark.
bool is_signal(UOp sink) {
  return sink.is(Op::SINK) && !sink.tag().is_none() && sink.arg().repr().find("'signal_prog'") != std::string::npos;
}

}  // namespace

UOp call_through_data(UOp root) {
  for (UOp u : toposort(root))
    if (u.is(Op::CALL) && u.num_src() && u.src(0).dtype() != dtypes::void_) return u;
  return {};
}

bool is_runtime_kernel(const GoldenRecord& record, std::string_view producer) {
  if (record.runtime) return true;
  const std::string_view ast = record.ast;
  auto has = [&](std::string_view word) { return ast.find(word) != ast.npos; };
  // most records have none of these words, and are not parsed
  if (record.target.empty() || !(has("CALL") || has("volatile") || has("signal_prog"))) return false;
  Graph graph;
  ReadReport report{.take_malformed = true, .producer = producer};
  auto read = read_graph(graph, detect_kind(ast), ast, record.id, &report);
  if (!read) return false;
  const std::vector<UOp> nodes = toposort(read->root);
  return call_through_data(read->root) || is_signal(read->root) ||
         (std::ranges::any_of(nodes, is_volatile) && std::ranges::any_of(nodes, is_unbounded_loop));
}

}  // namespace tgc
