#include "lib/lsp/analysis.h"

#include <algorithm>

#include "lib/compare/verify.h"
#include "lib/compilation/pipeline.h"
#include "lib/text/json_scan.h"
#include "lib/uop/wellformed.h"

namespace tgc {
namespace {

// Returns the byte of a line and column, which count from 1.
size_t byte_of(std::string_view text, uint32_t line, uint32_t column) {
  size_t at = 0;
  for (; line > 1 && at != text.npos; line--) at = text.find('\n', at) + 1 ? text.find('\n', at) + 1 : text.npos;
  return std::min(at == text.npos ? text.size() : at + (column ? column - 1 : 0), text.size());
}

// Returns the end of the word that begins at `at`, or of the one character there.
size_t end_of_word(std::string_view text, size_t at) {
  auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || uint8_t(c) >= 0x80;
  };
  size_t end = at;
  while (end < text.size() && is_word(text[end])) end++;
  return end > at || at == text.size() || text[at] == '\n' ? end : at + 1;
}

class Analyzer {
 public:
  Analyzer(Analysis& out, const Section& section, std::string_view producer, bool is_tensor)
      : out_(out), section_(section), producer_(producer), is_tensor_(is_tensor) {}

  void run() {
    ReadReport report{.producer = producer_};
    auto read = read_graph_with_nodes(*out_.graph, out_.kind, out_.text, {}, report, out_.nodes);
    places_ = std::move(report.places);
    out_.repro = report.repro;
    if (!read) return add_error(read.diag());
    out_.info = std::move(read->info);
    const bool is_list = !read->list.empty();
    out_.order = is_list ? std::move(read->list) : toposort(read->root);
    out_.is_tensor_graph = is_tensor_ || (section_.record == Section::kNoRecord && looks_like_tensor_graph(read->root));
    if (section_.part != Section::Part::List)  // tinygrad's listings always lose the same facts
      for (const std::string& note : report.notes) add(first_statement(), false, note);
    auto pipeline = recorded_pipeline({.graph = out_.graph, .root = out_.order.back(), .info = out_.info});
    if (!pipeline->can(Ability::Specification)) return check_structure_only(is_list);
    out_.is_valid = !first_malformed(out_.order);
    using enum Section::Part;
    const Spec spec = section_.part == Graph  ? fitting_spec(is_list, out_.is_tensor_graph, out_.info.stage)
                      : section_.part == List ? Spec::Program
                      : section_.part == Stage ? Spec::Full
                                               : fitting_spec(false, is_tensor_ && section_.part == Ast, "");
    auto invalid = first_invalid(out_.order, spec, is_list);
    if (!invalid) return;
    const std::string first_line = invalid->text.substr(0, invalid->text.find('\n'));
    add(range_of(invalid->node), true, "not a well-formed " + std::string(name_of(spec)) + " graph: " + first_line);
  }

 private:
  using Range = std::pair<size_t, size_t>;

  void check_structure_only(bool is_list) {
    const StructureReport report = check_structure(out_.order, is_list);
    constexpr size_t kMostProblems = 100;
    for (size_t i = 0; i < std::min(report.wrong.size(), kMostProblems); i++)
      add(range_of(out_.order[report.positions[i]]), true, report.wrong[i]);
    for (auto& [name, count] : report.not_known)
      add(first_statement(), false, name + " is not known in " + out_.info.producer);
    out_.is_valid = report.ok();
  }

  void add(Range range, bool is_error, std::string message) {
    out_.problems.push_back({range.first, range.second, is_error, std::move(message)});
  }

  void add_error(const Diag& diag) {
    const size_t at = byte_of(out_.text, diag.line, diag.column);
    const std::string expected = diag.expected.empty() ? "" : ", expected " + diag.expected;
    if (!diag.line) return add(first_statement(), true, diag.message + expected);
    add({at, end_of_word(out_.text, at)}, true, diag.message + expected);
  }

  Range first_statement() const {
    if (!out_.links.definitions.empty()) return {out_.links.definitions[0].begin, out_.links.definitions[0].end};
    return {0, std::min(out_.text.find('\n'), out_.text.size())};
  }

  // Returns the bytes of the statement that makes `node`.
  Range range_of(UOp node) const {
    auto it = std::ranges::find(out_.nodes, node, &NodeAt::node);
    const size_t at = it == out_.nodes.end() ? place_of(places_, node.id()) : it->at;
    for (const Definition& d : out_.links.definitions)
      if (d.begin == at) return {d.begin, d.end};
    return {at, std::min(out_.text.find('\n', at), out_.text.size())};
  }

  Analysis& out_;
  const Section& section_;
  std::string_view producer_;
  bool is_tensor_;
  Places places_;
};

}  // namespace

UOp Analysis::node_of(const Definition& d) const {
  auto it = std::ranges::lower_bound(nodes, d.begin, {}, &NodeAt::at);
  return it != nodes.end() && it->at == d.begin ? it->node : UOp();
}

UOp Analysis::node_at(size_t at) const {
  auto target = links.target_at(at);
  if (!target) target = links.definition_around(at);
  if (target)
    if (UOp u = node_of(links.definitions[*target])) return u;
  if (kind != InputKind::Repr) return {};
  auto next = std::ranges::upper_bound(nodes, at, {}, &NodeAt::at);  // of a repr, the last UOp( that begins before
  return next == nodes.begin() ? UOp() : (next - 1)->node;
}

const Definition* Analysis::definition_of(UOp node) const {
  auto it = std::ranges::find(nodes, node, &NodeAt::node);
  if (it == nodes.end()) return nullptr;
  auto d = std::ranges::find(links.definitions, it->at, &Definition::begin);
  return d == links.definitions.end() ? nullptr : &*d;
}

std::shared_ptr<const Analysis> analyze(std::string text, const Section& section, std::string_view producer,
                                        bool is_tensor) {
  auto out = std::make_shared<Analysis>();
  out->kind = detect_kind(text);
  out->text = std::move(text);
  out->graph = std::make_shared<Graph>(Settings());
  out->links = find_links(out->kind, out->text);
  auto status = catch_failures([&] { return Analyzer(*out, section, producer, is_tensor).run(), Unit{}; });
  const size_t first_line = std::min(out->text.find('\n'), out->text.size());
  if (!status) out->problems.push_back({0, first_line, true, status.diag().message});
  return out;
}

}  // namespace tgc
