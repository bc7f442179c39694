// Parses the Python values in tinygrad's texts, such as numbers, tuples, dtypes and dataclasses.
#pragma once
#include <unordered_map>
#include <vector>

#include "lib/text/py_scan.h"
#include "lib/text/source_position.h"
#include "lib/uop/graph.h"

namespace tgc {

class PyValueReader : public PyScanner {
 public:
  PyValueReader(Graph& graph, std::string_view text, std::string_view file, NodePlaces* places = nullptr)
      : PyScanner(text, file), graph_(graph), node_places_(places) {
    list_items_.reserve(kUsualCapacity);
    item_stack_.reserve(kUsualCapacity);
    argument_stack_.reserve(kUsualCapacity);
  }
  virtual ~PyValueReader() = default;

 protected:
  // An arg, or a bracketed list, which is not an arg yet because most lists are the sources of a node.
  struct Value {
    Arg arg = {};
    bool is_list = false;
    uint16_t nesting_depth = 0;
    uint32_t first_item = 0, num_items = 0;  // if is_list: a range of list_items_
    bool is_uop() const { return !is_list && arg.is_uop(); }
  };
  struct CallArgument {
    std::string_view keyword;  // empty for a positional argument
    Value value;
    size_t offset;
  };
  class CallArguments {
   public:
    CallArguments(PyValueReader& reader, size_t base) : reader_(reader), base_(base) {}
    CallArguments(const CallArguments&) = delete;
    ~CallArguments() { reader_.argument_stack_.resize(base_); }
    size_t size() const { return reader_.argument_stack_.size() - base_; }
    bool empty() const { return size() == 0; }
    const CallArgument& operator[](size_t i) const { return begin()[i]; }
    const CallArgument* begin() const { return reader_.argument_stack_.data() + base_; }
    const CallArgument* end() const { return begin() + size(); }
    const CallArgument* keyword(std::string_view name) const;
    // Returns the argument at `position`, or else the one with the keyword `name`; null if there is neither.
    const CallArgument* find(size_t position, std::string_view name) const;

   private:
    PyValueReader& reader_;
    size_t base_;
  };

  virtual Value read_expression() { return value(); }
  // Fast path for common forms of an argument or list item. Returns false and reads nothing at other forms.
  virtual bool read_item_quickly(Value&) { return false; }
  // Returns the value that begins with a name like UOp or c12. The base class knows no such name: it throws a Failure.
  virtual Value read_other_name(std::string_view name, size_t at);

  Value value();  // a literal, a bracketed list or a name, optionally with a sign
  Value read_primary();
  Value read_list();
  Value read_item() {
    Value v;
    skip_blanks_in_line();
    return read_item_quickly(v) ? v : read_with_nesting([&] { return read_expression(); });
  }
  // Returns inner + 1. Throws Failure if that exceeds kMaxArgDepth.
  uint16_t next_depth(uint16_t inner, size_t at) const;
  CallArguments read_arguments();
  void check_keywords(const CallArguments& args, std::initializer_list<std::string_view> allowed) const;
  std::string_view read_attribute(const char* what);

  // ---- conversions: those with `at` throw Failure at this byte if the value is of another kind
  Arg as_arg(const Value& v) {
    return v.is_list ? graph_.tuple(std::span(list_items_).subspan(v.first_item, v.num_items)) : v.arg;
  }
  UOp as_uop(const Value& v, size_t at) {
    if (!v.is_uop()) throw_wrong_type(v, at, "a UOp");
    return v.arg.uop();
  }
  DType as_dtype(const Value& v, size_t at) {
    if (v.is_list || v.arg.kind() != Arg::Kind::DType) throw_wrong_type(v, at, "a dtype");
    return v.arg.dtype();
  }
  Const as_const(const Value& v, size_t at) {
    if (v.is_list || !v.arg.is_const()) throw_wrong_type(v, at, "a number");
    return v.arg.to_const();
  }
  int64_t as_int(const Value& v, size_t at) {
    if (v.is_list || !v.arg.is_int() || !v.arg.as_int().is_small())
      throw_wrong_type(v, at, "an integer of at most 64 bits");
    return v.arg.small_int();
  }
  std::span<const Arg> list_items_of(const Value& v) const {
    return v.is_list ? std::span<const Arg>(list_items_).subspan(v.first_item, v.num_items) : v.arg.items();
  }
  void append_uops(std::vector<UOp>& out, const Value& v, size_t at);
  [[noreturn]] void throw_wrong_type(const Value& v, size_t at, const char* expected);
  std::string describe_value(const Value& v) const;

  // In a graph of 0.12.0, throws Failure at byte `at` if the op cannot have these sources or this arg.
  UOp make_node(size_t at, Op op, DType dtype, std::span<const UOp> src, Arg arg = {}, Arg tag = {});

  DType dtype();
  Value record(RecordClass c, size_t at);
  Op read_op_name();
  // true if the release is not 0.12.0; then unknown ops and enum values are kept as text
  bool is_foreign() const { return graph_.is_foreign(); }
  Value read_open_record(std::string_view name, size_t at);  // a dataclass of another release than 0.12.0

  // Records byte `at` as the position of the nodes that are made from now on.
  void record_node_place(size_t at) {
    if (node_places_) node_places_->push_back({uint32_t(graph_.size()), at});
  }

  // The facts of a node that a comment above a text states, for example "# UOp 3: dtypes.int, src=(1, 2), tag='a'".
  struct StatedFacts {
    DType dtype;
    Arg src, stated_tag;  // None: not stated in the comment
  };
  using StatedFactsByNumber = std::unordered_map<size_t, StatedFacts>;
  StatedFactsByNumber read_stated_facts();

  static constexpr size_t kUsualCapacity = 64;

  Graph& graph_;
  NodePlaces* node_places_;
  std::vector<Arg> list_items_;  // the items of bracketed lists

 private:
  DType read_dtype_slowly(size_t at);
  Value read_named_value(std::string_view name, size_t at);
  Arg addrspace();

  std::vector<Arg> item_stack_;
  std::vector<CallArgument> argument_stack_;
};

// Returns the value of a text such as "dtypes.float.vec(4)" or "AxisType.LOOP". Throws a Failure if the text is no
// value.
Arg read_value(Graph& graph, std::string_view text);

// Returns the repr with the pitch of an image, which tinygrad leaves out and tgc's readers accept.
std::string complete_repr(DType d);

}  // namespace tgc
