#include "lib/bisect/rewrite_sides.h"

#include <algorithm>
#include <cmath>

#include "lib/compilation/rule_sources.h"
#include "lib/support/lines.h"
#include "lib/trace/trace_file.h"
#include "lib/uop/render.h"

namespace tgc {
namespace {

std::string unrepresentable_constant(UOp u) {
  std::vector<UOp> nodes{u};
  nodes.insert(nodes.end(), u.src().begin(), u.src().end());
  for (UOp c : nodes) {
    if (!c.in({Op::CONST, Op::VCONST}) || c.is_invalid() || c.dtype().is(Scalar::Index)) continue;
    std::vector<Arg> numbers{c.arg()};
    if (c.is(Op::VCONST)) numbers.assign(c.arg().items().begin(), c.arg().items().end());
    for (Arg n : numbers) {
      const Const number = n.to_const();
      if (number.is_invalid()) continue;
      const double v = number.to_double();
      bool is_whole = std::isfinite(v) && v == std::nearbyint(v);
      if (is_whole && truncate(number, c.dtype().scalar()).to_double() != v)
        return number.str() + " of " + std::string(c.dtype().scalar().repr());
    }
  }
  return "";
}

}  // namespace

std::string side_text(UOp u) {
  constexpr size_t kMostInLine = 400;
  const bool is_algebra = u.dtype().is(Scalar::Index) || dtypes::is_int(u.dtype()) || dtypes::is_bool(u.dtype());
  if (is_algebra && is_tree_within(u, kMostInLine))
    if (std::string text = render(u, false); text.size() < kMostInLine && text.find("Ops.") == text.npos) return text;
  return tree_text(u, 3);
}

std::string tree_text(UOp u, int depth) {
  constexpr size_t kMostLines = 16;
  const std::string tree = describe(u, depth);
  std::vector<std::string_view> lines = lines_of(tree);
  size_t indent = lines.empty() ? 0 : std::min(lines[0].find_first_not_of(' '), lines[0].size());
  std::string out;
  size_t shown = 0;
  for (size_t i = 0, next; i < lines.size(); i = next) {
    for (next = i + 1; next < lines.size() && lines[next] == lines[i];) next++;
    if (shown++ == kMostLines) return out + "\n... " + std::to_string(lines.size() - i) + " lines more";
    out += (out.empty() ? "" : "\n") + std::string(lines[i].substr(std::min(indent, lines[i].size())));
    if (next - i > 1) out += "  (" + std::to_string(next - i) + " times)";
  }
  return out;
}

void describe_rewrite(const Rewrite& a, Verdict& verdict) {
  const bool is_wrong_target = a.substitution_target && !(a.substitution_target == a.after);
  verdict.stage = a.stage ? a.stage->name : "";
  verdict.rule = a.rule->name;
  verdict.branch = a.branch ? a.branch : "";
  verdict.location = location_of_rule(*a.rule);
  verdict.tinygrad_location = tinygrad_source(*a.rule);
  verdict.rewrite_number = a.number_in_stage;
  verdict.before = side_text(is_wrong_target ? a.substitution_target : a.before);
  verdict.after = side_text(a.after);
  verdict.node_tree = describe(a.before);
}

std::string rewrite_text(const Rewrite& a) {
  return "number " + std::to_string(a.number_in_stage) + " of " + std::string(a.rule->name) + " in '" +
         std::string(a.stage->name) + "', " + location_of_rule(*a.rule);
}

std::string unrepresentable_constant(const Rewrite& a) {
  std::string out = unrepresentable_constant(a.before);
  return out.empty() && a.after ? unrepresentable_constant(a.after) : out;
}

std::string type_difference_text(const Rewrite& a) {
  const UOp before = a.substitution_target && !(a.substitution_target == a.after) ? a.substitution_target : a.before;
  if (before.dtype() == a.after.dtype())
    return "a part of the result has another number of elements than before";
  return "the result has dtype " + std::string(a.after.dtype().repr()) + ", before " +
         std::string(before.dtype().repr());
}

}  // namespace tgc
