#include "lib/lsp/analysis.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "lib/compare/verify.h"
#include "lib/compilation/pipeline.h"
#include "lib/lsp/scan.h"
#include "lib/text/json_scan.h"
#include "lib/uop/wellformed.h"

namespace tgc {

namespace {

// Line and column are counted from 1. Returns at most the text's end.
size_t byte_offset(std::string_view text, uint32_t line, uint32_t column) {
  size_t at = 0;
  for (; line > 1 && at != text.npos; line--) at = text.find('\n', at) + 1 ? text.find('\n', at) + 1 : text.npos;
  return std::min(at == text.npos ? text.size() : at + (column ? column - 1 : 0), text.size());
}

// Returns the offset behind the word at `at`; without one, behind one character, except at the end of a line.
size_t end_of_word(std::string_view text, size_t at) {
  auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || uint8_t(c) >= 0x80;
  };
  size_t end = at;
  while (end < text.size() && is_word(text[end])) end++;
  return end > at || at == text.size() || text[at] == '\n' ? end : at + 1;
}

class SectionAnalyzer {
 public:
  SectionAnalyzer(SectionAnalysis& out, const GraphSection& section, std::string_view producer, bool is_tensor)
      : out_(out), section_(section), producer_(producer), is_tensor_(is_tensor) {}

  void run() {
    GraphReadReport report{.producer = producer_};
    auto read = read_graph_with_nodes(*out_.graph, out_.kind, out_.text, {}, report, out_.node_positions);
    node_places_ = std::move(report.places);
    out_.repro = report.repro;
    if (!read) return add_error(read.diag());
    out_.info = std::move(read->info);
    const bool is_list = !read->list.empty();
    out_.order = is_list ? std::move(read->list) : toposort(read->root);
    out_.is_tensor_graph =
        is_tensor_ || (section_.record_index == GraphSection::kNoRecord && looks_like_tensor_graph(read->root));
    // Notes say which facts the text omits. All listings omit the same facts.
    if (out_.kind != InputKind::Uops)
      for (const std::string& note : report.notes) add_problem(first_statement_range(), false, note);
    auto pipeline = make_recorded_pipeline({.graph = out_.graph, .root = out_.order.back(), .info = out_.info});
    if (!pipeline->has_ability(Ability::Specification)) return check_structure_only(is_list);
    out_.is_valid = !first_malformed_node(out_.order);
    using enum GraphSection::Part;
    const Spec spec = section_.part == Graph  ? find_fitting_spec(is_list, out_.is_tensor_graph, out_.info.stage)
                      : section_.part == List ? Spec::Program
                      : section_.part == Stage ? Spec::Full
                                               : find_fitting_spec(false, is_tensor_ && section_.part == Ast, "");
    auto invalid = first_invalid_node(out_.order, spec, is_list);
    if (!invalid) return;
    const std::string first_line = invalid->text.substr(0, invalid->text.find('\n'));
    add_problem(statement_range(invalid->node), true,
                "not a well-formed " + std::string(name_of(spec)) + " graph: " + first_line);
  }

 private:
  using Range = std::pair<size_t, size_t>;

  void check_structure_only(bool is_list) {
    const StructureReport report = check_structure(out_.order, is_list);
    constexpr size_t kMostProblems = 100;
    for (size_t i = 0; i < std::min(report.node_errors.size(), kMostProblems); i++)
      add_problem(statement_range(out_.order[report.error_positions[i]]), true, report.node_errors[i]);
    for (auto& [name, count] : report.unknown_names)
      add_problem(first_statement_range(), false, name + " is not known in " + out_.info.producer);
    out_.is_valid = report.ok();
  }

  void add_problem(Range range, bool is_error, std::string message) {
    out_.problems.push_back({range.first, range.second, is_error, std::move(message)});
  }

  void add_error(const Diag& diag) {
    const size_t at = byte_offset(out_.text, diag.line, diag.column);
    const std::string expected = diag.expected.empty() ? "" : ", expected " + diag.expected;
    if (!diag.line) return add_problem(first_statement_range(), true, diag.message + expected);
    add_problem({at, end_of_word(out_.text, at)}, true, diag.message + expected);
  }

  Range first_statement_range() const {
    if (out_.links.definitions.empty()) return {0, end_of_line(out_.text, 0)};
    const NodeDefinition& d = out_.links.definitions[0];
    return {d.begin, std::min(d.end, end_of_line(out_.text, d.begin))};
  }

  // Returns the statement that defines `node`; else the rest of the line at its place.
  Range statement_range(UOp node) const {
    auto it = std::ranges::find(out_.node_positions, node, &NodePosition::node);
    const size_t at = it == out_.node_positions.end() ? offset_of_node(node_places_, node.id()) : it->offset;
    for (const NodeDefinition& d : out_.links.definitions)
      if (d.begin == at) return {d.begin, d.end};
    return {at, std::min(out_.text.find('\n', at), out_.text.size())};
  }

  SectionAnalysis& out_;
  const GraphSection& section_;
  std::string_view producer_;
  bool is_tensor_;
  NodePlaces node_places_;
};

}  // namespace

UOp SectionAnalysis::defined_node(const NodeDefinition& d) const {
  auto it = std::ranges::lower_bound(node_positions, d.begin, {}, &NodePosition::offset);
  return it != node_positions.end() && it->offset == d.begin ? it->node : UOp();
}

UOp SectionAnalysis::node_at_offset(size_t at) const {
  auto target = links.link_target_at(at);
  if (!target) target = links.definition_around(at);
  if (target)
    if (UOp u = defined_node(links.definitions[*target])) return u;
  if (kind != InputKind::Repr) return {};
  // in a repr, take the last node whose UOp( begins at or before `at`
  auto next = std::ranges::upper_bound(node_positions, at, {}, &NodePosition::offset);
  return next == node_positions.begin() ? UOp() : (next - 1)->node;
}

const NodeDefinition* SectionAnalysis::definition_of_node(UOp node) const {
  auto it = std::ranges::find(node_positions, node, &NodePosition::node);
  if (it == node_positions.end()) return nullptr;
  auto d = std::ranges::find(links.definitions, it->offset, &NodeDefinition::begin);
  return d == links.definitions.end() ? nullptr : &*d;
}

std::shared_ptr<const SectionAnalysis> analyze_section(std::string text, const GraphSection& section,
                                                       std::string_view producer, bool is_tensor) {
  auto out = std::make_shared<SectionAnalysis>();
  out->kind = detect_input_kind(text);
  out->text = std::move(text);
  out->producer = producer;
  out->graph = std::make_shared<Graph>(Settings());
  out->links = find_links(out->kind, out->text);
  auto status = catch_failures([&] { return SectionAnalyzer(*out, section, producer, is_tensor).run(), Unit{}; });
  const size_t first_line = std::min(out->text.find('\n'), out->text.size());
  if (!status) out->problems.push_back({0, first_line, true, status.diag().message});
  return out;
}

namespace {

// Skips strings, comments, and names behind a dot.
template <class OnName>
void for_each_name(std::string_view text, size_t begin, size_t end, OnName&& on_name) {
  for (size_t at = begin; at < end;) {
    const char c = text[at];
    if (c == '#') at = end_of_line(text, at);
    else if (c == '\'' || c == '"') at = end_of_string(text, at);
    else if (is_name_char(c)) {
      const size_t stop = name_end(text, at);
      const bool is_attribute = at > begin && text[at - 1] == '.';
      if (is_name_start(c) && !is_attribute) on_name(at, stop);
      at = stop;
    } else at++;
  }
}

// Finds definitions ("c12 = ...", "def k0():") and uses in a pyrender text.
class PyrenderLinkFinder {
 public:
  PyrenderLinkFinder(std::string_view text, NodeLinks& out) : text_(text), out_(out), scopes_(1) {}

  void run() {
    for (size_t at = 0, end; at < text_.size(); at = end + 1) {
      end = end_of_line(text_, at);
      read_line(at, end);
    }
    for (size_t i = 1; i < scopes_.size(); i++)  // functions that are open at the text's end
      out_.definitions[scopes_[i].function_definition].end = end_before_blanks(text_, 0, text_.size());
  }

 private:
  struct Scope {
    size_t function_definition = 0;
    std::map<std::string_view, size_t> names = {};
  };

  void read_line(size_t at, size_t end) {
    while (at < end && text_[at] == ' ') at++;
    const size_t stop = at < end && is_name_start(text_[at]) ? name_end(text_, at) : at;
    const std::string_view word = text_.substr(at, stop - at);
    if (word == "def") {
      const size_t name = std::min(text_.find_first_not_of(' ', stop), end), name_stop = name_end(text_, name);
      scopes_.push_back({add_definition(name, name_stop, at, end)});
      return;
    }
    size_t equals = stop;
    while (equals < end && text_[equals] == ' ') equals++;
    const bool is_assignment = !word.empty() && equals < end && text_[equals] == '=' &&
                               (equals + 1 == text_.size() || text_[equals + 1] != '=');
    add_uses(is_assignment ? equals + 1 : at, end);
    if (is_assignment) scopes_.back().names[word] = add_definition(at, stop, at, end);
    if (word != "return" || scopes_.size() == 1) return;
    const size_t function_definition = scopes_.back().function_definition;
    scopes_.pop_back();
    NodeDefinition& d = out_.definitions[function_definition];
    d.end = end_before_blanks(text_, d.begin, end);
    scopes_.back().names[text_.substr(d.name_begin, d.name_end - d.name_begin)] = function_definition;
  }

  size_t add_definition(size_t name, size_t name_end, size_t begin, size_t end) {
    out_.definitions.push_back({std::string(text_.substr(name, name_end - name)), name, name_end, begin,
                                end_before_blanks(text_, begin, end)});
    return out_.definitions.size() - 1;
  }

  void add_uses(size_t begin, size_t end) {
    for_each_name(text_, begin, end, [&](size_t at, size_t stop) {
      const auto& names = scopes_.back().names;
      if (auto it = names.find(text_.substr(at, stop - at)); it != names.end())
        out_.links.push_back({at, stop, it->second});
    });
  }

  std::string_view text_;
  NodeLinks& out_;
  std::vector<Scope> scopes_;
};

// "x5:=UOp(...)" defines x5.
void find_repr_links(std::string_view text, NodeLinks& out) {
  std::map<std::string_view, size_t> names;
  for_each_name(text, 0, text.size(), [&](size_t at, size_t stop) {
    const std::string_view name = text.substr(at, stop - at);
    if (text.substr(stop, 2) == ":=") {
      names[name] = out.definitions.size();
      const size_t end = end_of_line(text, at);
      out.definitions.push_back({std::string(name), at, stop, stop + 2, end_before_blanks(text, at, end)});
    } else if (auto it = names.find(name); it != names.end()) {
      out.links.push_back({at, stop, it->second});
    }
  });
}

// Calls on_number(begin, end, value) for the numbers, outside of quotes, from `at` to a closing bracket. Returns the
// offset of the bracket, or `end`.
template <class OnNumber>
size_t for_each_list_number(std::string_view text, size_t at, size_t end, OnNumber&& on_number) {
  while (at < end && text[at] != ']') {
    if (text[at] == '\'' || text[at] == '"') at = end_of_string(text, at);
    else if (!is_digit(text[at])) at++;
    else {
      size_t value = 0;
      auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, value);
      const size_t begin = std::exchange(at, size_t(stop - text.data()));
      if (error == std::errc()) on_number(begin, at, value);
    }
  }
  return at;
}

// To be called at the end: a use may precede its definition.
void erase_undefined_links(NodeLinks& out) {
  std::erase_if(out.links, [&](const NodeLink& link) { return link.target >= out.definitions.size(); });
}

// Lines are "  12 Ops.ADD : RANGES DTYPE [3, '4', 7] ARG". A source that is a constant is shown by its value, in
// quotes.
void find_listing_links(std::string_view text, NodeLinks& out) {
  for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = end_of_line(text, begin);
    const size_t number = std::min(text.find_first_not_of(' ', begin), end);
    size_t stop = number;
    while (stop < end && is_digit(text[stop])) stop++;
    if (stop == number || text.substr(stop, 5) != " Ops.") continue;
    out.definitions.push_back({std::string(text.substr(number, stop - number)), number, stop, number,
                               end_before_blanks(text, number, end)});
    size_t open = stop;
    while (open < end && (text[open] != '[' || text[open - 1] == '\x1b')) open++;  // "\x1b[" begins a color
    for_each_list_number(text, std::min(open + 1, end), end,
                         [&](size_t b, size_t e, size_t n) { out.links.push_back({b, e, n}); });
  }
  erase_undefined_links(out);
}

// An object with the key "op" is a node; "src":[0,2], "list":[0,2] and {"uop":3} use nodes.
class JsonLinkFinder {
 public:
  JsonLinkFinder(std::string_view text, NodeLinks& out) : text_(text), out_(out) {}

  void run() {
    for (size_t at = 0; at < text_.size();) {
      if (text_[at] == '{') open_objects_.push_back({at, kNoDefinition});
      if (text_[at] == '}' && !open_objects_.empty()) {
        if (open_objects_.back().node != kNoDefinition) out_.definitions[open_objects_.back().node].end = at + 1;
        open_objects_.pop_back();
      }
      at = text_[at] == '"' ? read_string(at) : at + 1;
    }
    erase_undefined_links(out_);
  }

 private:
  static constexpr size_t kNoDefinition = SIZE_MAX;
  struct OpenObject {
    size_t begin;
    size_t node;   // kNoDefinition if the object is no node
  };

  // Returns the offset at which to continue.
  size_t read_string(size_t at) {
    const size_t end = end_of_string(text_, at);
    if (end >= text_.size() || text_[end] != ':') return end;
    const std::string_view key = text_.substr(at, end - at), value = text_.substr(end + 1, 1);
    auto add = [&](size_t b, size_t e, size_t n) { out_.links.push_back({b, e, n}); };
    if ((key == "\"src\"" || key == "\"list\"") && value == "[")
      return for_each_list_number(text_, end + 2, text_.size(), add);
    if (key == "\"op\"" && value == "\"" && !open_objects_.empty() && open_objects_.back().node == kNoDefinition) {
      const size_t value_end = end_of_string(text_, end + 1);
      open_objects_.back().node = out_.definitions.size();
      out_.definitions.push_back({std::to_string(out_.definitions.size()), end + 2, std::max(value_end, end + 3) - 1,
                                  open_objects_.back().begin, value_end});
    }
    size_t digits = end + 1;
    while (digits < text_.size() && is_digit(text_[digits])) digits++;
    if (key == "\"uop\"") for_each_list_number(text_, end + 1, digits, add);
    return end;
  }

  std::string_view text_;
  NodeLinks& out_;
  std::vector<OpenObject> open_objects_;
};

}  // namespace

std::optional<size_t> NodeLinks::link_target_at(size_t at) const {
  auto link = std::ranges::upper_bound(links, at, {}, &NodeLink::begin);
  if (link != links.begin() && at <= (link - 1)->end) return (link - 1)->target;
  for (size_t i = 0; i < definitions.size() && definitions[i].begin <= at; i++)
    if (at >= definitions[i].name_begin && at <= definitions[i].name_end) return i;
  return std::nullopt;
}

std::optional<size_t> NodeLinks::definition_around(size_t at) const {
  std::optional<size_t> out;
  for (size_t i = 0; i < definitions.size() && definitions[i].begin <= at; i++)
    if (at <= definitions[i].end) out = i;
  return out;
}

NodeLinks find_links(InputKind kind, std::string_view text) {
  NodeLinks out;
  switch (kind) {
    case InputKind::Repr: find_repr_links(text, out); break;
    case InputKind::Uops: find_listing_links(text, out); break;
    case InputKind::Json:
    case InputKind::Repro: JsonLinkFinder(text, out).run(); break;
    default: PyrenderLinkFinder(text, out).run();
  }
  return out;
}

}  // namespace tgc
