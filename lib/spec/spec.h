// tinygrad's graph specifications (uop/spec.py) as rule tables. The first rule that matches a node and does not decline
// accepts or rejects the node.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/rewrite/rules.h"
#include "lib/support/result.h"

namespace tgc {

// The specifications: X(enumerator, name, help text).
#define TGC_SPECS(X)                                                            \
  X(Tensor, "tensor", "the tensor graph, before it is scheduled")               \
  X(Kernel, "kernel", "the AST of a kernel, as it enters the pipeline")          \
  X(Program, "program", "a linear list, or the graph it is made of")             \
  X(Full, "full", "any node at any stage")

enum class Spec : uint8_t {
#define X(id, ...) id,
  TGC_SPECS(X)
#undef X
};
std::string_view name_of(Spec spec);
std::optional<Spec> parse_spec(std::string_view name);
std::span<const std::string_view> spec_names();

// Returns the specification of a kernel's graph after `stage`: Kernel for the AST ("" or "ast"); Full after any other
// stage, because stages make ops that an AST does not have.
inline Spec spec_after_stage(std::string_view stage) {
  return stage.empty() || stage == "ast" ? Spec::Kernel : Spec::Full;
}

// Returns the rules of `spec`, in order. A rule that accepts or rejects a node rewrites it to a verdict node (see
// verdict_node() in tables.h).
const RuleSet& spec_rules_of(Spec spec);

struct SpecViolation {
  UOp node;
  size_t node_position;
  const Rule* rule;          // the rule that rejected the node; null if there is none
  std::string reason = {};   // the reason, if verify_loops found the violation; else empty
  std::string text() const;  // returns "node 3, Ops.ADD dtypes.float: ..."; without `reason`, also the sources
};

// Returns the first of `nodes` that `spec` does not accept; nullopt if all are valid. A rule that throws a Failure
// rejects the node.
std::optional<SpecViolation> verify(std::span<const UOp> nodes, Spec spec);
// Verifies `root` and its transitive sources in toposort order (uop/spec.py:type_verify).
std::optional<SpecViolation> verify_graph(UOp root, Spec spec);

}  // namespace tgc
