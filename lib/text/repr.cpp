#include "lib/text/repr.h"

#include <cmath>
#include <unordered_map>

#include "lib/support/deep_stack.h"
#include "lib/support/limits.h"
#include "lib/support/pytext.h"
#include "lib/text/py_values.h"

namespace tgc {

namespace {

struct ReprOutput {
  std::string text;
  size_t num_nodes = 0;
  std::string comments;
};

void append_repr(ReprOutput& to, UOp root, size_t indent);

bool holds_uop(Arg a) {
  if (a.is_uop()) return true;
  if (!a.is_tuple() && a.kind() != Arg::Kind::Record) return false;
  for (Arg item : a.items())
    if (holds_uop(item)) return true;
  return false;
}

void append_arg(ReprOutput& to, Arg a) {
  if (a.is_uop()) return call_with_stack([&] { append_repr(to, a.uop(), 0); });
  std::string& out = to.text;
  if (!holds_uop(a)) return a.append_repr(out);
  bool is_record = a.kind() == Arg::Kind::Record;
  if (is_record) out += RecordView(a).name();
  out += '(';
  auto items = is_record ? RecordView(a).values() : a.items();
  for (size_t i = 0; i < items.size(); i++) {
    if (i) out += ", ";
    if (is_record && !RecordView(a).field(i).empty()) out.append(RecordView(a).field(i)) += '=';
    append_arg(to, items[i]);
  }
  if (a.is(RecordClass::Kernel)) out += ", grad_fxn=None";
  out += !is_record && items.size() == 1 ? ",)" : ")";
}

// From 0.13 on, a float arg of a CONST is printed as ConstFloat(...).
void append_node_arg(ReprOutput& to, UOp u) {
  Arg a = printed_arg(u);
  if (!u.graph().is_foreign() || u.graph().release() == Release::v0_11) return append_arg(to, a);
  if (u.is(Op::CONST) && is_const_float(a)) to.text.append("ConstFloat(").append(a.repr()).append(")");
  else append_arg(to, a);
}

struct NodeSharing {
  int64_t number = 0;
  uint32_t num_uses = 0;
  bool is_printed = false;
};

void find_sharing(UOp root, UOpMap<NodeSharing>& sharing) {
  int64_t next = 0;
  struct Frame {
    UOp node;
    uint32_t next;
  };
  std::vector<Frame> stack{{root, 0}};
  while (!stack.empty()) {
    auto& [u, i] = stack.back();
    if (i == u.num_src()) {
      stack.pop_back();
      continue;
    }
    UOp s = u.src(i++);
    NodeSharing* known = sharing.find(s);
    if (!known) sharing[s] = {next++}, known = sharing.find(s);
    if (known->num_uses++ == 0) stack.push_back({s, 0});
  }
}

// Appends a comment such as "# UOp 3: dtypes.imagef((1, 2, 4), 128), tag='a'" if the repr of node `number` omits facts.
void append_comment(std::string& out, size_t number, UOp u) {
  bool pitch = u.dtype().is_image() && u.dtype().info()->pitch != -1;
  if (!pitch && !u.tag().is_str()) return;
  out.append("# UOp ").append(std::to_string(number)).append(": ").append(complete_repr(u.dtype()));
  if (u.tag().is_str()) out.append(", tag=").append(u.tag().repr());
  out += '\n';
}

void append_repr(ReprOutput& to, UOp root, size_t indent) {
  std::string& out = to.text;
  UOpMap<NodeSharing> sharing(root.graph());
  find_sharing(root, sharing);
  struct Frame {
    UOp node;
    uint32_t next;
  };
  std::vector<Frame> stack;
  // Writes the beginning of u's text. Unless it is only a name (x0), pushes `u`, so that its sources are written next.
  auto open = [&](UOp u) {
    out.append(indent + 2 * stack.size(), ' ');
    check_limit(Limit::InputBytes, int64_t(out.size()));  // n nested nodes have an indentation of about n * n bytes
    if (NodeSharing* s = sharing.find(u)) {
      if (s->num_uses > 1) out.append("x").append(std::to_string(s->number)).append(s->is_printed ? "" : ":=");
      if (s->is_printed) return;
      s->is_printed = s->num_uses > 1;
    }
    append_comment(to.comments, to.num_nodes++, u);
    out.append("UOp(Ops.").append(printed_op_name(u)).append(", ").append(u.dtype().repr()).append(", arg=");
    append_node_arg(to, u);
    if (holds_uop(u.tag())) out += ", tag=", append_arg(to, u.tag());
    else if (!u.tag().is_none()) out.append(", tag=").append(u.tag().str());
    out += ", src=(";
    stack.push_back({u, 0});
  };
  open(root);
  while (!stack.empty()) {
    auto& [u, next] = stack.back();
    if (next) out += ',';
    if (next == u.num_src()) {
      out += "))";
      stack.pop_back();
    } else {
      out += '\n';
      open(u.src(next++));
    }
  }
}

class ReprReader : public PyValueReader {
 public:
  using PyValueReader::PyValueReader;

  UOp read() {
    stated_facts_ = read_stated_facts();
    open_brackets_++;  // skip line ends like blanks
    UOp root = graph();
    skip_blanks_in_line();
    if (!is_at_end()) throw_error(position_, "unexpected " + found_text(position_), "the end of the input");
    return root;
  }

 private:
  struct Frame {
    Op op;
    std::string_view other_op_name;
    DType dtype;
    Arg arg, tag;
    std::string_view name;
    size_t offset;
    size_t first_source;
  };
  using Names = std::unordered_map<std::string_view, UOp>;

  Value read_other_name(std::string_view name, size_t at) override {
    if (name != "UOp") return PyValueReader::read_other_name(name, at);
    NestingLevel nested(*this);
    position_ = at;
    return {graph()};  // a graph inside an arg has its own names x0, x1, ...
  }

  UOp graph() {
    Names names;
    std::vector<Frame> stack;
    std::vector<UOp> sources;
    for (;;) {
      UOp done;
      skip_blanks_in_line();
      size_t offset = position_;
      std::string_view name = read_identifier("UOp(...)"), label;
      if (name != "UOp") {
        skip_blanks_in_line();
        if (peek_char() == ':' && peek_char(1) == '=') {
          position_ += 2;
          label = name;
          size_t name_at = (skip_blanks_in_line(), position_);
          if (read_identifier("UOp(...)") != "UOp") throw_error(name_at, "found " + found_text(name_at), "UOp(...)");
        } else {
          auto known = names.find(name);
          if (known == names.end())
            throw_error(offset, "unknown name '" + std::string(name) + "'", "UOp(...) or a name given above with ':='");
          done = known->second;
        }
      }
      if (!done) {
        stack.push_back(open_node(label));
        stack.back().offset = offset, stack.back().first_source = sources.size();
        if (!accept_char(')')) continue;
        done = close_node(stack, sources, names);
      }
      // if a ')' comes next, the innermost unfinished node is finished too
      for (;;) {
        if (stack.empty()) return done;
        sources.push_back(done);
        bool comma = accept_char(',');
        skip_blanks_in_line();
        if (peek_char() != ')') {
          if (!comma) throw_error(position_, "found " + found_text(position_), "',' or ')'");
          break;
        }
        position_++;
        done = close_node(stack, sources, names);
      }
    }
  }

  // After the word UOp, reads "(Ops.X, dtype, arg=..., tag=..., src=(".
  Frame open_node(std::string_view label) {
    Frame f{};
    f.name = label;
    expect_char('(', "after 'UOp'");
    auto known = stated_facts_.find(num_nodes_read_++);
    const StatedFacts* stated = known == stated_facts_.end() ? nullptr : &known->second;
    size_t op_at = (skip_blanks_in_line(), position_);
    if (read_identifier("an op") != "Ops") throw_error(op_at, "found " + found_text(op_at), "an op such as Ops.ADD");
    f.op = read_op_name();
    if (f.op == Op::OTHER) f.other_op_name = input_text_.substr(op_at + 4, position_ - op_at - 4);
    expect_char(',', "after the op");
    size_t dtype_at = (skip_blanks_in_line(), position_);
    f.dtype = as_dtype(value(), dtype_at);
    if (stated) f.dtype = stated->dtype;
    for (;;) {
      expect_char(',', "before 'arg=', 'tag=' or 'src='");
      size_t at = (skip_blanks_in_line(), position_);
      std::string_view key = read_identifier("'arg=', 'tag=' or 'src='");
      expect_char('=', "after the keyword");
      if (key == "src") break;
      list_items_.clear();
      if (key == "arg") f.arg = as_arg(value());
      else if (key == "tag" && stated && !stated->stated_tag.is_none())
        f.tag = stated->stated_tag, position_ += f.tag.str().size();
      else if (key == "tag") f.tag = tag();
      else throw_error(at, "unknown keyword '" + std::string(key) + "'", "'arg', 'tag' or 'src'");
    }
    expect_char('(', "for the sources");
    return f;
  }

  UOp close_node(std::vector<Frame>& stack, std::vector<UOp>& sources, Names& names) {
    expect_char(')', "at the end of the UOp");
    Frame f = stack.back();
    stack.pop_back();
    record_node_place(f.offset);
    if (f.op == Op::OTHER) f.arg = other_node_arg(graph_, f.other_op_name, f.arg);
    UOp u = make_node(f.offset, f.op, f.dtype, std::span<const UOp>(sources).subspan(f.first_source), f.arg, f.tag);
    sources.resize(f.first_source);
    if (!f.name.empty()) names[f.name] = u;
    return u;
  }

  // Reads a tag: a string without quotes, or another Python value.
  Arg tag() {
    size_t begin = (skip_blanks_in_line(), position_), end = input_text_.find(", src=(", position_);
    int brackets = open_brackets_;
    try {
      Arg v = as_arg(value());
      skip_blanks_in_line();
      if (peek_char() == ',') return v;
    } catch (const Failure&) {
      if (end == input_text_.npos) throw;
    }
    open_brackets_ = brackets;
    position_ = std::min(end, input_text_.size());
    std::string_view text = input_text_.substr(begin, position_ - begin);
    if (size_t bad = utf8_error(text); bad != text.npos) throw_error(begin + bad, "a tag that is not UTF-8");
    return graph_.str(text);
  }

  size_t num_nodes_read_ = 0;
  StatedFactsByNumber stated_facts_;
};

}  // namespace

std::string repr(UOp root) {
  ReprOutput out;
  append_repr(out, root, 0);
  return std::move(out.text);
}

CompleteText repr_complete(UOp root) {
  ReprOutput out;
  append_repr(out, root, 0);
  return {out.comments + out.text, !out.comments.empty()};
}

Result<UOp> read_repr(Graph& graph, std::string_view text, std::string_view file, NodePlaces* places) {
  return catch_failures([&] { return ReprReader(graph, text, file, places).read(); });
}

void append_open_repr(std::string& out, Arg a) {
  const bool is_record = a.kind() == Arg::Kind::Record;
  if (a.is_uop()) out += repr(a.uop());
  if (a.is_uop()) return;
  if (!is_record && !a.is_tuple()) return a.append_repr(out);
  if (is_record) out += RecordView(a).name();
  auto items = is_record ? RecordView(a).values() : a.items();
  out += '(';
  for (size_t i = 0; i < items.size(); i++) {
    if (i) out += ", ";
    if (is_record && !RecordView(a).field(i).empty()) out.append(RecordView(a).field(i)) += '=';
    append_open_repr(out, items[i]);
  }
  out += !is_record && items.size() == 1 ? ",)" : ")";
}

std::string open_arg_str(UOp u) {
  Arg a = printed_arg(u);
  if (a.is_str()) return std::string(a.text());
  std::string out;
  append_open_repr(out, a);
  return out;
}

bool is_const_float(Arg a) { return a.is_float() || (a.kind() == Arg::Kind::Raw && a.text() == kNegativeZero); }

Arg const_float(Graph& graph, Arg a) {
  const bool negative_zero = a.is_float() && a.to_const().as_float() == 0 && std::signbit(a.to_const().as_float());
  return negative_zero ? graph.raw_arg(kNegativeZero) : a;
}

DType weakint() {
  static const DType d = dtypes::parse_any_release("weakint");
  return d;
}
DType weakfloat() {
  static const DType d = dtypes::parse_any_release("weakfloat");
  return d;
}

bool is_float_of_any_release(DType d) {
  if (d.scalar_kind() != Scalar::Other) return dtypes::is_float(d);
  return d.scalar().repr().find("float") != std::string_view::npos || d.scalar().repr().starts_with("dtypes.fp");
}

std::string node_arg_text(UOp u) { return u.graph().is_foreign() ? open_arg_str(u) : u.arg().repr(); }

}  // namespace tgc
