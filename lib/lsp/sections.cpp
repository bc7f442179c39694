#include "lib/lsp/sections.h"

#include <algorithm>

#include "lib/records/graph_texts.h"
#include "lib/text/json_scan.h"

namespace tgc {
namespace {

class RecordScanner {
 public:
  RecordScanner(std::string_view line, size_t begin, DocumentSections& out)
      : scanner_(line), record_begin_(begin), out_(out) {}

  void run() {
    RecordSection record{record_begin_, record_begin_, {}, {}, out_.sections.size()};
    scanner_.object([&](std::string_view key) {
      if (key == "id") record.id = scanner_.string();
      else if (key == "target") record.target = scanner_.string();
      else if (key == "ast") add_section(GraphSection::Part::Ast, "ast");
      else if (key == "ast_full") add_section(GraphSection::Part::Ast, "full");
      else if (key == "linear") add_section(GraphSection::Part::List, "linear");
      else if (key == "stages") scanner_.array([&] { read_stage(); });
      else if (key == "kernels") scanner_.array([&] { read_kernel(); });
      else scanner_.skip_any();
    });
    auto is_ast = [](const GraphSection& s) { return s.part == GraphSection::Part::Ast; };
    const auto first = out_.sections.begin() + ptrdiff_t(record.first_section);
    if (std::count_if(first, out_.sections.end(), is_ast) == 2)
      out_.sections.erase(
          std::find_if(first, out_.sections.end(), [&](auto& s) { return is_ast(s) && s.name == "ast"; }));
    for (auto s = out_.sections.begin() + ptrdiff_t(record.first_section); s != out_.sections.end(); ++s)
      if (is_ast(*s)) s->name = "ast";
    record.end_section = out_.sections.size();
    out_.records.push_back(std::move(record));
  }

 private:
  // Skips the next JSON value; adds a section if it is a string that is not empty.
  void add_section(GraphSection::Part part, std::string name) {
    const bool is_text = scanner_.peek_type() == JsonScanner::Type::String;
    const size_t at = record_begin_ + scanner_.position();
    const std::string_view raw = scanner_.skip_any();
    if (!is_text || raw.size() < 3) return;
    out_.sections.push_back({at + 1, at + raw.size() - 1, part, std::move(name), out_.records.size()});
  }

  void read_stage() {
    const size_t first = out_.sections.size();
    std::string name;
    scanner_.object([&](std::string_view key) {
      if (key == "name") name = scanner_.string();
      else if (key == "ir") add_section(GraphSection::Part::Stage, "ir");
      else if (key == "full") add_section(GraphSection::Part::Stage, "full");
      else scanner_.skip_any();
    });
    if (out_.sections.size() == first + 2)
      out_.sections.erase(out_.sections.begin() + ptrdiff_t(first) + (is_full_graph(first) ? 1 : 0));
    for (size_t i = first; i < out_.sections.size(); i++) out_.sections[i].name = name;
  }
  bool is_full_graph(size_t i) const { return out_.sections[i].name == "full"; }

  void read_kernel() {
    scanner_.object([&](std::string_view key) {
      if (key == "ast") add_section(GraphSection::Part::Kernel, "kernel " + std::to_string(num_kernels_++));
      else scanner_.skip_any();
    });
  }

  JsonScanner scanner_;
  size_t record_begin_, num_kernels_ = 0;
  DocumentSections& out_;
};

void find_records(std::string_view document, DocumentSections& out) {
  bool has_header = false;
  for (size_t begin = 0; begin < document.size();) {
    const size_t end = std::min(document.find('\n', begin), document.size());
    const std::string_view line = document.substr(begin, end - begin);
    if (line.find_first_not_of(" \t\r") != line.npos) {
      const size_t sections = out.sections.size(), records = out.records.size();
      auto status = catch_failures([&] {
        if (has_header) return RecordScanner(line, begin, out).run(), Unit{};
        out.header = std::move(parse_golden_header({std::string(line), 1}, "").value_or_throw());
        out.header_end = end;
        return Unit{};
      });
      has_header = true;
      if (!status) {
        out.errors.push_back({begin, status.diag()});
        out.sections.resize(sections, {0, 0}), out.records.resize(records, {0, 0, {}, {}});
      } else if (!out.records.empty() && out.records.size() > records) {
        out.records.back().end = end;
      }
    }
    begin = end + 1;
  }
}

}  // namespace

DocumentSections find_sections(std::string_view document) {
  DocumentSections out{.kind = detect_input_kind(document)};
  if (out.kind == InputKind::Golden) {
    find_records(document, out);
  } else if (out.kind != InputKind::Onnx && document.find_first_not_of(" \t\r\n") != document.npos) {
    if (out.kind != InputKind::Json && out.kind != InputKind::Repro)
      for (const GraphText& g : find_graph_texts(document).graph_texts) out.sections.push_back({g.begin, g.end});
    if (out.sections.empty()) out.sections.push_back({0, document.size()});
  }
  return out;
}

SectionText::SectionText(std::string_view document, const GraphSection& section) {
  const std::string_view raw = document.substr(section.begin, section.end - section.begin);
  offset_pairs_.push_back({0, section.begin});
  if (section.record_index == GraphSection::kNoRecord) {
    section_text_ = raw;
    return;
  }
  for (size_t at = 0; at < raw.size();) {
    const size_t escape = std::min(raw.find('\\', at), raw.size());
    section_text_ += raw.substr(at, escape - at);
    if (escape == raw.size()) break;
    // "\u1234" has six bytes; a character beyond U+FFFF has two of them
    size_t end = escape + (raw.substr(escape, 2) == "\\u" ? 6 : 2);
    if (raw.substr(escape, 3) == "\\ud" || raw.substr(escape, 3) == "\\uD")
      if (raw.substr(end, 2) == "\\u") end += 6;
    end = std::min(end, raw.size());
    auto decoded = catch_failures([&] {
      const std::string quoted = "\"" + std::string(raw.substr(escape, end - escape)) + "\"";
      return JsonScanner(quoted).string();
    });
    section_text_ += decoded ? *decoded : "?";
    at = end;
    offset_pairs_.push_back({section_text_.size(), section.begin + at});
  }
}

size_t SectionText::document_offset(size_t at) const {
  const auto piece = std::ranges::upper_bound(offset_pairs_, at, {}, &std::pair<size_t, size_t>::first) - 1;
  return piece->second + (at - piece->first);
}

size_t SectionText::text_offset(size_t at) const {
  auto piece = std::ranges::upper_bound(offset_pairs_, at, {}, &std::pair<size_t, size_t>::second);
  if (piece == offset_pairs_.begin()) return 0;
  const size_t end = piece == offset_pairs_.end() ? section_text_.size() : piece->first;
  piece--;
  return std::min(piece->first + (at - piece->second), end);
}

}  // namespace tgc
