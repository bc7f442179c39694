#include <algorithm>

#include "lib/lsp/answers.h"
#include "lib/support/visible.h"

namespace tgc {

namespace {

constexpr const char* kTokenTypes[] = {
#define X(id, name) name,
    TGC_TOKEN_KINDS(X)
#undef X
};

void write_text_edit(JsonWriter& json, const OpenDocument& text, const ReadSection& read, size_t begin, size_t end,
                     const std::string& by) {
  json.object([&] {
    write_range(json.key("range"), text.document(), read.text.document_offset(begin), read.text.document_offset(end));
    json.member("newText", by);
  });
}

// Does nothing for a recording.
template <class Write>
void for_each_section(OpenDocument& text, size_t begin, size_t end, Write&& write) {
  const std::vector<GraphSection>& list = text.sections().sections;
  for (size_t i = 0; i < list.size() && !text.is_recording(); i++)
    if (list[i].begin < end && list[i].end >= begin) write(list[i], text.read_section(i));
}

// next() must be called with increasing offsets.
class PositionCursor {
 public:
  explicit PositionCursor(const TextDocument& document) : document_(document) {}
  TextPosition next(size_t at) {
    const std::string_view between = document_.text().substr(last_offset_, at - last_offset_);
    if (between.find('\n') != between.npos) last_position_ = document_.position(at);
    else last_position_.utf16_column += document_.utf16_length(last_offset_, at);
    last_offset_ = at;
    return last_position_;
  }

 private:
  const TextDocument& document_;
  size_t last_offset_ = 0;
  TextPosition last_position_;
};

}  // namespace

void write_capabilities(JsonWriter& json) {
  json.object([&] {
    json.key("textDocumentSync").object([&] { json.member("openClose", true).member("change", 2); });
    for (const char* provider : {"hover", "definition", "implementation", "references", "documentHighlight",
                                 "documentSymbol", "foldingRange", "inlayHint"})
      json.member(provider + std::string("Provider"), true);
    json.key("codeLensProvider").object([&] { json.member("resolveProvider", false); });
    json.key("renameProvider").object([&] { json.member("prepareProvider", true); });
    json.key("completionProvider").object([&] {
      json.key("triggerCharacters").array([&] { json.value(".").value("\""); });
    });
    json.key("semanticTokensProvider").object([&] {
      json.key("legend").object([&] {
        json.key("tokenTypes").array([&] { for (const char* type : kTokenTypes) json.value(type); });
        json.key("tokenModifiers").array([&] { json.value("definition"); });
      });
      json.member("full", true).member("range", true);
    });
    json.key("executeCommandProvider").object([&] {
      json.key("commands").array([&] { for (const LspCommand& c : kLspCommands) json.value(c.name); });
    });
  });
}

void write_semantic_tokens(JsonWriter& json, OpenDocument& text, size_t begin, size_t end) {
  json.object([&] {
    json.key("data").array([&] {
      PositionCursor positions(text.document());
      TextPosition last;
      for_each_section(text, begin, end, [&](const GraphSection&, const ReadSection& read) {
        for (const SemanticToken& token : tokens_of_text(*read.analysis)) {
          const size_t from = read.text.document_offset(token.begin), to = read.text.document_offset(token.end);
          if (to <= begin || from >= end) continue;
          const TextPosition p = positions.next(from);
          json.value(p.line - last.line)
              .value(p.line == last.line ? p.utf16_column - last.utf16_column : p.utf16_column);
          json.value(text.document().utf16_length(from, to)).value(int(token.kind)).value(int(token.is_definition));
          last = p;
        }
      });
    });
  });
}

void write_folding_ranges(JsonWriter& json, OpenDocument& text) {
  auto write = [&](size_t begin, size_t end, const char* kind) {
    const int64_t first = text.document().position(begin).line, last = text.document().position(end).line;
    if (first >= last) return;
    json.object([&] {
      json.member("startLine", first).member("endLine", last);
      if (kind) json.member("kind", kind);
    });
  };
  json.array([&] {
    for_each_section(text, 0, SIZE_MAX, [&](const GraphSection& section, const ReadSection& read) {
      if (text.num_graphs() > 1) write(section.begin, section.end ? section.end - 1 : 0, "region");
      for (const FoldingRange& fold : folding_ranges(*read.analysis))
        write(read.text.document_offset(fold.begin), read.text.document_offset(fold.end),
              fold.is_comment ? "comment" : nullptr);
    });
  });
}

void write_inlay_hints(JsonWriter& json, OpenDocument& text, size_t begin, size_t end) {
  json.array([&] {
    for_each_section(text, begin, end, [&](const GraphSection&, const ReadSection& read) {
      for (const InlayHint& hint :
           shape_hints(*read.analysis, read.text.text_offset(begin), read.text.text_offset(end)))
        json.object([&] {
          write_position(json.key("position"), text.document().position(read.text.document_offset(hint.offset)));
          json.member("label", visible_text(hint.text)).member("paddingLeft", true);
        });
    });
  });
}

void write_completions(JsonWriter& json, const OpenDocument& text, const ReadSection& read,
                       const CompletionList& found) {
  enum { kFunction = 3, kVariable = 6, kClass = 7, kEnumMember = 20, kTypeParameter = 25 };
  constexpr int kKinds[] = {kVariable, kFunction, kEnumMember, kTypeParameter, kClass};
  json.object([&] {
    json.member("isIncomplete", found.is_incomplete);
    json.key("items").array([&] {
      for (size_t i = 0; i < found.completions.size(); i++)
        json.object([&] {
          const CompletionItem& c = found.completions[i];
          const std::string number = std::to_string(i);
          json.member("label", c.label).member("kind", kKinds[int(c.kind)]);
          if (!c.detail.empty()) json.member("detail", visible_text(c.detail));
          json.member("sortText", std::string(4 - std::min<size_t>(number.size(), 4), '0') + number);
          write_text_edit(json.key("textEdit"), text, read, found.begin, found.end, c.label);
        });
    });
  });
}

void write_highlights(JsonWriter& json, const OpenDocument& text, const ReadSection& read, size_t at) {
  enum { kRead = 2, kWrite = 3 };
  const NodeLinks& links = read.analysis->links;
  const auto target = links.link_target_at(at);
  auto write = [&](size_t begin, size_t end, int kind) {
    json.object([&] {
      write_range(json.key("range"), text.document(), read.text.document_offset(begin), read.text.document_offset(end));
      json.member("kind", kind);
    });
  };
  json.array([&] {
    if (!target) return;
    write(links.definitions[*target].name_begin, links.definitions[*target].name_end, kWrite);
    for (const NodeLink& link : links.links)
      if (link.target == *target) write(link.begin, link.end, kRead);
  });
}

void write_rename_edits(JsonWriter& json, const std::string& uri, const OpenDocument& text, const ReadSection& read,
                        const std::vector<std::pair<size_t, size_t>>& places, const std::string& name) {
  json.object([&] {
    json.key("changes").object([&] {
      json.key(uri).array([&] {
        for (auto [begin, end] : places) write_text_edit(json, text, read, begin, end, name);
      });
    });
  });
}

}  // namespace tgc
