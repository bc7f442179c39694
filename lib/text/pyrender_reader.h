// The reader of pyrender text: statements, operators and names here, UOp's methods in pyrender_methods.cpp. What texts
// of other releases than 0.12.0 mean by the same syntax is said by a reader derived from it, pyrender_open_reader.cpp.
// For lib/text alone.
#pragma once
#include <unordered_map>

#include "lib/text/py_values.h"

namespace tgc {

class PyrenderReader : public PyValues {
 public:
  PyrenderReader(Graph& graph, std::string_view text, std::string_view file, Places* places)
      : PyValues(graph, text, file, places) {
    numbered_.reserve(kUsual);
    sources_.reserve(kUsual);
  }
  // Of a whole text.
  UOp read();

  // Of lines whose place is known, in a text in which c0, c1, ... are `numbered` and k0(), k1(), ... are `kernels`;
  // read to the letter. What is right of the '=' of the line that begins at byte `at`; a Failure where it cannot be
  // read.
  void assume(std::span<const UOp> numbered, std::span<const UOp> kernels);
  UOp value_of_line(size_t at);
  // What the text leaves open, for messages: a warning each.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Whether a text without a header would have been read as more than its letters say.
  bool would_infer() const { return would_infer_; }

 protected:
  struct Infix {
    Op op;
    int8_t precedence;  // higher binds tighter
    int8_t length;
    bool negate = false;  // of comparisons: a >= b is !(a < b)
    bool swap = false;
  };

  // ---- what the words mean, which is each release's own
  virtual Value apply(const Infix& op, const Value& left, size_t left_at, const Value& right, size_t right_at);
  virtual Value uop_call(size_t at);                                          // UOp(...)
  virtual Value uop_static(size_t at);                                        // UOp.range(...)
  virtual UOp make_const(const Arguments& args, size_t at);                   // UOp.const(...)
  virtual UOp method_call(UOp self, std::string_view name, size_t at);        // self.store(...), after the name
  Value other_name(std::string_view name, size_t at) override;
  Value constant(size_t at);                                                  // after UOp.const
  Value constant_arithmetic(const Infix& op, Const a, Const b, size_t at);
  const Argument& need(const Arguments& args, size_t i, const char* what, size_t at);
  Arg device_argument(const Argument& a);
  DType dtype_keyword(const Arguments& args, DType otherwise);
  void count(const Arguments& args, size_t least, size_t most, std::string_view name, size_t at);
  // Whether what tinygrad's letters leave out is inferred here: in a text of tinygrad's own, outside kernels.
  bool infers() {
    would_infer_ = true;
    return !literal_ && !functions_;
  }
  DType loaded_dtype(UOp from);
  void leave_open(UOp u) { open_.emplace_back(u, line_name_); }  // its dtype is inferred from its uses
  void define(std::string_view name, UOp u);
  UOp find(std::string_view name) const;  // the empty UOp: no such name

  std::vector<UOp> sources_;                               // of the node being made

 private:
  enum class Method : uint8_t;
  struct MethodName;
  static const MethodName kMethods[];

  // ---- statements
  UOp assignment(std::string_view name, size_t at);
  bool may_be_corrected() const { return peek() == '\n' && (peek(1) == '#' || peek(1) == ' '); }
  UOp correction(std::string_view name, UOp u);
  void function();
  void end_of_line();

  // ---- operators
  Value expression() override { return infix_expression(0); }
  bool quick_item(Value& out) override;
  Value infix_expression(int min_precedence);
  Value nested_expression(int min_precedence);
  const Infix* infix() const;  // that comes next; null: none
  bool numbered(Value& out);
  Value unary();
  Value postfix(Value v);
  Value apply_beside_literal(const Infix& op, const Value& left, size_t left_at, const Value& right, size_t right_at);
  UOp load_call(UOp from, const Arguments& args, size_t at);
  UOp reduce_call(UOp self, const Arguments& args, size_t at);
  UOp infer_dtypes(UOp root);
  UOp literal_beside(UOp u, Const value);

  // ---- UOp(...), UOp.const(...), x.where(...)
  UOp make_range(const Arguments& args, size_t at);
  UOp make_special(const Arguments& args, size_t at);
  UOp make_variable(const Arguments& args, size_t at);
  UOp make_buffer(const Arguments& args, size_t at);
  UOp make_leaf(std::string_view name, size_t name_at, const Arguments& args);
  UOp size_argument(const Argument& a, DType dtype);  // an integer or a UOp, as a UOp of `dtype`

  UOp call(UOp self, Method method, std::string_view name, const Arguments& args, size_t at);
  UOp alu_call(UOp self, Op op, const Arguments& args, size_t at);
  UOp generic_call(UOp self, Op op, DType dtype, const Arguments& args, size_t at);
  UOp assign_call(UOp self, const Arguments& args, size_t at);
  UOp replace_call(UOp self, const Arguments& args, size_t at);
  UOp where_call(UOp self, const Arguments& args, size_t at);
  UOp explicit_alu_call(UOp self, const Arguments& args, size_t at);
  UOp broadcast_call(UOp self, const Arguments& args, size_t at);
  UOp gep_call(UOp self, const Arguments& args, size_t at);
  UOp copy_call(UOp self, const Arguments& args, size_t at);
  UOp reduce_axis_call(UOp self, const Arguments& args, size_t at);
  UOp movement_call(UOp self, Method method, const Arguments& args, size_t at);
  UOp sizes_node(std::span<const Arg> sizes, size_t at);
  UOp operand(const Argument& a, UOp like);

  std::vector<UOp> numbered_;                              // c0, c1, ...: what nearly all names are
  std::unordered_map<std::string_view, UOp> names_, kernels_;
  std::vector<std::string> kernel_names_;                  // that were assumed
  int functions_ = 0;                                      // that are open
  bool literal_ = false;                                   // tgc wrote the text: nothing is to be inferred
  bool would_infer_ = false;
  std::string_view line_name_;                             // of the line that is being read
  // nodes whose dtype the text leaves out, and the lines they are in
  std::vector<std::pair<UOp, std::string_view>> open_;
  std::vector<std::string> warnings_;
  int64_t unique_constants_ = 0;                           // constants whose unique number the text leaves out
  bool stand_ins_ = false;                                 // constants whose device it leaves out
};

}  // namespace tgc
