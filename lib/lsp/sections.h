// Finds the graphs in a document.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/records/golden.h"
#include "lib/records/read_graph.h"

namespace tgc {

// Bytes of a document; in a record, the content of a JSON string.
struct GraphSection {
  enum class Part : uint8_t { Graph, Ast, Stage, Kernel, List };
  static constexpr size_t kNoRecord = SIZE_MAX;

  size_t begin, end;
  Part part = Part::Graph;
  std::string name = {};       // in a record: "ast", the name of the stage, "kernel 2" or "linear"
  size_t record_index = kNoRecord;
};

struct RecordSection {
  size_t begin, end;
  std::string id, target;
  size_t first_section = 0, end_section = 0;  // indices in DocumentSections::sections
};

struct DocumentSections {
  InputKind kind = InputKind::Pyrender;
  std::vector<GraphSection> sections;
  std::vector<RecordSection> records;
  GoldenHeader header;
  size_t header_end = 0;
  std::vector<std::pair<size_t, Diag>> errors;  // first byte and error of unreadable lines
};

DocumentSections find_sections(std::string_view document);

class SectionText {
 public:
  SectionText(std::string_view document, const GraphSection& section);
  const std::string& text() const { return section_text_; }
  // document_offset() maps a byte of the text to the document; text_offset() does the reverse.
  size_t document_offset(size_t at) const;
  size_t text_offset(size_t at) const;

 private:
  std::string section_text_;
  // Offsets in the text and in the document: the beginning, and the place behind each JSON escape sequence.
  std::vector<std::pair<size_t, size_t>> offset_pairs_;
};

}  // namespace tgc
