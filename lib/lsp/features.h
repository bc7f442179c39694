// Computes what an editor shows for a section, one graph of a text. Positions are bytes of the section's text; an `end`
// is the byte behind the last one, except in a FoldingRange.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/lsp/analysis.h"

namespace tgc {

// X(enumerator, name of the token type in the protocol)
#define TGC_TOKEN_KINDS(X)                                                                                   \
  X(Comment, "comment") X(String, "string") X(Number, "number") X(Keyword, "keyword") X(Variable, "variable") \
  X(Function, "function") X(Method, "method") X(Property, "property") X(Op, "enumMember") X(Type, "type")     \
  X(Class, "class")
struct SemanticToken {
  enum class Kind : uint8_t {
#define X(id, name) id,
    TGC_TOKEN_KINDS(X)
#undef X
  };
  size_t begin, end;
  Kind kind;
  bool is_definition = false;
};
// Returns tokens in order; skips text that is no token.
std::vector<SemanticToken> tokens_of_text(const SectionAnalysis& analysis);

struct FoldingRange {
  size_t begin, end;  // a byte on the first line, and one on the last line
  bool is_comment = false;
};
// If several ranges begin on one line, returns only the longest of them.
std::vector<FoldingRange> folding_ranges(const SectionAnalysis& analysis);

struct InlayHint {
  size_t offset;
  std::string text;
};
// Returns the shapes of nodes that are defined between `begin` and `end`, except of pointers and scalars. Returns none
// if the graph is not well formed.
std::vector<InlayHint> shape_hints(const SectionAnalysis& analysis, size_t begin, size_t end);

struct CompletionItem {
  enum class Kind : uint8_t { Name, Function, Op, Type, Class };
  std::string label;
  Kind kind;
  std::string detail = {};
};
struct CompletionList {
  size_t begin, end;
  std::vector<CompletionItem> completions;
  bool is_incomplete = false;
};
// Completes the word at byte `at`. Lists the names of nodes nearest first. If the release of the graph is known, leaves
// out what the release lacks, such as ops.
CompletionList completions_at_offset(const SectionAnalysis& analysis, size_t at);

// Returns the ranges of the definition, then of the uses, of the name at byte `at`. Fails if there is no name that can
// be renamed.
Result<std::vector<std::pair<size_t, size_t>>> name_ranges(const SectionAnalysis& analysis, size_t at);
// Fails if `name` is no name or in use, or if the text would not be the same graph. For an unreadable text, compares
// only definitions and uses.
Result<Unit> check_renaming(const SectionAnalysis& analysis, const std::vector<std::pair<size_t, size_t>>& places,
                            std::string_view name);

}  // namespace tgc
