// What a well-formed graph is, as rule tables (tinygrad uop/spec.py): a node is good when the first rule of the table
// that has an opinion about it says so.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/rewrite/rules.h"
#include "lib/support/result.h"

namespace tgc {

// X(enumerator, name, what it is for)
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

// What a kernel's graph is held to after that stage: an AST ("ast", or none) to Kernel; stages make what no AST has.
inline Spec spec_after(std::string_view stage) {
  return stage.empty() || stage == "ast" ? Spec::Kernel : Spec::Full;
}

// Its rules, in order. An action answers with a verdict node; see `verdict`.
const RuleSet& rules_of(Spec spec);

struct SpecViolation {
  UOp node;
  size_t position;    // in the list that was verified
  const Rule* rule;   // that rejects it; null: no rule of the table accepts it
  std::string why = {};  // of what no rule of tinygrad's looks at
  std::string text() const;  // "node 3, Ops.ADD dtypes.float: ..." with its sources
};

// The first node of `nodes` that the table does not accept; nullopt when all are good.
// Throws nothing: a rule that fails rejects.
std::optional<SpecViolation> verify(std::span<const UOp> nodes, Spec spec);
// Of all nodes below `root`, sources first (tinygrad's type_verify).
std::optional<SpecViolation> verify_graph(UOp root, Spec spec);

}  // namespace tgc
