// LoweredValues: maps each UOp of a kernel to its value in REF's code. Internal to ref/.
//
// A vector is a list of elements, each in a register. A pointer is not a number: it holds the memory it points into,
// the register of its offset, and the register of its gate, the condition under which it may be dereferenced.
#pragma once
#include <array>
#include <deque>
#include <vector>

#include "lib/runtime/ref/builder.h"
#include "lib/uop/graph.h"

namespace tgc::ref {

struct LoweredElement {
  Reg reg = kNoRegister;          // has the value; for a pointer the offset (kNoRegister: 0)
  Reg gate = kNoRegister;         // for an index or pointer: the gate, a Bool (kNoRegister: always true)
  int32_t memory = -1;            // index of the memory that a pointer points into
  int32_t register_file = -1;     // index in LoweredValues::register_files_, for a pointer into registers
  bool is_byte_offset = false;    // the offset counts bytes, not elements: the pointer was cast to an integer
  bool is_pixel_pointer = false;  // the pointer is to the four elements of an image's pixel
  bool is_pointer() const { return memory >= 0 || register_file >= 0; }
};
using LoweredValue = std::vector<LoweredElement>;

class LoweredValues {
 public:
  LoweredValues(Graph& graph, RefBuilder& builder)
      : builder_(builder), num_nodes_(graph.size()), current_values_(2 * graph.size(), nullptr),
        loaded_index_nodes_(graph) {}

  // Call it first. Before tinygrad's stage that adds loads, an INDEX used as a number has the value of the element at
  // that index. Finds these INDEX nodes, and the DEFINE_REGs that need memory.
  void find_value_uses(std::span<const UOp> nodes);

  const LoweredValue& value_of(UOp u) const;    // throws Failure if `u` has not been lowered
  // Returns the pointer for an access to `u`, even if value_of() returns the number that it points to.
  const LoweredValue& pointer_value_of(UOp u) const;
  bool is_lowered(UOp u) const { return current_values_[u.id()] != nullptr; }
  void set_value(UOp u, LoweredValue value) { set_slot(u.id(), std::move(value)); }
  LoweredElement scalar(UOp u) const;  // returns the only element; throws Failure if there are several

  // leave_scope() undoes every set_value() since the matching enter_scope(): a body that is lowered more than once has
  // different values each time.
  void enter_scope() { undo_log_sizes_.push_back(undo_log_.size()); }
  void leave_scope();
  // Call after opening lanes: gives each lane its own copy of the DEFINE_REGs in `own`, initialized with the outer
  // values.
  void enter_lanes(std::span<const UOp> own);
  void leave_lanes();  // restores the outer registers; forgets registers first set inside the lanes
  // As enter_lanes(), for threads that run as iterations of a loop: call save_registers() before the loop opens,
  // restore_registers() in each iteration.
  struct SavedRegister {
    Reg own_register, value;
  };
  std::vector<SavedRegister> save_registers(std::span<const UOp> own);
  void restore_registers(std::span<const SavedRegister> registers);

  void lower(UOp u);

  Reg cast(Reg r, DType from, DType to);
  Reg round_register(Reg r, DType dtype);
  Reg emit_alu(Op op, DType dtype, std::span<const Reg> operands);
  static Opcode opcode_of(Op op);
  static Opcode rounding_of(DType dtype);  // Mov: no rounding

  Reg constant(DType dtype, Const value);
  Reg size_register(UOp range);      // number of iterations of a RANGE or SPECIAL, as an I64

  // Allocates memory of `size` elements, with one copy for each `group` lanes (0: for all lanes).
  int32_t add_scratch_memory(const std::string& name, DType element, int64_t size, int64_t group);
  void store_buffer(UOp bufferize, int32_t memory);
  // Gives each `group` lanes one copy of a DEFINE_LOCAL.
  void share_local_memory(UOp define, int64_t group) {
    builder_.memory(lower_define(define)[0].memory).lane_group_size = group;
  }
  // True if the INDEX is used as a number, so that lower() loads its element.
  bool is_loaded(UOp index) const { return loaded_index_nodes_.contains(index); }

 private:
  struct RegisterFile {  // registers of a DEFINE_REG that is indexed only by constants
    DType dtype;
    std::vector<Reg> elements;
  };

  void set_slot(size_t slot, LoweredValue value);
  LoweredValue lower_value(UOp u);
  LoweredValue lower_const(UOp u);
  LoweredValue lower_define(UOp u);
  LoweredValue lower_index(UOp u);
  LoweredValue flat_index(UOp buffer, std::span<const UOp> indices) const;
  LoweredValue lower_image_index(UOp u, const LoweredValue& pointer, const LoweredValue& at);
  LoweredValue lower_load(UOp u);
  void lower_store(UOp u);
  void lower_atomic_add(UOp u);
  LoweredValue lower_elementwise(UOp u);
  LoweredValue lower_where(UOp u);
  LoweredValue lower_bitcast(UOp u);
  LoweredValue lower_wmma(UOp u);
  LoweredValue concatenate_sources(UOp u);
  LoweredElement load_element(const LoweredElement& pointer, int64_t addend, Reg alt);
  void store_element(const LoweredElement& pointer, int64_t addend, Reg value);
  int32_t register_file_of(UOp define) const;
  Reg& register_element(const LoweredElement& pointer, int64_t addend, bool is_load);
  Reg add_to_offset(Reg offset, int64_t addend);
  LoweredElement lower_pointer_alu(UOp u, size_t i);
  LoweredElement view_pointer_as(LoweredElement pointer, DType scalar);

  RefBuilder& builder_;
  size_t num_nodes_;
  // By slot; null if there is no value. Slot `id` is the value of node `id`; slot `num_nodes_ + id` is the pointer of
  // an INDEX that is used as a number.
  std::vector<const LoweredValue*> current_values_;
  // never shrinks, so that pointers stay valid
  std::deque<LoweredValue> value_pool_;
  // slot and previous value for each set_value()
  std::vector<std::pair<size_t, const LoweredValue*>> undo_log_;
  // lengths of undo_log_ at the open enter_scope() calls
  std::vector<size_t> undo_log_sizes_;
  UOpSet loaded_index_nodes_;
  std::vector<UOp> dynamic_registers_;  // DEFINE_REGs with variable indices, which need memory
  std::vector<RegisterFile> register_files_;
  struct LaneRegister {
    int32_t register_file;
    size_t element;
    Reg outer_register;
  };
  std::vector<LaneRegister> lane_registers_;
  std::vector<std::pair<UOp, LoweredValue>> lowered_defines_;
  // index of a memory, Scalar, index of a view of this memory as elements of this Scalar
  std::vector<std::array<int32_t, 3>> memory_views_;
};

// Returns the DEFINE that a pointer or INDEX is based on, or the empty UOp.
UOp base_define(UOp u);

[[noreturn]] void throw_cannot_run(UOp u, const std::string& why);
// Returns element i of an operand of u, or its only element. Throws Failure if there are fewer elements, which a bug in
// a pass can cause.
const LoweredElement& element_of(UOp u, const LoweredValue& operand, size_t i);
// Turns UnsupportedOperation into an error that names `u`.
template <class Body>
void name_in_errors(UOp u, Body body) {
  try {
    body();
  } catch (const UnsupportedOperation& e) {
    throw_cannot_run(u, e.diag().message);
  }
}

}  // namespace tgc::ref
