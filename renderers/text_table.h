// NodeTextTable: maps nodes to text in one language. Rows are tried in order. The first row that has the node's op, and
// whose condition holds, prints the node (tinygrad: a PatternMatcher whose rules return strings).
//
//   {Op::IF, "if ($0) {"}                          a template
//   {Op::CAST, to_vector, "convert($0, $t)"}       a template with a condition on the node
//   {Op::CONST, print_const}                       a function that appends the text, or returns false to decline
//
// A template contains placeholders ("holes"). $0 ... $9 stand for the texts of the sources, $n for the node's name. The
// renderer defines all other letters; a digit selects a source: $t is the node's type, $t0 the type of source 0.
#pragma once
#include <array>
#include <cctype>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/uop/uop.h"
#include "renderers/text_pieces.h"

namespace tgc {

template <class R>
struct NodeTextRow {
  using Condition = bool (*)(UOp);
  using PrintFunction = bool (*)(R&, UOp);

  OpSet ops;
  Condition condition = nullptr;
  std::string_view text = {};
  PrintFunction print_function = nullptr;

  NodeTextRow(OpSet ops, std::string_view text) : ops(ops), text(text) {}
  NodeTextRow(OpSet ops, const char* text) : ops(ops), text(text) {}
  NodeTextRow(OpSet ops, Condition when, const char* text) : ops(ops), condition(when), text(text) {}
  NodeTextRow(OpSet ops, PrintFunction print) : ops(ops), print_function(print) {}
};

// `R` is a renderer with these functions, each of which appends to the output:
//   void append_text(std::string_view)             appends a text from whose start kTextChunkBytes bytes are readable
//   void append_source(UOp, int), append_name(UOp)               append the text of a source, and the node's name
//   void print_placeholder(char letter, int number, UOp)  appends any other placeholder; `number` is the digit, or -1
template <class R>
class NodeTextTable {
 public:
  // Concatenates the rows of `parts`. The rows of earlier parts are tried first.
  NodeTextTable(std::initializer_list<std::span<const NodeTextRow<R>>> parts) {
    for (auto part : parts)
      for (const NodeTextRow<R>& row : part) {
        CompiledRow compiled_row{row.condition, row.print_function, uint32_t(row_pieces_.size()), 0};
        if (!row.print_function) parse_row(row.text);
        compiled_row.end_piece = uint32_t(row_pieces_.size());
        row.ops.for_each([&](Op op) { compiled_rows_[size_t(op)].push_back(compiled_row); });
      }
    row_texts_.append(kTextChunkBytes, '\0');
  }

  // Prints `u`. Returns false if no row matches.
  bool print_row(R& r, UOp u) const {
    for (const CompiledRow& compiled_row : compiled_rows_[size_t(u.op())]) {
      if (compiled_row.condition && !compiled_row.condition(u)) continue;
      if (compiled_row.print_function) {
        if (compiled_row.print_function(r, u)) return true;
        continue;
      }
      for (const TemplatePiece *p = row_pieces_.data() + compiled_row.first_piece,
                               *end_piece = row_pieces_.data() + compiled_row.end_piece;
           p != end_piece; p++) {
        r.append_text({row_texts_.data() + p->text_offset, p->size});
        if (p->letter == '#') r.append_source(u, p->number);
        else if (p->letter == 'n') r.append_name(u);
        else if (p->letter) r.print_placeholder(p->letter, p->number, u);
      }
      return true;
    }
    return false;
  }

 private:
  struct TemplatePiece {
    uint32_t text_offset, size;  // offset and size of the literal text in row_texts_
    char letter;           // letter of the placeholder; '#' for the text of a source, 0 if there is no placeholder
    int8_t number;
  };
  struct CompiledRow {
    typename NodeTextRow<R>::Condition condition;
    typename NodeTextRow<R>::PrintFunction print_function;
    uint32_t first_piece,
        end_piece;  // the parts of the template are row_pieces_[first_piece] to row_pieces_[end_piece - 1]
  };

  void parse_row(std::string_view text) {
    while (!text.empty()) {
      size_t dollar = std::min(text.find('$'), text.size());
      TemplatePiece piece{uint32_t(row_texts_.size()), uint32_t(dollar), 0, -1};
      row_texts_ += text.substr(0, dollar);
      text.remove_prefix(dollar);
      if (!text.empty()) {
        piece.letter = text[1];
        text.remove_prefix(2);
        if (std::isdigit(uint8_t(piece.letter))) piece.number = int8_t(piece.letter - '0'), piece.letter = '#';
        else if (!text.empty() && std::isdigit(uint8_t(text[0])))
          piece.number = int8_t(text[0] - '0'), text.remove_prefix(1);
      }
      row_pieces_.push_back(piece);
    }
  }

  std::array<std::vector<CompiledRow>, kNumOps> compiled_rows_;
  std::vector<TemplatePiece> row_pieces_;
  std::string row_texts_;
};

}  // namespace tgc
