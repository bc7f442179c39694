// Values: what each UOp of a kernel is in REF's code. `Values::lower` translates every op that neither opens nor closes
// a range. Inside: for ref/ alone.
//
// A vector is a list of its elements, each a register: VECTORIZE, GEP, CAT only pick elements and make no code. A
// pointer is no number either: it says which memory it points into, in which register the offset is, and in which the
// condition under which it may be followed (its gate).
#pragma once
#include <array>
#include <deque>
#include <vector>

#include "lib/runtime/ref/builder.h"
#include "lib/uop/graph.h"

namespace tgc::ref {

// One element of a value: a number, or a pointer to one.
struct Element {
  Reg reg = kNone;      // holds the number; of a pointer the offset, and kNone means 0
  Reg valid = kNone;    // of an index and a pointer: holds the gate, a Bool; kNone means always open
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

  // Looks through all nodes of the kernel beforehand. Before the stage that adds loads, an INDEX may be used as a
  // number, and stands for the element that it points to; it is then loaded from where it is lowered.
  void scan(std::span<const UOp> nodes);

  const Value& get(UOp u) const;    // throws Failure when it was not lowered
  // Where to store to: of an INDEX that scan() found to be used as a number its pointer; of anything else as get.
  const Value& place(UOp u) const;
  bool known(UOp u) const { return current_[u.id()] != nullptr; }
  void set(UOp u, Value value) { set_slot(u.id(), std::move(value)); }
  Element scalar(UOp u) const;    // of a value with one element

  // A body that is lowered more than once (an unrolled loop, the lanes of a group) has other values each time: what is
  // set between enter and leave holds until leave, then whatever it replaced is back.
  void enter() { marks_.push_back(undo_.size()); }
  void leave();
  // What DEFINE_REGs mean in lanes that have just been opened: of each of `own` every lane has its own register, which
  // begins as it was outside.
  void enter_lanes(std::span<const UOp> own);
  void leave_lanes();  // they are what they were outside; those that were set in the lanes alone are forgotten
  // The same where iterations of a loop stand for threads: what they begin with, made before the loop is opened, and
  // at the beginning of each.
  struct Begun {
    Reg own, value;
  };
  std::vector<Begun> begun(std::span<const UOp> own);
  void compile_copy(std::span<const Begun> registers);

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
  int32_t file_of(UOp define) const;
  Reg& file_element(const Element& pointer, int64_t plus, bool for_load);
  Reg offset_plus(Reg offset, int64_t plus);
  Element pointer_arithmetic(UOp u, size_t i);
  Element viewed_as(Element pointer, DType scalar);
  bool has_constant_indices(UOp define) const;

  Builder& builder_;
  size_t size_;                        // nodes of the graph
  // By slot, null where there is none. Slot `id` is the value of node `id`.
  // An INDEX that is used as a number needs two:
  // slot `size_ + id` is its pointer.
  std::vector<const Value*> current_;
  std::deque<Value> pool_;                              // where they lie; never shrinks, so that they stay in place
  // what each set() since the first enter replaced: slot and value
  std::vector<std::pair<size_t, const Value*>> undo_;
  std::vector<size_t> marks_;                           // by enter that was not left: how long undo_ was
  UOpSet value_uses_;                                   // the INDEX nodes that are used as numbers
  std::vector<UOp> dynamic_registers_;  // DEFINE_REGs that need memory
  std::vector<File> files_;
  struct LaneRegister {
    int32_t file;
    size_t element;
    Reg outside;
  };
  std::vector<LaneRegister> lane_registers_;
  std::vector<std::pair<UOp, Value>> defines_;
  std::vector<std::array<int32_t, 3>> views_;  // memory, scalar, the same memory as elements of that scalar
};

// The DEFINE that a pointer or an INDEX is based on, the empty UOp when there is none.
UOp define_below(UOp u);

[[noreturn]] void cannot_run(UOp u, const std::string& why);
// Element i of an operand of u, or the only one that it has: throws Failure where it has fewer. A stage that is wrong
// makes vectors of other lengths than their dtypes say.
const Element& element_of(UOp u, const Value& operand, size_t i);
// Runs `body`, which makes the code of `u`: what it finds that REF has no code for is said of that node.
template <class Body>
void naming(UOp u, Body body) {
  try {
    body();
  } catch (const Unsupported& e) {
    cannot_run(u, e.diag().message);
  }
}

}  // namespace tgc::ref
