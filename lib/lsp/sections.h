// find_sections() finds the graphs in a document: a text of one or several graphs, a repro bundle, or a recording,
// whose records have graphs in JSON strings.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/records/golden.h"
#include "lib/records/read_graph.h"

namespace tgc {

// The text of a graph: the bytes `begin` to `end` of a document; in a record, the content of a JSON string.
struct Section {
  enum class Part : uint8_t { Graph, Ast, Stage, Kernel, List };
  static constexpr size_t kNoRecord = SIZE_MAX;

  size_t begin, end;
  Part part = Part::Graph;
  std::string name = {};       // in a record: "ast", the name of the stage, "kernel 2" or "linear"; else empty
  size_t record = kNoRecord;   // index of the section's record in Sections::records; kNoRecord outside of recordings
};

struct RecordSection {
  size_t begin, end;  // the bytes of the record's line
  std::string id, target;
  size_t first_section = 0, end_section = 0;  // its sections: first_section to end_section - 1 of Sections::sections
};

struct Sections {
  InputKind kind = InputKind::Pyrender;
  std::vector<Section> sections;
  std::vector<RecordSection> records;
  GoldenHeader header;                          // the header of a recording
  size_t header_end = 0;                        // the end of the header's line
  std::vector<std::pair<size_t, Diag>> errors;  // unreadable lines of a recording: the first byte, and the error
};

Sections find_sections(std::string_view document);

// The decoded text of a section. Maps bytes of the text to bytes of the document, and back.
class SectionText {
 public:
  SectionText(std::string_view document, const Section& section);
  const std::string& text() const { return document_text_; }
  // document_offset() returns the byte of the document for byte `at` of the text; text_offset() does the reverse.
  size_t document_offset(size_t at) const;
  size_t text_offset(size_t at) const;

 private:
  std::string document_text_;
  // Pairs of an offset in the text and the same place in the document: the beginning, and the place behind each escape
  // sequence of the JSON string.
  std::vector<std::pair<size_t, size_t>> text_pieces_;
};

}  // namespace tgc
