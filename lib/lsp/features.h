// Computes from a graph what an editor shows besides problems, links and hover texts: tokens to color, parts
// to fold, shapes to show beside nodes, completions, and the edits of a renaming. All positions are bytes of the
// section's text.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/lsp/analysis.h"

namespace tgc {

// A part of a text that an editor colors. X(enumerator, name of the token type in the protocol)
#define TGC_TOKEN_KINDS(X)                                                                                   \
  X(Comment, "comment") X(String, "string") X(Number, "number") X(Keyword, "keyword") X(Variable, "variable") \
  X(Function, "function") X(Method, "method") X(Property, "property") X(Op, "enumMember") X(Type, "type")     \
  X(Class, "class")
struct Token {
  enum class Kind : uint8_t {
#define X(id, name) id,
    TGC_TOKEN_KINDS(X)
#undef X
  };
  size_t begin, end;  // on one line
  Kind kind;
  bool is_definition = false;
};
// Returns the tokens of a text in its order. Never fails: a part that is no token is left out.
std::vector<Token> tokens_of(const Analysis& analysis);

// A part of a text, of several lines, that an editor can hide.
struct Fold {
  size_t begin, end;  // the first and the last byte
  bool is_comment = false;
};
// Returns the functions, the comments, the brackets and, in a listing, the loops that have several lines.
std::vector<Fold> folds_of(const Analysis& analysis);

// A text that an editor shows behind the byte `at`, though it is not in the document.
struct Hint {
  size_t at;
  std::string text;
};
// Returns the shapes of the nodes that are defined between `begin` and `end`. A node without a shape, or with the shape
// (), has no hint.
std::vector<Hint> shape_hints(const Analysis& analysis, size_t begin, size_t end);

struct Completion {
  enum class Kind : uint8_t { Name, Function, Op, Type, Class };
  std::string label;
  Kind kind;
  std::string detail = {};  // op and dtype of a named node
};
struct Completions {
  size_t begin, end;  // the bytes that a completion replaces
  std::vector<Completion> list;
  bool is_cut = false;  // there are more than the listed ones
};
// Returns what can follow at byte `at`: ops behind "Ops.", members behind "dtypes." and "AxisType.", else the names
// that are defined above, the nearest first. Only ops and members of the graph's tinygrad release are offered, if it is
// known.
Completions completions_at(const Analysis& analysis, size_t at);

// Returns the bytes of a name, its definition first, then its uses, if the name at byte `at` can be renamed. Fails if
// there is no such name: the nodes of listings and JSON have numbers, not names.
Result<std::vector<std::pair<size_t, size_t>>> renamed_places(const Analysis& analysis, size_t at);
// Returns an error if the text is not the same graph when `places` have the name `name`.
Result<Unit> check_renaming(const Analysis& analysis, const std::vector<std::pair<size_t, size_t>>& places,
                            std::string_view name);

}  // namespace tgc
