#include "lib/spec/spec.h"

#include <algorithm>

#include "lib/rewrite/hits.h"
#include "lib/rewrite/matcher.h"
#include "lib/spec/tables.h"

namespace tgc {
namespace {

constexpr std::string_view kNames[] = {
#define X(id, name, ...) name,
    TGC_SPECS(X)
#undef X
};

}  // namespace

std::string_view name_of(Spec spec) { return kNames[int(spec)]; }
std::span<const std::string_view> spec_names() { return kNames; }
std::optional<Spec> parse_spec(std::string_view name) {
  auto it = std::find(std::begin(kNames), std::end(kNames), name);
  return it == std::end(kNames) ? std::nullopt : std::optional(Spec(it - std::begin(kNames)));
}

const RuleSet& spec_rules_of(Spec spec) {
  switch (spec) {
    case Spec::Tensor: return tensor_spec();
    case Spec::Kernel: return kernel_spec();
    case Spec::Program: return program_spec();
    case Spec::Full: break;
  }
  return full_spec();
}

namespace {
struct VerdictNodes {
  UOp yes, no;
};
}  // namespace

// A verdict is a REWRITE_ERROR node. A rule cannot return the verified node itself, because the matcher treats a rule
// that returns the matched node as one that declined.
UOp verdict_node(UOp node, SpecAnswer answer) {
  if (answer == SpecAnswer::Decline) return {};
  Graph& g = node.graph();
  auto& verdicts = g.extension<VerdictNodes>();
  if (!verdicts.yes) {
    verdicts.yes = g.node(Op::REWRITE_ERROR, dtypes::void_, {}, g.str("verdict: yes"));
    verdicts.no = g.node(Op::REWRITE_ERROR, dtypes::void_, {}, g.str("verdict: no"));
  }
  return answer == SpecAnswer::Yes ? verdicts.yes : verdicts.no;
}

UOp call_allow_rule(const Rule&, const PatternMatch& m) { return verdict_node(m.root, SpecAnswer::Yes); }
UOp call_require_rule(const Rule& rule, const PatternMatch& m) {
  if (reinterpret_cast<bool (*)(UOp)>(rule.function)(m.root)) return verdict_node(m.root, SpecAnswer::Yes);
  note_declined_rule(rule);
  return verdict_node(m.root, SpecAnswer::No);
}
UOp call_decide_rule(const Rule& rule, const PatternMatch& m) {
  return verdict_node(m.root, reinterpret_cast<SpecAnswer (*)(UOp)>(rule.function)(m.root));
}

std::string SpecViolation::text() const {
  auto brief = [](UOp u) {
    std::string out = "Ops." + std::string(name_of(u.op())) + " " + std::string(u.dtype().repr());
    if (!u.arg().is_none()) out += " " + u.arg().repr();
    return out;
  };
  std::string out = "node " + std::to_string(node_position) + ", " + brief(node);
  if (!node.tag().is_none()) out += " tag=" + node.tag().repr();
  if (!reason.empty()) return out + ": " + reason;
  out += rule ? ": rejected by rule " + describe(*rule) : std::string(": no rule accepts it");
  for (size_t i = 0; i < node.num_src(); i++) out += "\n  source " + std::to_string(i) + ": " + brief(node.src(i));
  return out;
}

std::optional<SpecViolation> verify(std::span<const UOp> nodes, Spec spec) {
  if (nodes.empty()) return std::nullopt;
  const Matcher& matcher = spec_rules_of(spec).matcher();
  const UOp yes = verdict_node(nodes[0], SpecAnswer::Yes);
  for (size_t i = 0; i < nodes.size(); i++) {
    RuleHit hit;
    UOp answer;
    bool failed = false;
    try {
      answer = matcher.rewrite(nodes[i], nullptr, nullptr, hit);
    } catch (const Failure&) {
      failed = true;
    }
    // if no rule answered, hit.rule may be a rule that matched the node but declined
    if (!(answer == yes)) return SpecViolation{nodes[i], i, answer || failed ? hit.rule : nullptr};
  }
  return std::nullopt;
}

std::optional<SpecViolation> verify_graph(UOp root, Spec spec) { return verify(cached_toposort(root), spec); }

}  // namespace tgc
