#include "lib/text/print_uops.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "lib/support/pytext.h"
#include "lib/text/py_values.h"
#include "lib/text/repr.h"
#include "lib/uop/facts.h"
#include "lib/uop/render.h"

namespace tgc {

namespace {

void pad_to(std::string& out, size_t start, size_t width) {
  size_t length = out.size() - start;
  if (length < width) out.append(width - length, ' ');
}

void append_sources(std::string& out, UOp u, const UOpMap<size_t>& positions) {
  out += '[';
  for (size_t i = 0; i < u.num_src(); i++) {
    UOp s = u.src(i);
    if (i) out += ", ";
    const size_t* at = positions.find(s);
    if (!at) out += "'--'";
    else if (s.is_const()) out += py_repr(s.arg().str());
    else out += std::to_string(*at);
  }
  out += ']';
}

}  // namespace

std::string print_uops(std::span<const UOp> list) {
  std::string out;
  if (list.empty()) return out;
  UOpMap<size_t> positions(list.front().graph());
  for (size_t i = 0; i < list.size(); i++) positions[list[i]] = i;  // a node listed twice gets its last position
  for (size_t i = 0; i < list.size(); i++) {
    UOp u = list[i];
    std::string number = std::to_string(i);
    if (number.size() < 4) out.append(4 - number.size(), ' ');
    out += number + " ";
    size_t start = out.size();
    out.append("Ops.").append(printed_op_name(u));
    pad_to(out, start, 20);
    out += ": " + multirange_str(ranges_of(u), true, 10) + " ";
    start = out.size();
    out += u.dtype().repr();
    pad_to(out, start, 40);
    out += ' ';
    start = out.size();
    append_sources(out, u, positions);
    pad_to(out, start, 32);
    out += ' ' + (u.graph().is_foreign() ? open_arg_str(u) : u.arg().str()) + '\n';
  }
  return out;
}

namespace {

// Ops whose arg is read as a string, because print_uops of 0.12.0 prints strings without quotes.
constexpr OpSet kTextArgs{Op::SPECIAL, Op::CUSTOM, Op::CUSTOMI, Op::SOURCE};

class ListingReader : public PyValueReader {
 public:
  using PyValueReader::PyValueReader;

  UopsListing read() {
    stated_facts_ = read_stated_facts();
    const size_t begin = position_;
    read_lines();
    if (find_lookalike_lines()) position_ = begin, read_lines();
    if (out_.list.empty()) throw_error(position_, "the input holds no listing", "lines such as '   0 Ops.CONST : ...'");
    bool complete = has_header(input_text_);  // below a header, comments state what a listing of 0.12.0 omits
    if (num_ambiguous_constants_ && !complete)
      out_.warnings.push_back(std::to_string(num_ambiguous_constants_) +
                              " constants are given by value and exist with several dtypes; the likeliest was taken");
    if (num_missing_sources_)
      out_.warnings.push_back(std::to_string(num_missing_sources_) + " sources are not in the list");
    if (!complete) out_.warnings.push_back("a listing has no tags");
    return std::move(out_);
  }

  // `list` is the list that the text shows. Returns the positions that are read as a different node.
  std::vector<size_t> find_misread_positions(std::span<const UOp> list) {
    expected_list_ = list;
    read();
    return std::move(misread_positions_);
  }

 private:
  void read_lines() {
    out_.list.clear(), constants_.clear(), nodes_ahead_.clear(), cited_positions_.clear();
    num_ambiguous_constants_ = num_missing_sources_ = 0;
    while (skip_lines(), !is_at_end()) {
      auto ahead = nodes_ahead_.find(out_.list.size());
      if (ahead != nodes_ahead_.end()) position_ = ahead->second.end;
      out_.list.push_back(ahead != nodes_ahead_.end() ? ahead->second.node : read_line(out_.list.size()));
    }
  }

  // Finds lines that equal a later line but show another node, which differs in a fact that a listing omits, such as a
  // tag. A source refers to the last line of its node. So if a source refers to a line above an equal line, the two
  // lines show different nodes. Returns true if there are such lines; false for listings of 0.12.0.
  bool find_lookalike_lines() {
    if (!is_foreign()) return false;
    UOpMap<size_t> last(graph_);
    for (size_t i = 0; i < out_.list.size(); i++) last[out_.list[i]] = i;
    for (size_t i : cited_positions_)
      if (i < out_.list.size() && *last.find(out_.list[i]) != i) lookalike_positions_.insert(i);
    return !lookalike_positions_.empty();
  }

  UOp read_line(size_t position) {
    list_items_.clear();
    size_t begin = input_text_.rfind('\n', position_ ? position_ - 1 : 0);
    begin = begin == input_text_.npos ? 0 : begin + 1;
    size_t at = position_;
    if (!is_digit(peek_char()))
      throw_error(position_, "found " + found_text(position_), "a line such as '   0 Ops.CONST : ...'");
    Const shown = number();
    if (!(shown.is_int() && shown.as_int() == Int(int64_t(position))))
      throw_error(at, "found line " + shown.str() + " of the listing", "line " + std::to_string(position));
    size_t op_at = (skip_blanks_in_line(), position_);
    if (read_identifier("an op") != "Ops") throw_error(op_at, "found " + found_text(op_at), "an op such as Ops.ADD");
    size_t name_at = position_ + 1;
    Op op = read_op_name();
    const std::string_view name = input_text_.substr(name_at, position_ - name_at);
    expect_char(':', "after the op");
    skip_ranges();
    size_t dtype_at = position_;
    if (read_identifier("a dtype") != "dtypes") throw_error(dtype_at, "found " + found_text(dtype_at), "a dtype");
    DType d = dtype();
    skip_blanks_in_line();
    size_t sources_at = position_;
    auto known = stated_facts_.find(position);
    const StatedFacts* stated = known == stated_facts_.end() ? nullptr : &known->second;
    size_t ambiguous = num_ambiguous_constants_;
    read_sources(op, d);
    // the arg begins one column after the sources, which are padded to 32 columns
    size_t width = utf8_length(input_text_.substr(sources_at, position_ - sources_at));
    size_t arg_at = std::min(position_ + (width < 32 ? 32 - width : 0) + 1, input_text_.size());
    Arg a = read_arg(op, arg_at);
    if (op == Op::OTHER) a = other_node_arg(graph_, name, a);
    record_node_place(at);
    if (stated) d = stated->dtype;
    if (stated && stated->src.is_tuple()) correct_sources(stated->src, at), num_ambiguous_constants_ = ambiguous;
    Arg tag = stated ? stated->stated_tag : lookalike_positions_.contains(position) ? Arg(int64_t(position)) : Arg();
    UOp u = make_node(at, op, d, sources_, a, tag);
    if (!expected_list_.empty() && !(u == expected_list_[position]))
      misread_positions_.push_back(position), u = expected_list_[position];
    if (op == Op::CONST) constants_[a.str()].push_back(u);
    return u;
  }

  // Reads the line of node `position`, which is below the current line: register allocation moves instructions, so a
  // source may be below its user.
  UOp read_node_ahead(size_t position, size_t at) {
    auto line_at = line_offsets_.find(position);
    if (line_at == line_offsets_.end() || levels_ahead_ == kMaxLevelsAhead)
      throw_error(at, "found the source " + std::to_string(position), "a position above this line");
    auto [ahead, is_new] = nodes_ahead_.try_emplace(position);
    if (!is_new && !ahead->second.node) throw_error(at, "the source " + std::to_string(position) + " needs itself");
    if (!is_new) return ahead->second.node;
    const size_t resume = std::exchange(position_, line_at->second);
    std::vector<UOp> sources = std::exchange(sources_, {});
    levels_ahead_++;
    UOp u = read_line(position);
    levels_ahead_--;
    nodes_ahead_[position] = {u, position_};
    position_ = resume, sources_ = std::move(sources);
    return u;
  }
  void read_constants_ahead(size_t at) {
    if (lines_by_position_.empty()) index_lines();
    for (auto& [position, begin] : line_offsets_)
      if (position >= out_.list.size() && input_text_.substr(input_text_.find(' ', begin), 11) == " Ops.CONST ")
        read_node_ahead(position, at);
  }

  void correct_sources(Arg positions, size_t at) {
    sources_.clear();
    for (Arg p : positions.items()) {
      bool known = p.is_int() && p.as_int() >= Int(0) && p.as_int() < Int(int64_t(out_.list.size()));
      if (!known) throw_error(at, "a comment gives this line the source " + p.repr(), "a position above this line");
      sources_.push_back(out_.list[size_t(p.small_int())]);
    }
  }

  // Skips the enclosing ranges, which can be computed from the graph.
  void skip_ranges() {
    size_t end = input_text_.find("dtypes.", position_), newline = input_text_.find('\n', position_);
    if (end == input_text_.npos || newline < end)
      throw_error(position_, "a line without a dtype", "a dtype such as dtypes.float");
    for (; position_ < end; position_++) {
      char c = peek_char();
      if (c == '\x1b') {
        while (position_ < end && peek_char() != 'm') position_++;
        if (position_ == end) throw_error(position_, "an escape sequence without its end", "'m'");
      } else if (c != ' ' && c != ',' && c != '_' && c != 'm' && c != '?' && !is_digit(c)) {
        throw_error(position_, "found " + found_text(position_) + " among the ranges", "axis numbers such as 0,1_2");
      }
    }
  }

  // Reads [3, '--', '1.0']: the node at position 3, a node that is not in the list, and a constant 1.0.
  void read_sources(Op op, DType dtype) {
    sources_.clear();
    std::vector<std::pair<size_t, std::string>> constants;
    expect_char('[', "and the sources");
    while (skip_blanks_in_line(), peek_char() != ']') {
      size_t at = position_;
      if (peek_char() == '\'' || peek_char() == '"') {
        std::string text = string();
        if (text == "--") num_missing_sources_++;
        else constants.emplace_back(sources_.size(), text);
        sources_.push_back(graph_.node(Op::NOOP, dtypes::void_, {}, graph_.raw_arg("--")));
        if (text != "--" && is_foreign() && !constants_.contains(text)) read_constants_ahead(at);
        if (text != "--" && !constants_.contains(text))
          throw_error(at, "no constant " + text + " above this line", "a constant of the list");
      } else {
        if (!is_digit(peek_char()))
          throw_error(position_, "found " + found_text(position_), "a position or a constant");
        Const position = number();
        sources_.push_back(node_at(position, at));
      }
      if (!accept_char(',') && (skip_blanks_in_line(), peek_char() != ']'))
        throw_error(position_, "found " + found_text(position_), "',' or ']'");
    }
    position_++;
    for (auto& [i, text] : constants) sources_[i] = find_constant(op, dtype, i, text);
  }

  UOp node_at(const Const& position, size_t at) {
    const bool is_known = position.is_int() && position.as_int().is_small();
    const size_t n = is_known ? size_t(position.as_int().small_value()) : 0;
    if (is_foreign()) cited_positions_.push_back(n);
    if (is_known && n < out_.list.size()) return out_.list[n];
    if (auto listed = is_known ? equal_line_above(n) : std::nullopt) return out_.list[*listed];
    if (!is_known || !is_foreign()) throw_error(at, "found the source " + position.str(), "a position above this line");
    return read_node_ahead(n, at);
  }

  // Returns the position of a line above the current line that equals the line at `position`; nullopt if there is none,
  // or if the two lines show different nodes. A source may refer to a line below if its node is listed twice.
  std::optional<size_t> equal_line_above(size_t position) {
    if (lines_by_position_.empty()) index_lines();
    auto below = lines_by_position_.find(position);
    auto above = below == lines_by_position_.end() ? positions_by_line_.end() : positions_by_line_.find(below->second);
    if (above == positions_by_line_.end() || above->second >= out_.list.size()) return std::nullopt;
    if (lookalike_positions_.contains(position) || lookalike_positions_.contains(above->second)) return std::nullopt;
    return above->second;
  }
  void index_lines() {
    for (size_t at = 0, next, count = 0; at < input_text_.size(); at = next) {
      for (next = at; next == at || !is_line_start(next);)
        next = std::min(input_text_.find('\n', next), input_text_.size() - 1) + 1;
      size_t digits = input_text_.find_first_not_of(' ', at), end = std::min(input_text_.find(' ', digits), next);
      if (digits >= next || !is_digit(input_text_[digits])) continue;
      std::string_view node = input_text_.substr(end, next - end);
      node = node.substr(0, node.find_last_not_of(" \n") + 1);
      size_t position = 0;
      std::from_chars(input_text_.data() + digits, input_text_.data() + end, position);
      if (!lines_by_position_.try_emplace(position, node).second) continue;
      line_offsets_[position] = digits;
      positions_by_line_.try_emplace(node, count++);
    }
  }

  // Returns the constant that is printed as `text`; of several, one whose dtype fits source `i`, or else the last one.
  UOp find_constant(Op op, DType dtype, size_t i, const std::string& text) {
    auto& known = constants_[text];
    if (known.size() == 1) return known[0];
    std::optional<DType> wanted = expected_dtype(op, dtype, i);
    for (UOp c : known)
      if (wanted && c.dtype() == *wanted) return c;
    num_ambiguous_constants_++;
    return known.back();
  }

  std::optional<DType> expected_dtype(Op op, DType dtype, size_t i) const {
    auto dtype_of = [&](size_t k) {
      return k < sources_.size() && !sources_[k].is(Op::NOOP) ? std::optional(sources_[k].dtype()) : std::nullopt;
    };
    if (ops::Comparison.contains(op)) return dtype_of(1 - i);
    switch (op) {
      case Op::WHERE: return i == 0 ? dtypes::bool_ : dtype;
      case Op::IF: return dtypes::bool_;
      case Op::INDEX: return i == 2 ? dtypes::bool_ : dtypes::int32;
      case Op::VECTORIZE: return dtype.scalar();
      case Op::STORE: return dtype_of(0) ? std::optional(dtype_of(0)->base()) : std::nullopt;
      case Op::CAST:
      case Op::BITCAST:
      case Op::SINK:
      case Op::GROUP:
      case Op::AFTER:
      case Op::END:
      case Op::BARRIER: return std::nullopt;
      default: return dtype;
    }
  }

  // An arg that is a string may span several lines, up to the next node's line.
  Arg read_arg(Op op, size_t begin) {
    size_t end = std::min(input_text_.find('\n', position_), input_text_.size());
    begin = std::min(begin, end);
    if (!kTextArgs.contains(op)) {
      size_t resume = position_;
      int brackets = open_brackets_;
      try {
        position_ = begin;
        Arg a = as_arg(value());
        // in other releases, any arg may be a string of several lines: then `a` is not the whole arg
        if (skip_blanks_in_line(), position_ == end && (!is_foreign() || is_end_of_arg(end)))
          return op == Op::CONST && is_foreign() ? const_float(graph_, a) : a;
      } catch (const Failure&) {
      }
      position_ = resume;
      open_brackets_ = brackets;
    }
    while (end < input_text_.size() && !is_line_start(end + 1))
      end = std::min(input_text_.find('\n', end + 1), input_text_.size());
    position_ = end;
    const std::string_view text = input_text_.substr(begin, end - begin);
    if (size_t bad = utf8_error(text); bad != text.npos) throw_error(begin + bad, "an arg that is not UTF-8");
    return graph_.str(text);
  }
  // Returns true if, after blank lines, a node's line, a comment or the end of the text follows byte `end`.
  bool is_end_of_arg(size_t end) const {
    size_t next = input_text_.find_first_not_of('\n', end);
    return next == input_text_.npos || input_text_[next] == '#' || is_line_start(next);
  }
  bool is_line_start(size_t at) const {
    while (at < input_text_.size() && input_text_[at] == ' ') at++;
    if (at >= input_text_.size()) return true;
    size_t digits = at;
    while (digits < input_text_.size() && is_digit(input_text_[digits])) digits++;
    return digits > at && input_text_.substr(digits, 5) == " Ops.";
  }

  UopsListing out_;
  std::vector<UOp> sources_;
  std::unordered_map<std::string, std::vector<UOp>> constants_;
  std::unordered_map<size_t, std::string_view> lines_by_position_;  // the line at each position; filled on first use
  std::unordered_map<std::string_view, size_t> positions_by_line_;  // the first position of each line
  struct NodeAhead {
    UOp node;
    size_t end = 0;
  };
  static constexpr size_t kMaxLevelsAhead = 1000;
  size_t levels_ahead_ = 0;
  std::unordered_map<size_t, size_t> line_offsets_;
  std::unordered_map<size_t, NodeAhead> nodes_ahead_;
  std::vector<size_t> cited_positions_;  // positions to which sources refer; empty for 0.12.0
  // positions whose nodes are tagged with the position, to differ from the nodes of equal lines
  std::unordered_set<size_t> lookalike_positions_;
  size_t num_ambiguous_constants_ = 0, num_missing_sources_ = 0;
  StatedFactsByNumber stated_facts_;
  std::span<const UOp> expected_list_;
  std::vector<size_t> misread_positions_;
};

}  // namespace

CompleteText print_uops_complete(std::span<const UOp> list) {
  CompleteText out{print_uops(list)};
  if (list.empty()) return out;
  std::unordered_map<UOp, size_t> position;
  for (size_t i = 0; i < list.size(); i++) position.try_emplace(list[i], i);
  std::string comments;
  for (size_t i : ListingReader(list[0].graph(), out.text, {}).find_misread_positions(list)) {
    UOp u = list[i];
    comments += "# UOp " + std::to_string(i) + ": " + complete_repr(u.dtype());
    std::vector<Arg> sources;
    for (UOp s : u.src())
      if (auto known = position.find(s); known != position.end() && known->second < i)
        sources.push_back(int64_t(known->second));
    if (u.num_src() && sources.size() == u.num_src()) comments += ", src=" + u.graph().tuple(sources).repr();
    if (!u.tag().is_none()) comments += ", tag=" + u.tag().repr();
    comments += '\n';
  }
  out.is_header_needed = !comments.empty();
  out.text.insert(0, comments);
  return out;
}

Result<UopsListing> read_uops(Graph& graph, std::string_view text, std::string_view file, NodePlaces* places) {
  return catch_failures([&] { return ListingReader(graph, text, file, places).read(); });
}

}  // namespace tgc
