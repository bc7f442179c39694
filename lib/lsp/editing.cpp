#include <algorithm>
#include <ranges>

#include "lib/lsp/features.h"
#include "lib/lsp/scan.h"
#include "lib/support/visible.h"
#include "lib/uop/release.h"

namespace tgc {

namespace {

constexpr std::string_view kOps[] = {
#define RELEASE(name)
#define OP(name) #name,
#define NAME(name)
#define CLASS(name, fields)
#include "lib/uop/releases.def"
#undef OP
#undef NAME
};
constexpr std::string_view kMembers[] = {  // such as "dtypes.half" and "AxisType.LOOP"
#define OP(name)
#define NAME(name) name,
#include "lib/uop/releases.def"
#undef RELEASE
#undef OP
#undef NAME
#undef CLASS
};

class Completer {
 public:
  Completer(const SectionAnalysis& a, size_t at) : analysis_(a), text_(a.text), release_(release_of_text()) {
    out_.begin = out_.end = std::min(at, text_.size());
    while (out_.begin > 0 && is_name_char(text_[out_.begin - 1])) out_.begin--;
    typed_prefix_ = text_.substr(out_.begin, out_.end - out_.begin);
  }

  CompletionList run() {
    const std::string_view before = text_.substr(0, out_.begin);
    const bool is_json = analysis_.kind == InputKind::Json || analysis_.kind == InputKind::Repro;
    if (!is_json && is_in_string_or_comment()) return std::move(out_);
    if (before.ends_with('.')) {
      size_t begin = before.size() - 1;
      while (begin > 0 && is_name_char(text_[begin - 1])) begin--;
      add_members(before.substr(begin));
    } else if (is_json) {
      if (before.ends_with("\"op\":\"")) add_ops();
      else if (before.ends_with("\"dtype\":\"")) add_members("", "dtypes.");
    } else if (analysis_.kind != InputKind::Uops && !is_at_definition()) {
      add_visible_names();
      for (const char* name : {"UOp", "Ops", "dtypes", "AxisType"}) add_item({name, CompletionItem::Kind::Class});
    }
    return std::move(out_);
  }

 private:
  Release release_of_text() const {
    std::string producer = analysis_.info.producer;
    if (producer.empty()) producer = read_graph_info(analysis_.kind, text_).producer;
    if (producer.empty()) producer = analysis_.producer;
    return producer.empty() ? Release::Other : release_of(producer);
  }

  void add_item(CompletionItem c) {
    constexpr size_t kMostCompletions = 200;
    if (!std::string_view(c.label).starts_with(typed_prefix_)) return;
    if (out_.completions.size() == kMostCompletions) return void(out_.is_incomplete = true);
    if (std::ranges::find(out_.completions, c.label, &CompletionItem::label) == out_.completions.end())
      out_.completions.push_back(std::move(c));
  }

  bool is_in_release(std::string_view member) const { return release_ == Release::Other || has_name(release_, member); }

  void add_ops() {
    for (std::string_view op : kOps)
      if (release_ == Release::Other || has_op(release_, op))
        add_item({std::string(op), CompletionItem::Kind::Op});
  }

  // The labels lack `qualifier`, such as "dtypes.".
  void add_members(std::string_view qualifier, std::string_view only = "") {
    if (qualifier == "Ops.") return add_ops();
    for (std::string_view name : kMembers)
      if (name.starts_with(qualifier) && name.starts_with(only) && is_in_release(name))
        add_item({std::string(name.substr(qualifier.size())),
                  name.starts_with("dtypes.") ? CompletionItem::Kind::Type : CompletionItem::Kind::Op});
  }

  // Adds the names that are defined before the completed place, and visible there.
  void add_visible_names() {
    std::vector<const NodeDefinition*> functions;
    std::vector<std::vector<const NodeDefinition*>> visible(1);
    auto leave_functions = [&](size_t at) {
      for (; !functions.empty() && functions.back()->end < at; functions.pop_back()) visible.pop_back();
    };
    for (const NodeDefinition& d : analysis_.links.definitions) {
      if (d.begin >= out_.begin) break;
      leave_functions(d.begin);
      if (d.end < out_.begin || is_function(d)) visible.back().push_back(&d);  // excludes the edited statement
      if (!is_function(d)) continue;
      functions.push_back(&d);
      visible.emplace_back();
    }
    leave_functions(out_.begin);
    for (const NodeDefinition* d : visible.back() | std::views::reverse) {
      const UOp node = analysis_.defined_node(*d);
      add_item({d->name, is_function(*d) ? CompletionItem::Kind::Function : CompletionItem::Kind::Name,
                node ? std::string(printed_op_name(node)) + " " + std::string(node.dtype().repr()) : ""});
    }
  }

  bool is_function(const NodeDefinition& d) const { return text_.substr(d.begin, 4) == "def "; }

  bool is_in_string_or_comment() const {
    for (const SemanticToken& t : tokens_of_text(analysis_))
      if (t.begin < out_.end && out_.end <= t.end &&
          (t.kind == SemanticToken::Kind::Comment || (t.kind == SemanticToken::Kind::String && out_.end < t.end)))
        return true;
    return false;
  }

  bool is_at_definition() const {
    return std::ranges::any_of(analysis_.links.definitions,
                               [&](const NodeDefinition& d) { return d.name_begin == out_.begin; });
  }

  const SectionAnalysis& analysis_;
  std::string_view text_, typed_prefix_;
  Release release_;
  CompletionList out_;
};

std::string replace_ranges(const std::string& text, std::vector<std::pair<size_t, size_t>> places,
                           std::string_view name) {
  std::ranges::sort(places);
  std::string out;
  size_t done = 0;
  for (auto [begin, end] : places) {
    out.append(text, done, begin - done).append(name);
    done = end;
  }
  return out.append(text, done);
}

}  // namespace

CompletionList completions_at_offset(const SectionAnalysis& analysis, size_t at) {
  return Completer(analysis, at).run();
}

Result<std::vector<std::pair<size_t, size_t>>> name_ranges(const SectionAnalysis& a, size_t at) {
  const auto target = a.links.link_target_at(at);
  if (!target) return Diag{"there is no name of a node here"};
  if (a.kind != InputKind::Pyrender && a.kind != InputKind::Repr)
    return Diag{"the nodes of this text have numbers, not names"};
  const NodeDefinition& d = a.links.definitions[*target];
  std::vector<std::pair<size_t, size_t>> out{{d.name_begin, d.name_end}};
  for (const NodeLink& link : a.links.links)
    if (link.target == *target) out.push_back({link.begin, link.end});
  return out;
}

Result<Unit> check_renaming(const SectionAnalysis& a, const std::vector<std::pair<size_t, size_t>>& places,
                            std::string_view name) {
  const std::string shown = "'" + visible_text(std::string(name)) + "'";
  if (name.empty() || !is_name_start(name[0]) || name_end(name, 0) != name.size())
    return Diag{shown + " is not a name: a name has letters, digits and underscores"};
  if (std::ranges::find(a.links.definitions, name, &NodeDefinition::name) != a.links.definitions.end())
    return Diag{shown + " is already a name in this graph"};
  const std::string text = replace_ranges(a.text, places, name);
  const NodeLinks links = find_links(a.kind, text);
  if (!std::ranges::equal(links.links, a.links.links, {}, &NodeLink::target, &NodeLink::target) ||
      links.definitions.size() != a.links.definitions.size())
    return Diag{shown + " has another meaning in this text"};
  if (a.order.empty()) return Unit{};  // there is no graph to compare with
  GraphReadReport report{.producer = a.producer};
  std::vector<NodePosition> nodes;
  auto read = read_graph_with_nodes(*a.graph, a.kind, text, {}, report, nodes);
  if (!read) return Diag{shown + " cannot be the name: " + read.diag().message};
  if (read->root != a.order.back()) return Diag{"with the name " + shown + ", the text is another graph"};
  return Unit{};
}

}  // namespace tgc
