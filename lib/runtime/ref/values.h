// Values: what each UOp of a kernel is in REF's code. A vector is the list of its elements, so VECTORIZE, GEP, CAT and
// the like make no code; a pointer is a memory, an offset and a gate. `Values::lower` translates every op that neither
// opens nor closes a range. Inside: for ref/ alone.
#pragma once
#include <array>
#include <deque>
#include <vector>

#include "lib/runtime/ref/builder.h"
#include "lib/uop/graph.h"

namespace tgc::ref {

// One element: a number, or where one is.
struct Element {
  Reg reg = kNone;      // the number; of a pointer the offset, kNone: 0
  Reg valid = kNone;    // a Bool, kNone: true. An index that is not valid makes a gate that is closed
  int32_t memory = -1;  // of a pointer into memory
  int32_t file = -1;    // of a pointer into registers: which of Values' files
  bool bytes = false;   // the offset counts bytes, not elements: a pointer that was cast to an integer
  bool pixel = false;   // a pointer to the four elements of an image's pixel
  bool is_pointer() const { return memory >= 0 || file >= 0; }
};
using Value = std::vector<Element>;

class Values {
 public:
  Values(Graph& graph, Builder& builder)
      : builder_(builder), size_(graph.size()), current_(2 * graph.size(), nullptr), value_uses_(graph) {}

  // What is used how, over all nodes of the kernel: an INDEX that stands for the element it points to is loaded from.
  void scan(std::span<const UOp> nodes);

  const Value& get(UOp u) const;    // throws Failure when it was not lowered
  const Value& place(UOp u) const;  // the pointer of an INDEX that stands for what it points to; else as get
  bool known(UOp u) const { return current_[u.id()] != nullptr; }
  void set(UOp u, Value value) { set_slot(u.id(), std::move(value)); }
  Element scalar(UOp u) const;    // of a value with one element

  // Values set from enter on are forgotten, and those they hid return, at leave.
  void enter() { marks_.push_back(undo_.size()); }
  void leave();
  void leave_lanes();  // forgets the registers that were made for DEFINE_REGs in the lanes

  void lower(UOp u);

  // The value of type `to` for one of `from`, each op rounding as its dtype does.
  Reg cast(Reg r, DType from, DType to);
  Reg rounded(Reg r, DType dtype);  // of an F32: to a narrow float
  Reg alu(Op op, DType dtype, std::span<const Reg> operands);
  static Opc opcode(Op op);
  static Opc rounding(DType dtype);  // Mov when there is none

  Reg constant(DType dtype, Const value);
  Reg size_register(UOp range);      // what src[0] of a RANGE or a SPECIAL says, an I64

  // Memory of the kernel's own; `group` as in MemoryInfo.
  int32_t scratch(const std::string& name, DType element, int64_t size, int64_t group);
  void store_buffer(UOp bufferize, int32_t memory);  // its value at its index
  // So many lanes share what a DEFINE_LOCAL defines (unless told, all do).
  void share_local(UOp define, int64_t group) { builder_.memory(lower_define(define)[0].memory).group = group; }
  // Whether the INDEX is loaded from where it stands.
  bool is_loaded(UOp index) const { return value_uses_.contains(index); }

 private:
  struct File {  // a DEFINE_REG that is always indexed by constants: registers
    DType dtype;
    std::vector<Reg> elements;
  };

  void set_slot(size_t slot, Value value);
  Value lower_value(UOp u);
  Value lower_const(UOp u);
  Value lower_define(UOp u);
  Value lower_index(UOp u);
  Value flat_index(UOp buffer, std::span<const UOp> indices) const;
  Value index_image(UOp u, const Value& pointer, const Value& at);
  Value lower_load(UOp u);
  void lower_store(UOp u);
  Value lower_elementwise(UOp u);
  Value lower_where(UOp u);
  Value lower_bitcast(UOp u);
  Value lower_wmma(UOp u);
  Value concatenated(UOp u);
  Element load_element(const Element& pointer, int64_t plus, Reg alt);
  void store_element(const Element& pointer, int64_t plus, Reg value);
  Reg& file_element(const Element& pointer, int64_t plus, bool for_load);
  Reg offset_plus(Reg offset, int64_t plus);
  Element pointer_arithmetic(UOp u, size_t i);
  Element viewed_as(Element pointer, DType scalar);
  bool has_constant_indices(UOp define) const;

  Builder& builder_;
  size_t size_;                        // nodes of the graph
  std::vector<const Value*> current_;  // by node id; behind them, the places of INDEX nodes that are loaded from
  std::deque<Value> pool_;
  std::vector<std::pair<size_t, const Value*>> undo_;
  std::vector<size_t> marks_;
  UOpSet value_uses_;             // INDEX nodes used as what they point to
  std::vector<UOp> dynamic_registers_;  // DEFINE_REGs that need memory
  std::vector<File> files_;
  std::vector<int32_t> files_in_lanes_;
  std::vector<std::pair<UOp, Value>> defines_;
  std::vector<std::array<int32_t, 3>> views_;  // memory, scalar, the same memory as elements of that scalar
};

// The DEFINE that a pointer or an INDEX is based on, the empty UOp when there is none.
UOp define_below(UOp u);

[[noreturn]] void cannot_run(UOp u, const std::string& why);

}  // namespace tgc::ref
