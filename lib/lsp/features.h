// Computes what an editor shows for a section besides problems, links and hover texts: tokens to color, parts to fold,
// shapes beside nodes, completions, and the edits of a renaming. All positions are bytes of the section's text; an
// `end` is the byte behind the last one, except in a Fold.
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
  size_t begin, end;  // both on one line
  Kind kind;
  bool is_definition = false;  // true if the token is the name that a definition defines
};
// Returns the tokens of a text, in order. Skips text that is no token, also in damaged texts.
std::vector<Token> tokens_of_text(const Analysis& analysis);

// A part of several lines that an editor can hide.
struct Fold {
  size_t begin, end;  // a byte on the first line, and one on the last line (for a definition, at its end)
  bool is_comment = false;
};
// Returns the parts of several lines that can be folded: functions, comments, brackets and, in a listing, loops and
// conditional parts. If several of them begin on one line, returns only the longest.
std::vector<Fold> folds_of_text(const Analysis& analysis);

// A text that an editor shows at the byte `at` between the characters of the document (an inlay hint).
struct Hint {
  size_t at;
  std::string text;
};
// Returns the shapes of the nodes that are defined between `begin` and `end`. Pointers, whose dtype has the size, and
// nodes without a shape or with the shape () have no hint. Returns none if the graph is not well formed.
std::vector<Hint> shape_hints(const Analysis& analysis, size_t begin, size_t end);

struct Completion {
  enum class Kind : uint8_t { Name, Function, Op, Type, Class };
  std::string label;
  Kind kind;
  std::string detail = {};  // for a named node: its op and dtype
};
struct Completions {
  size_t begin, end;  // the bytes that a completion replaces
  std::vector<Completion> completions;
  bool is_incomplete = false;  // true if there are more completions than the list has
};
// Returns completions of the word at byte `at`. In a pyrender text or repr: after "Ops.", "dtypes." or another enum,
// its members; else the names that are defined before, the nearest first, and names of classes. In JSON: ops after
// "op":" and dtypes after "dtype":". If the release of the graph is known, returns only its ops and members. Returns
// none in a comment or string of a text that is not JSON.
Completions completions_at(const Analysis& analysis, size_t at);

// Returns the bytes of the name at byte `at` in its definition, then in its uses. Fails if there is no name that can be
// renamed: nodes of listings and JSON have numbers instead of names.
Result<std::vector<std::pair<size_t, size_t>>> renamed_places(const Analysis& analysis, size_t at);
// Fails if `name` is not a name, if the text has that name already, or if after renaming `places` to `name`, the text
// would be another graph or none. For a text that is unreadable before, compares only its definitions and uses.
Result<Unit> check_renaming(const Analysis& analysis, const std::vector<std::pair<size_t, size_t>>& places,
                            std::string_view name);

}  // namespace tgc
