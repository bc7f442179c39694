#include "lib/lsp/answers.h"

#include <algorithm>

#include "lib/lsp/analysis.h"
#include "lib/support/visible.h"
#include "lib/text/repr.h"
#include "lib/uop/facts.h"
#include "lib/uop/release.h"
#include "lib/uop/render.h"

namespace tgc {

namespace {

constexpr size_t kMostProblems = 1000;
enum SymbolKind { kModule = 2, kField = 8, kFunction = 12, kVariable = 13 };

struct DocumentSymbol {
  std::string name, detail;
  SymbolKind kind;
  size_t begin, end, name_begin, name_end;  // bytes of the document
};
template <class Children>
void write_symbol(JsonWriter& json, const OpenDocument& text, const DocumentSymbol& s, Children&& children) {
  json.object([&] {
    json.member("name", s.name.empty() ? "?" : visible_text(s.name));
    if (!s.detail.empty()) json.member("detail", visible_text(s.detail));
    json.member("kind", int(s.kind));
    write_range(json.key("range"), text.document(), s.begin, s.end);
    write_range(json.key("selectionRange"), text.document(), s.name_begin, s.name_end);
    if (s.kind == kModule) json.key("children").array([&] { children(); });
  });
}

void write_node_symbols(JsonWriter& json, OpenDocument& text, size_t index) {
  const ReadSection& read = text.read_section(index);
  const SectionAnalysis& a = *read.analysis;
  auto place = [&](size_t at) { return read.text.document_offset(at); };
  for (const NodeDefinition& d : a.links.definitions) {
    const UOp u = a.defined_node(d);
    const std::string what = u ? std::string(printed_op_name(u)) + " " + std::string(u.dtype().repr()) : "";
    const bool is_numbered = !d.name.empty() && d.name[0] >= '0' && d.name[0] <= '9';  // a node of JSON or a listing
    write_symbol(json, text,
                 {is_numbered && u ? d.name + " " + std::string(printed_op_name(u)) : d.name, what,
                  u ? kVariable : kFunction, place(d.begin), place(d.end), place(d.name_begin), place(d.name_end)},
                 [] {});
  }
}

}  // namespace

void write_position(JsonWriter& json, TextPosition p) {
  json.object([&] { json.member("line", p.line).member("character", p.utf16_column); });
}
void write_range(JsonWriter& json, const TextDocument& document, size_t begin, size_t end) {
  json.object([&] {
    write_position(json.key("start"), document.position(begin));
    write_position(json.key("end"), document.position(end));
  });
}

void write_diagnostics(JsonWriter& json, const OpenDocument& text) {
  size_t count = 0;
  const TextDocument& document = text.document();
  auto write = [&](bool is_error, const std::string& message, size_t begin, size_t end) {
    if (count++ >= kMostProblems) return;
    json.object([&] {
      write_range(json.key("range"), document, begin, end);
      json.member("severity", is_error ? 1 : 3).member("source", "tgc").member("message", visible_text(message));
    });
  };
  json.array([&] {
    for (auto& [begin, diag] : text.sections().errors) {
      const size_t at = std::min(begin + (diag.column ? diag.column - 1 : 0), document.text().size());
      const std::string expected = diag.expected.empty() ? "" : ", expected " + diag.expected;
      write(true, diag.message + expected, at, std::min(at + 1, document.text().size()));
    }
    for (size_t i = 0; i < text.problems_by_section().size(); i++) {
      if (text.problems_by_section()[i].empty()) continue;
      const SectionText places(document.text(), text.sections().sections[i]);
      for (const TextProblem& p : text.problems_by_section()[i])
        write(p.is_error, p.message, places.document_offset(p.begin), places.document_offset(p.end));
    }
  });
}

void write_location(JsonWriter& json, const std::string& uri, const OpenDocument& text, const ReadSection& read,
                    size_t begin, size_t end) {
  json.object([&] {
    json.member("uri", uri);
    write_range(json.key("range"), text.document(), read.text.document_offset(begin), read.text.document_offset(end));
  });
}

void write_document_symbols(JsonWriter& json, OpenDocument& text) {
  const DocumentSections& sections = text.sections();
  auto write = [&](const std::string& name, const std::string& detail, SymbolKind kind, auto& place, auto&& children) {
    write_symbol(json, text, {name, detail, kind, place.begin, place.end, place.begin, place.end}, children);
  };
  json.array([&] {
    for (const RecordSection& r : sections.records)
      write(r.id, r.target, kModule, r, [&] {
        for (size_t i = r.first_section; i < r.end_section; i++)
          write(sections.sections[i].name, "", kField, sections.sections[i], [] {});
      });
    if (text.is_recording()) return;
    for (size_t i = 0; i < sections.sections.size(); i++)
      if (sections.sections.size() == 1) write_node_symbols(json, text, i);
      else
        write("graph " + std::to_string(i), "", kModule, sections.sections[i],
              [&] { write_node_symbols(json, text, i); });
  });
}

void write_code_lenses(JsonWriter& json, const OpenDocument& text, const std::string& uri) {
  json.array([&] {
    for (size_t i = 0; i < text.num_graphs(); i++) {
      const size_t at = text.is_recording() ? text.sections().records[i].begin : text.sections().sections[i].begin;
      for (const LspCommand& c : kLspCommands)
        json.object([&] {
          write_range(json.key("range"), text.document(), at, at);
          json.key("command").object([&] {
            json.member("title", c.title).member("command", c.name);
            json.key("arguments").array([&] { json.value(uri).value(i); });
          });
        });
    }
  });
}

namespace {

constexpr size_t kLongest = 400;

std::string shorten_text(std::string text) {
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return visible_text(text);
}

std::string inline_code(const std::string& text) {
  std::string out = shorten_text(text);
  std::ranges::replace(out, '\n', ' ');
  return code_span(out);
}

std::string fact_line(std::string_view name, const std::string& value) {
  return "- " + std::string(name) + ": " + value + "\n";
}

// Leaves out facts that cannot be computed.
std::string fact_lines(const SectionAnalysis& a, UOp u) {
  std::string out;
  auto add = [&](auto&& make) {
    if (auto text = catch_failures(make)) out += *text;
  };
  add([&]() -> std::string {
    auto shape = shape_or_none(u);
    return shape ? fact_line("shape", inline_code(str(*shape))) : "";
  });
  add([&]() -> std::string {
    if (!dtypes::is_int(u.dtype()) && !dtypes::is_bool(u.dtype())) return "";
    return fact_line("values", inline_code(Arg(u.vmin()).str()) + " to " + inline_code(Arg(u.vmax()).str()));
  });
  add([&] {
    std::string list;
    for (UOp range : ranges_of(u)) {
      const NodeDefinition* d = a.definition_of_node(range);
      list +=
          (list.empty() ? "" : ", ") + inline_code((d ? d->name : "r" + range_str(range)) + ": " + range.arg().repr() +
                                                   " of " + (range.num_src() ? render(range.src(0)) : "?"));
    }
    return list.empty() ? "" : fact_line("ranges", list);
  });
  add([&] {
    Arg device = device_of(u);
    return device.is_none() ? "" : fact_line("device", inline_code(device.str()));
  });
  return out;
}

}  // namespace

std::string hover_text(const SectionAnalysis& a, UOp u, const std::string& origin) {
  std::string out = "**Ops." + escape_markdown(printed_op_name(u)) + "** " + inline_code(std::string(u.dtype().repr()));
  if (auto at = std::ranges::find(a.order, u); at != a.order.end())
    out += ", node " + std::to_string(at - a.order.begin()) + " of " + std::to_string(a.order.size());
  out += "\n\n";
  if (Arg arg = printed_arg(u); !arg.is_none())
    out += fact_line("arg", inline_code(node_arg_text(u)));
  if (!u.tag().is_none()) out += fact_line("tag", inline_code(u.tag().repr()));
  if (a.is_valid) out += fact_lines(a, u);
  if (!origin.empty()) out += fact_line("made by", origin);
  if (a.repro && a.repro->blamed_rewrite.contains("rule"))
    out += fact_line("this bundle blames", inline_code(a.repro->blamed_rewrite.at("rule")));
  return out;
}

std::string code_span(std::string_view text) {
  std::string out = visible_text(text);
  std::ranges::replace(out, '\n', ' ');
  size_t longest = 0, row = 0;
  for (char c : out) row = c == '`' ? row + 1 : 0, longest = std::max(longest, row);
  if (longest == 0 && !out.empty()) return "`" + out + "`";
  const std::string fence(longest + 1, '`');
  return fence + " " + out + " " + fence;
}

std::string escape_markdown(std::string_view text) {
  constexpr std::string_view kSpecial = "\\`*_{}[]<>()#+!|~&:.@";  // ':', '.' and '@' would make a web address a link
  constexpr std::string_view kWord = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
  if (text.find_first_not_of(kWord) == text.npos) return std::string(text);
  std::string out;
  for (char c : visible_text(text)) {
    if (kSpecial.find(c) != kSpecial.npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace tgc
