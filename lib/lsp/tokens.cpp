#include <algorithm>
#include <map>

#include "lib/lsp/features.h"
#include "lib/lsp/scan.h"
#include "lib/uop/facts.h"

namespace tgc {

namespace {

bool is_json(InputKind kind) { return kind == InputKind::Json || kind == InputKind::Repro; }

class Lexer {
 public:
  explicit Lexer(const SectionAnalysis& a) : text_(a.text), kind_(a.kind), links_(a.links) {
    for (size_t at = 0; at < text_.size();) at = read_token(at);
  }

  std::vector<SemanticToken> tokens;
  std::vector<FoldingRange> brackets;

 private:
  using Kind = SemanticToken::Kind;

  // Returns the offset at which to continue.
  size_t read_token(size_t at) {
    const char c = text_[at];
    if (c == '\n') starts_line_ = true;
    if (c == ' ' || c == '\n') return std::min(text_.find_first_not_of(' ', at + 1), text_.size());
    const bool is_first = std::exchange(starts_line_, false);
    if (c == '#' && !is_json(kind_) && (is_first || kind_ != InputKind::Uops))
      return add_token(at, end_before_blanks(text_, at, end_of_line(text_, at)), Kind::Comment);
    if (c == '\x1b') return std::min(text_.find('m', at), text_.size() - 1) + 1;  // a listing's escape code
    if (c == '\'' || c == '"')
      return is_json(kind_) ? read_json_string(at) : add_token(at, end_of_string(text_, at), Kind::String);
    if (is_digit(c)) return read_number(at);
    if (is_name_start(c)) return read_name(at);
    if (c == '(' || c == '[' || c == '{') {
      open_brackets_.push_back(at);
    } else if ((c == ')' || c == ']' || c == '}') && !open_brackets_.empty()) {
      brackets.push_back({open_brackets_.back(), at});
      open_brackets_.pop_back();
    }
    return at + 1;
  }

  size_t add_token(size_t begin, size_t end, Kind kind, bool is_definition = false) {
    if (end > begin) tokens.push_back({begin, end, kind, is_definition});
    return end;
  }

  // is_definition_begin() and is_link_begin() must be called with increasing offsets.
  bool is_definition_begin(size_t at) {
    const auto& all = links_.definitions;
    while (next_definition_ < all.size() && all[next_definition_].name_begin < at) next_definition_++;
    return next_definition_ < all.size() && all[next_definition_].name_begin == at;
  }
  bool is_link_begin(size_t at) {
    while (next_link_ < links_.links.size() && links_.links[next_link_].begin < at) next_link_++;
    return next_link_ < links_.links.size() && links_.links[next_link_].begin == at;
  }

  size_t read_number(size_t at) {
    size_t end = at;
    while (end < text_.size() && (is_name_char(text_[end]) || text_[end] == '.')) end++;
    const bool defines = is_definition_begin(at);
    return add_token(at, end, defines || is_link_begin(at) ? Kind::Variable : Kind::Number, defines);
  }

  size_t read_json_string(size_t at) {
    const size_t end = end_of_string(text_, at);
    if (end < text_.size() && text_[end] == ':') return add_token(at, end, Kind::Property);
    const std::string_view value = text_.substr(at + 1, end - at - 1);
    if (is_definition_begin(at + 1)) return add_token(at, end, Kind::Op, true);
    const bool is_member = value.find(' ') == value.npos && value.find('.') < value.size() && !enum_name(value).empty();
    return add_token(at, end, value.starts_with("dtypes.") ? Kind::Type : is_member ? Kind::Op : Kind::String);
  }

  // Returns `text`, up to its first dot if it has one, if that is one of these enums; else "".
  static std::string_view enum_name(std::string_view text) {
    const std::string_view name = text.substr(0, std::min(text.find('.'), text.size()));
    const bool is_enum = name == "Ops" || name == "AxisType" || name == "AddrSpace" || name == "OptOps";
    return is_enum ? name : std::string_view();
  }

  size_t read_name(size_t at) {
    const size_t end = name_end(text_, at);
    const std::string_view word = text_.substr(at, end - at);
    const bool has_dot = end + 1 < text_.size() && text_[end] == '.' && is_name_start(text_[end + 1]);
    if (has_dot && (word == "dtypes" || !enum_name(word).empty()))
      return add_token(at, name_end(text_, end + 1), word == "dtypes" ? Kind::Type : Kind::Op);
    if (is_definition_begin(at)) {
      const bool is_function = tokens.size() && tokens.back().kind == Kind::Keyword &&
                               text_.substr(tokens.back().begin, 3) == "def";
      return add_token(at, end, is_function ? Kind::Function : Kind::Variable, true);
    }
    if (is_link_begin(at)) {
      const NodeDefinition& d = links_.definitions[links_.links[next_link_].target];
      return add_token(at, end, text_.substr(d.begin, 4) == "def " ? Kind::Function : Kind::Variable);
    }
    if (word == "def" || word == "return" || word == "True" || word == "False" || word == "None")
      return add_token(at, end, Kind::Keyword);
    if (at && text_[at - 1] == '.') return add_token(at, end, Kind::Method);
    if (word[0] >= 'A' && word[0] <= 'Z') return add_token(at, end, Kind::Class);
    const std::string_view next = text_.substr(end, 2);
    return next.starts_with("=") && next != "==" ? add_token(at, end, Kind::Property) : end;
  }

  std::string_view text_;
  InputKind kind_;
  const NodeLinks& links_;
  std::vector<size_t> open_brackets_;
  size_t next_definition_ = 0, next_link_ = 0;
  bool starts_line_ = true;
};

void add_loop_ranges(const SectionAnalysis& a, std::vector<FoldingRange>& out) {
  std::map<uint32_t, size_t> begins;
  for (const NodeDefinition& d : a.links.definitions) {
    const UOp node = a.defined_node(d);
    if (!node) continue;
    if (node.op() == Op::RANGE || node.op() == Op::IF) begins[node.id()] = d.begin;
    if (node.op() != Op::END && node.op() != Op::ENDIF && node.op() != Op::ENDRANGE) continue;
    for (UOp source : node.src())
      if (auto begin = begins.find(source.id()); begin != begins.end()) out.push_back({begin->second, d.end});
  }
}

}  // namespace

std::vector<SemanticToken> tokens_of_text(const SectionAnalysis& analysis) { return Lexer(analysis).tokens; }

std::vector<FoldingRange> folding_ranges(const SectionAnalysis& a) {
  Lexer lexer(a);
  const std::vector<SemanticToken>& tokens = lexer.tokens;
  std::vector<FoldingRange> out = std::move(lexer.brackets);
  for (const NodeDefinition& d : a.links.definitions)
    if (std::string_view(a.text).substr(d.begin, 4) == "def ") out.push_back({d.begin, d.end});
  if (a.kind == InputKind::Uops) add_loop_ranges(a, out);
  for (size_t i = 0, next; i < tokens.size(); i = std::max(next, i + 1)) {
    for (next = i; next < tokens.size() && tokens[next].kind == SemanticToken::Kind::Comment; next++) {}
    if (next > i) out.push_back({tokens[i].begin, tokens[next - 1].end, true});
  }
  std::ranges::stable_sort(out, [](const FoldingRange& x, const FoldingRange& y) {
    return x.begin != y.begin ? x.begin < y.begin : x.end > y.end;
  });
  // Editors fold one part per line: keep the first, which is the longest.
  size_t line_end = 0;
  std::erase_if(out, [&](const FoldingRange& f) {
    const size_t end = end_of_line(a.text, f.begin);
    if (f.end <= end || (line_end && end == line_end)) return true;
    return line_end = end, false;
  });
  return out;
}

std::vector<InlayHint> shape_hints(const SectionAnalysis& a, size_t begin, size_t end) {
  std::vector<InlayHint> out;
  if (!a.is_valid) return out;
  auto add = [&](UOp node, size_t at) {
    auto text = catch_failures([&]() -> std::string {
      const auto shape = shape_or_none(node);
      // the dtype of a pointer shows the size
      return shape && !shape->empty() && !node.dtype().is_ptr() ? str(*shape) : "";
    });
    if (text && !text->empty()) out.push_back({at, *text});
  };
  if (a.kind == InputKind::Repr) {  // most nodes of a repr have no name
    for (const NodePosition& n : a.node_positions)
      if (n.offset >= begin && n.offset < end)
        add(n.node, end_before_blanks(a.text, n.offset, end_of_line(a.text, n.offset)));
    return out;
  }
  for (const NodeDefinition& d : a.links.definitions)
    if (d.begin < end && d.end >= begin)
      if (UOp node = a.defined_node(d)) add(node, d.end);
  return out;
}

}  // namespace tgc
