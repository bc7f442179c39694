// The reader of pyrender text (pyrender_reader.cpp, pyrender_methods.cpp).
#pragma once
#include <unordered_map>

#include "lib/text/py_values.h"

namespace tgc {

class PyrenderReader : public PyValueReader {
 public:
  PyrenderReader(Graph& graph, std::string_view text, std::string_view file, NodePlaces* places)
      : PyValueReader(graph, text, file, places) {
    numbered_nodes_.reserve(kUsualCapacity);
    current_sources_.reserve(kUsualCapacity);
  }
  UOp read_graph();

  // assume_names() defines the names c0, c1, ... and k0(), k1(), ... Then value_of_line() evaluates the right side of
  // the assignment that begins at byte `at`, and infers nothing. Throws Failure.
  void assume_names(std::span<const UOp> numbered, std::span<const UOp> kernels);
  UOp value_of_line(size_t at);
  // Makes read_graph() append the node of each assignment to `nodes`.
  void note_nodes(std::vector<NodePosition>* nodes) { statement_nodes_ = nodes; }
  // Returns warnings about facts that the text omits and that could not be inferred.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Returns true if the text read so far omits a fact that would be inferred if the text had no header.
  bool would_infer_facts() const { return would_infer_facts_; }

 protected:
  struct InfixOperator {
    Op op;
    int8_t precedence;  // a higher number binds tighter
    int8_t length;
    bool negates_result = false;  // a >= b is built as !(a < b)
    bool swaps_operands = false;
  };

  // ---- the reader of other releases (pyrender_open_reader.cpp) overrides the virtual functions
  virtual Value apply_infix(const InfixOperator& op, const Value& left, size_t left_at, const Value& right,
                            size_t right_at);
  virtual Value read_uop_call(size_t at);                                     // UOp(...)
  virtual Value read_uop_static(size_t at);                                   // UOp.range(...)
  virtual UOp make_const(const CallArguments& args, size_t at);               // UOp.const(...)
  virtual UOp read_method_call(UOp self, std::string_view name, size_t at);   // self.store(...), after the name
  Value read_other_name(std::string_view name, size_t at) override;
  Value read_constant(size_t at);  // the arguments of UOp.const
  Value constant_arithmetic(const InfixOperator& op, Const a, Const b, size_t at);
  const CallArgument& required_argument(const CallArguments& args, size_t i, const char* what, size_t at);
  Arg device_argument(const CallArgument& a);
  DType dtype_keyword(const CallArguments& args, DType otherwise);
  void check_argument_count(const CallArguments& args, size_t least, size_t most, std::string_view name, size_t at);
  // Call it where the text omits a fact. Returns true if the fact must be inferred: outside functions, without a
  // header.
  bool may_infer() {
    would_infer_facts_ = true;
    return !has_all_facts_stated_ && !function_depth_;
  }
  DType loaded_dtype(UOp from);
  // Call it for a node whose uses decide its vector length.
  void infer_length_later(UOp u) { nodes_of_open_length_.emplace_back(u, line_name_); }
  void define_name(std::string_view name, UOp u);
  UOp find_name(std::string_view name) const;

  std::vector<UOp> current_sources_;

 private:
  enum class Method : uint8_t;
  struct MethodName;
  static const MethodName kMethods[];

  // ---- statements
  UOp read_assignment(std::string_view name, size_t at);
  bool may_have_correction() const { return peek_char() == '\n' && (peek_char(1) == '#' || peek_char(1) == ' '); }
  UOp read_correction(std::string_view name, UOp u);
  void read_function();
  void expect_line_end();

  // ---- operators, and inferred facts
  Value read_expression() override { return infix_expression(0); }
  bool read_item_quickly(Value& out) override;
  Value infix_expression(int min_precedence);
  Value nested_expression(int min_precedence);
  const InfixOperator* peek_infix() const;
  bool read_numbered_name(Value& out);
  Value read_unary();
  Value read_postfix(Value v);
  Value apply_beside_literal(const InfixOperator& op, const Value& left, size_t left_at, const Value& right,
                             size_t right_at);
  UOp load_call_node(UOp from, const CallArguments& args, size_t at);
  UOp reduce_call_node(UOp self, const CallArguments& args, size_t at);
  UOp infer_dtypes(UOp root);
  void replace_noted_nodes(UOp before, UOp after);
  UOp constant_beside(UOp u, Const value);

  // ---- UOp(...), UOp.const(...), x.where(...)
  UOp make_range(const CallArguments& args, size_t at);
  UOp make_special(const CallArguments& args, size_t at);
  UOp make_variable(const CallArguments& args, size_t at);
  UOp make_buffer(const CallArguments& args, size_t at);
  UOp make_leaf(std::string_view name, size_t name_at, const CallArguments& args);
  UOp size_argument(const CallArgument& a, DType dtype);  // an integer as a CONST of `dtype`, a UOp cast to it

  UOp call_method(UOp self, Method method, std::string_view name, const CallArguments& args, size_t at);
  UOp alu_call_node(UOp self, Op op, const CallArguments& args, size_t at);
  UOp generic_call_node(UOp self, Op op, DType dtype, const CallArguments& args, size_t at);
  UOp assign_call_node(UOp self, const CallArguments& args, size_t at);
  UOp replace_call_node(UOp self, const CallArguments& args, size_t at);
  UOp where_call_node(UOp self, const CallArguments& args, size_t at);
  UOp explicit_alu_call_node(UOp self, const CallArguments& args, size_t at);
  UOp broadcast_call_node(UOp self, const CallArguments& args, size_t at);
  UOp gep_call_node(UOp self, const CallArguments& args, size_t at);
  UOp copy_call_node(UOp self, const CallArguments& args, size_t at);
  UOp reduce_axis_call_node(UOp self, const CallArguments& args, size_t at);
  UOp movement_call_node(UOp self, Method method, const CallArguments& args, size_t at);
  UOp sizes_node(std::span<const Arg> sizes, size_t at);
  UOp operand_node(const CallArgument& a, UOp like);

  std::vector<UOp> numbered_nodes_;
  std::unordered_map<std::string_view, UOp> named_nodes_, kernel_nodes_;
  std::vector<std::string> kernel_names_;
  int function_depth_ = 0;
  // nothing is inferred: the text has tgc's header, or assume_names() was called
  bool has_all_facts_stated_ = false;
  bool would_infer_facts_ = false;
  std::vector<NodePosition>* statement_nodes_ = nullptr;
  std::string_view line_name_;
  // nodes whose uses decide their vector lengths, each with the name that its line assigns
  std::vector<std::pair<UOp, std::string_view>> nodes_of_open_length_;
  std::vector<std::string> warnings_;
  // number of constants read so far that need a LUNIQUE number, which the text omits
  int64_t num_unique_constants_ = 0;
  bool has_stand_ins_ = false;  // the text omits the device of a constant
};

}  // namespace tgc
