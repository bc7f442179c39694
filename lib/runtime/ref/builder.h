// Builder: generates REF's instructions. It allocates virtual registers, keeps a stack of open scopes (root, loops,
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
class Unsupported : public Failure {
 public:
  using Failure::Failure;
};

class Builder {
 public:
  explicit Builder(bool count_evaluations);

  Reg constant(Type type, uint64_t bits);
  Reg constant_int(Type type, int64_t value);
  Reg constant_float(Type type, double value);
  Reg variable(const std::string& name);

  // ---- instructions; most return their result register. Operands may be uniform or varying.
  Reg binary(Opc op, Reg a, Reg b);
  Reg unary(Opc op, Reg a);
  Reg cast(Reg a, Type to);
  Reg bitcast(Reg a, Type to);
  Reg where(Reg cond, Reg yes, Reg no);
  Reg mulacc(Reg a, Reg b, Reg c);
  Reg logical_and(Reg a, Reg b);  // a kNoRegister operand counts as true
  Reg copy(Reg a);                // stays unchanged when `a` is overwritten
  void wmma(const WmmaLayout* layout, Scalar out, const std::vector<Reg>& a, const std::vector<Reg>& b,
            const std::vector<Reg>& c, std::vector<Reg>& d);

  // Returns a register that assign() and fold() may change.
  Reg mutable_register(Type type, bool varying);
  void assign(Reg to, Reg value);
  // For each lane of `value` in turn, sets the uniform `accumulator` to (accumulator op the lane's value), rounded by
  // the op `rounding` (Mov: not rounded).
  void fold(Opc op, Opc rounding, Reg accumulator, Reg value);

  int32_t add_memory(MemoryInfo info);
  MemoryInfo& memory(int32_t m) { return code_.memories[size_t(m)]; }
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
  size_t scope_depth() const { return scopes_.size(); }
  Reg max_lane(Reg a);
  Reg lane_mask() const { return lane_masks_.empty() ? kNoRegister : lane_masks_.back(); }
  // Until pop_mask, loads and stores happen only in the lanes where `cond` and all enclosing masks are true.
  void push_mask(Reg cond);
  void pop_mask() {
    if (lane_masks_.empty()) throw Unsupported("it ends an IF that has not begun");
    lane_masks_.pop_back();
  }

  void count_evaluation(bool varying);

  // ---- properties of registers, which throw Unsupported for kNoRegister
  Type type(Reg r) const { return at(r).type; }
  bool is_varying_register(Reg r) const { return at(r).is_varying_register; }
  bool is_constant(Reg r) const { return at(r).is_constant; }
  uint64_t constant_bits(Reg r) const { return at(r).bits; }
  bool is_true(Reg r) const { return is_constant(r) && type(r) == Type::Bool && constant_bits(r) == 1; }
  bool is_false(Reg r) const { return is_constant(r) && type(r) == Type::Bool && constant_bits(r) == 0; }

  RefCode finish_code();

 private:
  struct Register {
    Type type;
    bool is_varying_register = false, is_constant = false;
    uint32_t scope_depth = 0;  // depth of the scope in which the register is defined
    uint64_t bits = 0;
    // positions in instructions_
    int32_t first_use = -1, last_use = -1;
    int32_t slot = -1;
  };
  const Register& at(Reg r) const {
    if (r == kNoRegister) throw Unsupported("a pointer where a number is needed");
    return registers_[size_t(r)];
  }
  struct Virtual {
    Opc op;
    uint8_t type = 0, type2 = 0;
    Reg dst = kNoRegister, a = kNoRegister, b = kNoRegister, c = kNoRegister;
    int64_t immediate = 0;
    int32_t raw_field = 0;  // a number in place of operand register a or b; the op says which
    Opc rounding = Opc::Mov;
  };
  struct Scope {
    Virtual begin, end;
    std::vector<Virtual> code;
    std::unordered_map<Reg, Reg> splat_registers;  // for a uniform register, its varying copy in this scope
    uint32_t lane_evaluations = 0, evaluations = 0;
  };

  Reg new_register(Type type, bool varying);
  Reg emit(Virtual v, Type result, bool varying);
  Reg splat(Reg r);
  Reg evaluate_constant(Virtual v, Type result);
  bool has_constant_operands(const Virtual& v) const;
  Virtual access(Opc op, int32_t memory, Reg offset, Reg gate, Reg other, const std::string& what);
  Reg effective_gate(Reg gate);
  void begin_scope(Virtual begin, Virtual end);
  void end_scope();

  template <class Visit>
  void for_each_register(const Virtual& v, Visit visit) const;
  struct CopyRemoval {
    struct CopyUse {
      int32_t last_use = -1, count = 0, next_write = INT32_MAX;
    };
    std::vector<uint32_t> use_counts;
    std::vector<bool> is_removed;
    std::vector<CopyUse> copy_uses;
    std::vector<Reg> replacements;
  };
  void drop_copies();
  void use_accumulators(CopyRemoval& copies, size_t from, size_t to);
  void assign_in_place(CopyRemoval& copies, size_t at);
  bool is_plain_copy(const Virtual& v) const;
  void find_lifetimes();
  void assign_slots();
  void compute_sizes();
  bool is_varying(const Virtual& v) const;
  Selector selector(const Virtual& v) const;
  int32_t offset_of(Reg r) const;
  void write_instructions();

  bool counts_evaluations_;
  RefCode code_;
  std::vector<Register> registers_;
  std::vector<Scope> scopes_;
  std::vector<Virtual> instructions_;  // the instructions of all scopes in execution order
  std::vector<Reg> lane_masks_;
  std::unordered_map<uint64_t, Reg> constants_[kNumTypes];
  std::map<std::string, Reg> variables_;
  size_t lanes_depth_ = 0;  // 0: no lanes are open
  std::vector<std::pair<std::string, Reg>> open_loops_;
  std::vector<std::vector<Access::LaneAxis>> lane_axes_;
  std::unordered_map<int64_t, Reg> group_indices_;
  int64_t largest_group_ = 1, max_lanes_ = 1;
  uint32_t slots_[5] = {};  // numbers of slots: uniform ones; varying ones of 1, 2, 4, 8 bytes
};

}  // namespace tgc::ref
