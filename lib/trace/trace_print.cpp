#include "lib/trace/trace_print.h"

#include <algorithm>

#include "lib/records/golden.h"
#include "lib/rules/rule_catalog.h"
#include "lib/support/counted.h"
#include "lib/support/settings.h"
#include "lib/text/repr.h"
#include "lib/uop/render.h"

namespace tgc {
namespace {

constexpr size_t kMaxWidth = 200;
constexpr size_t kMaxInfix = 90;
// visiting so many nodes and sources takes a few seconds
constexpr size_t kMaxLookedAt = 100'000'000;

// In `pattern`, `*` matches any text.
bool matches_glob(std::string_view pattern, std::string_view text) {
  size_t star = pattern.find('*');
  if (star == pattern.npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  for (size_t skip = star; skip <= text.size(); skip++)
    if (matches_glob(pattern.substr(star + 1), text.substr(skip))) return true;
  return false;
}

std::string rule_location(const TraceRule& rule) { return std::string(rule.file) + ":" + std::to_string(rule.line); }

std::string time_text(uint64_t time_ns) {
  return time_ns == TraceCost::kUnknownTime ? "" : formatted("  %.2f us", double(time_ns) / 1e3);
}

bool is_leaf_value(UOp u) { return u.in({Op::CONST, Op::VCONST, Op::DEVICE}) && u.num_src() == 0; }

// Truncates a very long tuple.
std::string arg_text(UOp u) {
  const Arg a = printed_arg(u);
  if (!a.is_tuple()) return open_arg_str(u);
  if (a.items().size() <= kMaxWidth) return a.str();
  std::string out = "(";
  for (size_t i = 0; out.size() <= kMaxWidth; i++) out += a[i].repr() + ", ";
  return out;
}

constexpr OpSet kInfixOps = ops::Binary | OpSet{Op::WHERE, Op::CAST, Op::NEG};

}  // namespace

bool TraceFilter::is_rule_match(const TraceRule& r) const {
  return rule_pattern.empty() || matches_glob(rule_pattern, r.name) ||
         rule_location(r).find(rule_pattern) != std::string::npos;
}

bool TraceFilter::is_match(const TraceRule& r, UOp before) const {
  return is_rule_match(r) && (ops.empty() || before.in(ops));
}

Status check_rule_name(const TraceFilter& filter) {
  std::vector<std::string_view> names;
  for (const CatalogRule& r : catalog_rules()) {
    if (filter.is_rule_match({r.rule->name, short_file_name(*r.rule), r.rule->line})) return Unit{};
    names.push_back(r.rule->name);
  }
  std::string near = nearest_names_text(filter.rule_pattern, names);
  return Diag{.message = "no rule is called '" + filter.rule_pattern + "'",
              .expected = (near.empty() ? "" : near + ", or ") +
                          "a name that `tgc patterns` lists, or a part of its file:line"};
}

std::string trace_line_text(UOp u, const TraceConsumer& numbers) {
  auto name = [&](UOp s) { return is_leaf_value(s) ? arg_text(s) : "#" + std::to_string(numbers.node_number(s)); };
  std::string out = "#" + std::to_string(numbers.node_number(u)) + " = " + std::string(printed_op_name(u));
  if (u.dtype() != dtypes::void_) out += " " + std::string(u.dtype().repr());
  if (u.num_src()) {
    out += " (";
    for (size_t i = 0; i < u.num_src() && out.size() <= kMaxWidth; i++) out += (i ? ", " : "") + name(u.src(i));
    out += ")";
  }
  if (Arg a = printed_arg(u); !a.is_none() && out.size() <= kMaxWidth)
    out += " " + (a.is_tuple() ? arg_text(u) : node_arg_text(u));
  if (!u.tag().is_none()) out += " tag=" + u.tag().repr();
  if (out.size() > kMaxWidth) out = out.substr(0, kMaxWidth) + "...";
  if (u.in(kInfixOps) && is_tree_within(u, 40)) {
    std::string infix = render(u, false);
    if (infix.size() <= kMaxInfix) out += "    " + std::string(strip_parens(infix));
  }
  return out;
}

void TracePrinter::begin_kernel(std::string_view id, std::string_view target, UOp) {
  num_visited_ = 0;
  write_text_("=== kernel " + std::string(id) + (target.empty() ? "" : " for " + target_label(target)) + "\n");
}

void TracePrinter::user_operation(std::string_view what) { write_text_("    made for " + std::string(what) + "\n"); }

void TracePrinter::begin_stage(std::string_view name, UOp input) {
  max_node_number_ = std::max<int64_t>(max_node_number_, node_number(input));
  stage_name_ = name;
  write_text_("--- " + std::string(name) + "\n");
  num_shown_ = num_in_result_ = num_discarded_ = 0;
}

void TracePrinter::end_stage(UOp) {
  std::string line = "--- " + count_text(num_in_result_, "rewrite");
  if (num_discarded_) line += ", " + std::to_string(num_discarded_) + " more in discarded attempts";
  if (num_shown_ != num_in_result_ + num_discarded_) line += ", " + std::to_string(num_shown_) + " shown";
  write_text_(line + "\n");
}

Status TracePrinter::outcome() const {
  if (trace_filter_.node_number <= max_node_number_) return Unit{};
  const std::string last =
      max_node_number_ < 0 ? "the stage was not run" : "one up to #" + std::to_string(max_node_number_);
  return Diag{.message = "there is no node #" + std::to_string(trace_filter_.node_number), .expected = last};
}

void TracePrinter::begin_rewrite(const TraceRewrite& rewrite, int depth, UOp input) {
  if ((depth && !trace_filter_.includes_nested) || !rewrite.num_rules) return;
  bool own_set = rewrite.rule_set == rewrite.name || rewrite.name == stage_name_;
  write_text_(std::string(size_t(2 * depth), ' ') + "[" + std::string(rewrite.name) + ": " +
              count_text(rewrite.num_rules, "rule") + (own_set ? "" : " of " + std::string(rewrite.rule_set)) +
              " on #" + std::to_string(node_number(input)) + (rewrite.bottom_up ? ", bottom-up" : "") + "]\n");
}

void TracePrinter::on_rule_applied(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) {
  max_node_number_ = std::max({max_node_number_, int64_t(cost.end_made_node_number) - 1, int64_t(node_number(after))});
  if (depth && !trace_filter_.includes_nested) return;
  (is_discarded(rule) ? num_discarded_ : num_in_result_)++;
  if (!trace_filter_.is_match(rule, before)) return;
  if (trace_filter_.node_number >= 0) {
    auto n = uint32_t(trace_filter_.node_number);
    if (node_number(before) != n && node_number(after) != n &&
        !(n >= cost.first_made_node_number && n < cost.end_made_node_number))
      return;
  }
  num_shown_++;
  std::string indent(size_t(2 * depth), ' ');
  constexpr std::string_view kBold = "\x1b[1m", kPlain = "\x1b[0m";
  write_text_(indent + std::string(print_style_.uses_color ? kBold : "") + name_with_branch(rule) +
              std::string(print_style_.uses_color ? kPlain : "") +
              (rule.name == locations_of_rule(rule) ? "" : "  " + locations_of_rule(rule)) + time_text(cost.time_ns) +
              (print_style_.is_quiet
               ? "  #" + std::to_string(node_number(before)) + " -> #" + std::to_string(node_number(after))
               : "") +
              "\n");
  if (!print_style_.is_quiet) print_change(before, after, indent);
}

// Prints the changed nodes: both roots, and the nodes below only one of them, without constants, up to max_lines each.
// Before these, prints up to four unchanged sources of them.
void TracePrinter::print_change(UOp before, UOp after, const std::string& indent) {
  Graph& graph = before.graph();
  std::vector<UOp> gone{before}, come{after};
  std::vector<UOp> context;  // unchanged sources
  // beyond the limit, as in a stage that does not end, print only the roots
  if (num_visited_ <= kMaxLookedAt) {
    auto old_nodes = toposort(before), new_nodes = toposort(after);
    UOpSet in_old(graph), in_new(graph), printed(graph);
    for (UOp u : old_nodes) in_old.insert(u), num_visited_ += 1 + u.num_src();
    for (UOp u : new_nodes) in_new.insert(u), num_visited_ += 1 + u.num_src();
    if (num_visited_ > kMaxLookedAt)
      write_text_(indent + "  from here on, what comes and goes below a node is not shown: there is too much of it\n");
    auto only = [&](const std::vector<UOp>& nodes, const UOpSet& other, UOp root) {
      std::vector<UOp> out;
      for (UOp u : nodes)
        if (u == root || (!other.contains(u) && !is_leaf_value(u))) out.push_back(u);
      return out;
    };
    gone = only(old_nodes, in_new, before), come = only(new_nodes, in_old, after);
    for (auto* list : {&gone, &come})
      for (UOp u : *list)
        for (UOp s : u.src())
          if (context.size() < 4 && in_old.contains(s) && in_new.contains(s) && !is_leaf_value(s) && !(s == after) &&
              printed.insert(s))
            context.push_back(s);
  }
  for (UOp u : context) write_text_(indent + "      " + trace_line_text(u, *this) + "\n");
  auto list = [&](const std::vector<UOp>& nodes, std::string_view sign, std::string_view color) {
    size_t skip = nodes.size() > print_style_.max_lines ? nodes.size() - print_style_.max_lines : 0;
    if (skip) write_text_(indent + "  " + std::string(sign) + "   ... " + std::to_string(skip) + " more\n");
    for (size_t i = skip; i < nodes.size(); i++)
      write_text_(indent + "  " + (print_style_.uses_color ? std::string(color) : "") + std::string(sign) + "   " +
                  trace_line_text(nodes[i], *this) + (print_style_.uses_color ? "\x1b[0m" : "") + "\n");
  };
  list(gone, "-", "\x1b[31m");
  list(come, "+", "\x1b[32m");
}

}  // namespace tgc
