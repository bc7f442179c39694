// Finds the graphs in a document. A document is a text of one or several graphs, a repro bundle, or a recording, whose
// records have graphs inside JSON strings.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/records/golden.h"
#include "lib/records/read_graph.h"

namespace tgc {

// The text of a graph: the bytes `begin` to `end` of a document. In a record, they are inside the quotes of a string.
struct Section {
  enum class Part : uint8_t { Graph, Ast, Stage, Kernel, List };
  static constexpr size_t kNoRecord = SIZE_MAX;

  size_t begin, end;
  Part part = Part::Graph;
  std::string name = {};       // of a record: "ast", the name of the stage, "kernel 2" or "linear"
  size_t record = kNoRecord;   // index into Sections::records
};

struct RecordSection {
  size_t begin, end;  // the line of the record
  std::string id, target;
  size_t first = 0, last = 0;  // the record's sections are list[first] to list[last - 1]
};

struct Sections {
  InputKind kind = InputKind::Pyrender;
  std::vector<Section> list;
  std::vector<RecordSection> records;
  GoldenHeader header;         // the header of a recording
  size_t header_end = 0;       // the end of the header's line
  std::vector<std::pair<size_t, Diag>> errors;  // unreadable lines of a recording: where they begin, and the error
};

Sections find_sections(std::string_view document);

// The decoded text of a section, with the way back to the bytes of the document.
class SectionText {
 public:
  SectionText(std::string_view document, const Section& section);
  const std::string& text() const { return text_; }
  // Return the byte of the document for a byte of the text, and the other way round.
  size_t in_document(size_t at) const;
  size_t in_text(size_t at) const;

 private:
  std::string text_;
  // bytes of the text and of the document: where the text begins, and behind each escape
  std::vector<std::pair<size_t, size_t>> pieces_;
};

}  // namespace tgc
