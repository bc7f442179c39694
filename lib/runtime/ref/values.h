// Values: maps each UOp of a kernel to its value in REF's code. `Values::lower` translates every op that neither opens
// nor closes a range. Internal to ref/.
//
// A vector is a list of elements, each in a register: VECTORIZE, GEP and CAT only pick elements and generate no code. A
// pointer is not a number: it holds the memory it points into, the register of its offset, and the register of its
// gate, the condition under which it may be dereferenced.
#pragma once
#include <array>
#include <deque>
#include <vector>

#include "lib/runtime/ref/builder.h"
#include "lib/uop/graph.h"

namespace tgc::ref {

// One element of a value: a number or a pointer.
struct Element {
  Reg reg = kNone;                // the number; for a pointer the offset (kNone: 0)
  Reg gate = kNone;               // for an index or pointer: the gate, a Bool (kNone: always true)
  int32_t memory = -1;            // for a pointer into memory: the memory's index
  int32_t register_file = -1;     // for a pointer into registers: the index in Values::register_files_
  bool is_byte_offset = false;    // true if the offset counts bytes, not elements: the pointer was cast to an integer
  bool is_pixel_pointer = false;  // true if the pointer is to the four elements of an image's pixel
  bool is_pointer() const { return memory >= 0 || register_file >= 0; }
};
using Value = std::vector<Element>;

class Values {
 public:
  Values(Graph& graph, Builder& builder)
      : builder_(builder), num_nodes_(graph.size()), current_values_(2 * graph.size(), nullptr), value_uses_(graph) {}

  // Scans all nodes of the kernel; call it first. Before tinygrad's stage that adds loads, an INDEX used as a number
  // has the value of the element at that index. find_value_uses() finds these INDEX nodes, whose
  // elements lower() loads, and the DEFINE_REGs that need memory.
  void find_value_uses(std::span<const UOp> nodes);

  const Value& value_of(UOp u) const;    // throws Failure if `u` has not been lowered
  // Returns the pointer for an access to `u`, even if `u` is an INDEX for which value_of() returns the loaded number.
  const Value& value_slot(UOp u) const;
  bool is_lowered(UOp u) const { return current_values_[u.id()] != nullptr; }
  void set_value(UOp u, Value value) { set_slot(u.id(), std::move(value)); }
  Element scalar(UOp u) const;    // returns the value's only element; throws Failure if there are several

  // A body that is lowered more than once (an unrolled loop, the lanes of a group) has different values each time:
  // leave_scope() undoes every set_value() since the matching enter_scope().
  void enter_scope() { undo_marks_.push_back(undo_log_.size()); }
  void leave_scope();
  // Call after opening lanes: gives each lane its own copy of the DEFINE_REGs in `own`, initialized with the outer
  // values.
  void enter_lanes(std::span<const UOp> own);
  void leave_lanes();  // restores the outer registers; forgets registers first set inside the lanes
  // save_registers() and restore_registers() do the same as enter_lanes() for threads that run as iterations of a loop:
  // the first saves the registers' values before the loop opens, the second restores them at the start of each
  // iteration.
  struct SavedRegister {
    Reg own_register, value;
  };
  std::vector<SavedRegister> save_registers(std::span<const UOp> own);
  void restore_registers(std::span<const SavedRegister> registers);

  void lower(UOp u);

  // Casts a number from one dtype to another, and rounds the result to `to`.
  Reg cast(Reg r, DType from, DType to);
  Reg round_register(Reg r, DType dtype);  // rounds an F32 to a narrow float
  Reg alu(Op op, DType dtype, std::span<const Reg> operands);
  static Opc opcode(Op op);
  static Opc rounding(DType dtype);  // returns the op that rounds to a narrow float; Mov: no rounding

  Reg constant(DType dtype, Const value);
  Reg size_register(UOp range);      // returns the number of iterations, src[0] of a RANGE or SPECIAL, as an I64

  // Adds scratch memory of `size` elements. Every `group` lanes share one copy; with 0, all lanes share one.
  int32_t scratch(const std::string& name, DType element, int64_t size, int64_t group);
  void store_buffer(UOp bufferize, int32_t memory);  // stores the BUFFERIZE's value at its index
  // Lets every `group` lanes share one copy of a DEFINE_LOCAL; by default, all lanes share one.
  void share_local(UOp define, int64_t group) {
    builder_.memory(lower_define(define)[0].memory).lane_group_size = group;
  }
  // True if the INDEX is used as a number, so that lower() loads its element when it lowers the INDEX.
  bool is_loaded(UOp index) const { return value_uses_.contains(index); }

 private:
  struct RegisterFile {  // registers of a DEFINE_REG that is indexed only by constants
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
  void lower_atomic_add(UOp u);
  Value lower_elementwise(UOp u);
  Value lower_where(UOp u);
  Value lower_bitcast(UOp u);
  Value lower_wmma(UOp u);
  Value concatenate(UOp u);
  Element load_element(const Element& pointer, int64_t plus, Reg alt);
  void store_element(const Element& pointer, int64_t plus, Reg value);
  int32_t register_file_of(UOp define) const;
  Reg& register_element(const Element& pointer, int64_t plus, bool for_load);
  Reg offset_plus(Reg offset, int64_t plus);
  Element pointer_arithmetic(UOp u, size_t i);
  Element view_as(Element pointer, DType scalar);

  Builder& builder_;
  size_t num_nodes_;                        // number of nodes of the graph
  // Current values by slot; null if there is none. Slot `id` is the value of node `id`; slot `num_nodes_ + id` is the
  // pointer of an INDEX that is used as a number.
  std::vector<const Value*> current_values_;
  // owns the values; never shrinks, so that pointers stay valid
  std::deque<Value> value_pool_;
  // undo log of set_value(): slot and previous value
  std::vector<std::pair<size_t, const Value*>> undo_log_;
  // the length of undo_log_ at each enter_scope() without leave_scope()
  std::vector<size_t> undo_marks_;
  UOpSet value_uses_;                   // the INDEX nodes used as numbers, not as addresses
  std::vector<UOp> dynamic_registers_;  // DEFINE_REGs with variable indices, which need memory
  std::vector<RegisterFile> register_files_;
  struct LaneRegister {
    int32_t register_file;
    size_t element;
    Reg outer_register;
  };
  std::vector<LaneRegister> lane_registers_;
  std::vector<std::pair<UOp, Value>> lowered_defines_;
  // each: the index of a memory, a Scalar, and the index of a view of this memory as elements of this Scalar
  std::vector<std::array<int32_t, 3>> memory_views_;
};

// Returns the DEFINE that a pointer or INDEX is based on, or the empty UOp.
UOp base_define(UOp u);

[[noreturn]] void cannot_run(UOp u, const std::string& why);
// Returns element i of an operand of u, or its only element. Throws Failure if there are fewer than i + 1 elements, as
// a wrong stage can make vectors whose length differs from their dtype's.
const Element& element_of(UOp u, const Value& operand, size_t i);
// Runs `body`, which generates the code of `u`, and turns Unsupported into an error that names `u`.
template <class Body>
void name_in_errors(UOp u, Body body) {
  try {
    body();
  } catch (const Unsupported& e) {
    cannot_run(u, e.diag().message);
  }
}

}  // namespace tgc::ref
