// RefBuilder: generates REF's instructions. It allocates virtual registers, keeps a stack of open scopes (root, loops,
// lanes), broadcasts uniform values to lanes where an instruction needs it, and folds constants. Internal to ref/.
#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/runtime/ref/code.h"
#include "lib/runtime/ref/wmma.h"

namespace tgc::ref {

using Reg = int32_t;
inline constexpr Reg kNoRegister = -1;

// Thrown for code that REF cannot run.
class UnsupportedOperation : public Failure {
 public:
  using Failure::Failure;
};

class RefBuilder {
 public:
  explicit RefBuilder(bool count_evaluations);

  Reg constant(RefType type, uint64_t bits);
  Reg constant_int(RefType type, int64_t value);
  Reg constant_float(RefType type, double value);
  Reg variable(const std::string& name);

  // ---- instructions; most return their result register. Operands may be uniform or varying.
  Reg emit_binary(Opcode op, Reg a, Reg b);
  Reg emit_unary(Opcode op, Reg a);
  Reg cast(Reg a, RefType to);
  Reg emit_bitcast(Reg a, RefType to);
  Reg emit_where(Reg condition, Reg yes, Reg no);
  Reg emit_mulacc(Reg a, Reg b, Reg c);
  Reg emit_logical_and(Reg a, Reg b);  // a kNoRegister operand counts as true
  Reg emit_copy(Reg a);  // the result keeps its value when `a` is overwritten
  void emit_wmma(const WmmaLayout* layout, Scalar out, const std::vector<Reg>& a, const std::vector<Reg>& b,
                 const std::vector<Reg>& c, std::vector<Reg>& d);

  // Returns a register that emit_assign() and emit_fold() may change.
  Reg mutable_register(RefType type, bool varying);
  void emit_assign(Reg to, Reg value);
  // For each lane of `value` in turn, sets the uniform `accumulator` to (accumulator op the lane's value), rounded by
  // the op `rounding` (Mov: not rounded).
  void emit_fold(Opcode op, Opcode rounding, Reg accumulator, Reg value);

  int32_t add_memory(MemoryInfo info);
  MemoryInfo& memory(int32_t m) { return ref_code_.memories[size_t(m)]; }
  Reg load(int32_t memory, Reg offset, Reg gate, Reg alt, const std::string& what);
  void store(int32_t memory, Reg offset, Reg gate, Reg value, const std::string& what);

  Reg begin_loop(Reg bound, const std::string& name);  // returns the loop counter, an I64
  void end_loop();
  struct LaneAxis {
    Reg extent;  // a uniform I64
    std::string loop_name;
  };
  // Opens lanes, one per combination of positions along `axes`; the last axis varies fastest. A chunk holds whole
  // groups of `group` lanes. `most` is an upper bound of the number of lanes. Returns each lane's position along each
  // axis, as I64s.
  std::vector<Reg> begin_lanes(const std::vector<LaneAxis>& axes, int64_t group, int64_t most);
  void end_lanes();
  bool is_in_lanes() const { return lanes_depth_ > 0; }
  size_t scope_depth() const { return code_scopes_.size(); }
  Reg max_over_lanes(Reg a);
  Reg lane_mask() const { return lane_masks_.empty() ? kNoRegister : lane_masks_.back(); }
  // Until pop_mask(), loads and stores happen only in the lanes where `condition` and all enclosing masks are true.
  void push_mask(Reg condition);
  void pop_mask() {
    if (lane_masks_.empty()) throw UnsupportedOperation("it ends an IF that has not begun");
    lane_masks_.pop_back();
  }

  void count_evaluation(bool varying);

  // ---- properties of registers, which throw UnsupportedOperation for kNoRegister
  RefType type(Reg r) const { return virtual_register(r).type; }
  bool is_varying(Reg r) const { return virtual_register(r).is_varying; }
  bool is_constant(Reg r) const { return virtual_register(r).is_constant; }
  uint64_t constant_bits(Reg r) const { return virtual_register(r).bits; }
  bool is_true(Reg r) const { return is_constant(r) && type(r) == RefType::Bool && constant_bits(r) == 1; }
  bool is_false(Reg r) const { return is_constant(r) && type(r) == RefType::Bool && constant_bits(r) == 0; }

  RefCode finish_kernel_code();

 private:
  struct VirtualRegister {
    RefType type;
    bool is_varying = false, is_constant = false;
    uint32_t scope_depth = 0;  // depth of the scope in which the register is defined
    uint64_t bits = 0;
    // positions in instructions_
    int32_t first_use = -1, last_use = -1;
    int32_t slot = -1;
  };
  const VirtualRegister& virtual_register(Reg r) const {
    if (r == kNoRegister) throw UnsupportedOperation("a pointer where a number is needed");
    return virtual_registers_[size_t(r)];
  }
  struct VirtualOp {
    Opcode op;
    uint8_t type = 0, type2 = 0;
    Reg destination = kNoRegister, a = kNoRegister, b = kNoRegister, c = kNoRegister;
    int64_t immediate = 0;
    int32_t operand_number = 0;  // a number in place of operand register a or b; the op says which
    Opcode rounding = Opcode::Mov;
  };
  struct CodeScope {
    VirtualOp begin, end;
    std::vector<VirtualOp> code;
    std::unordered_map<Reg, Reg> splat_registers;  // for a uniform register, its varying copy in this scope
    uint32_t num_lane_evaluations = 0, num_evaluations = 0;
  };

  Reg make_register(RefType type, bool varying);
  Reg emit_op(VirtualOp v, RefType result, bool varying);
  Reg emit_splat(Reg r);
  Reg evaluate_constant(VirtualOp v, RefType result);
  bool has_constant_operands(const VirtualOp& v) const;
  VirtualOp make_access(Opcode op, int32_t memory, Reg offset, Reg gate, Reg other, const std::string& what);
  Reg effective_gate(Reg gate);
  void begin_scope(VirtualOp begin, VirtualOp end);
  void end_scope();

  template <class Visit>
  void for_each_register(const VirtualOp& v, Visit visit) const;
  struct CopyRemoval {
    struct CopyUse {
      int32_t last_use = -1, count = 0, next_write = INT32_MAX;
    };
    std::vector<uint32_t> use_counts;
    std::vector<bool> is_removed;
    std::vector<CopyUse> copy_uses;
    std::vector<Reg> replacements;
  };
  void remove_copies();
  void replace_accumulator_copies(CopyRemoval& copies, size_t from, size_t to);
  void assign_in_place(CopyRemoval& copies, size_t at);
  bool is_plain_copy(const VirtualOp& v) const;
  void find_lifetimes();
  void assign_slots();
  void choose_chunk_size();
  bool is_varying(const VirtualOp& v) const;
  FunctionSelector selector_of(const VirtualOp& v) const;
  int32_t register_offset(Reg r) const;
  void write_instructions();

  bool should_count_evaluations_;
  RefCode ref_code_;
  std::vector<VirtualRegister> virtual_registers_;
  std::vector<CodeScope> code_scopes_;
  std::vector<VirtualOp> instructions_;  // the instructions of all scopes in program order
  std::vector<Reg> lane_masks_;
  std::unordered_map<uint64_t, Reg> constants_[kNumRefTypes];
  std::map<std::string, Reg> variables_;
  size_t lanes_depth_ = 0;  // 0: no lanes are open
  std::vector<std::pair<std::string, Reg>> open_loops_;
  std::vector<std::vector<MemoryAccess::LaneAxis>> lane_axes_;
  std::unordered_map<int64_t, Reg> group_base_registers_;
  int64_t largest_lane_group_ = 1, max_lanes_ = 1;
  uint32_t slot_counts_[5] = {};  // numbers of slots: uniform ones; varying ones of 1, 2, 4, 8 bytes
};

}  // namespace tgc::ref
