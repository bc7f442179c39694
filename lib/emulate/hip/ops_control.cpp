#include <charconv>

#include <immintrin.h>

#include "lib/emulate/hip/driver.h"
#include "lib/emulate/hip/scalar_rows.h"
#include "lib/emulate/hip/waits.h"

namespace tgc::hip {
namespace {

void jump(Wave& w, const Op& o) {
  if (w.num_jumps_left-- == 0) throw_fault(w, o, 0, kLaunchFailed, "exceeds the launch's limit of jumps");
  w.pc = o.target;
}
template <auto kTaken>
void run_branch(Wave& w, const Op& o) {
  if (kTaken(w)) jump(w, o);
}
uint64_t vcc(const Wave& w) {
  return w.scalar_registers[kVcc] | (w.num_halves == 2 ? uint64_t(w.scalar_registers[kVcc + 1]) << 32 : 0);
}

// Builds a jump. Its operand is a signed 16-bit distance, printed unsigned, in 4-byte words from the next instruction.
void build_branch(CodeBuilder& b) {
  b.allow_modifiers({});
  const Operand& o = b.operand(0);
  if (o.kind != Operand::Integer) b.throw_error("the jump distance is not a number");
  Op op = b.make_op(b.row->run_op, false);
  uint64_t to = b.instruction->address + 4 + uint64_t(int64_t(int16_t(o.integer)) * 4);
  if (to == 0 || to > UINT32_MAX) b.throw_error("jumps out of the code");
  op.target = uint32_t(to);  // still an address: CodeBuilder::build_ops replaces it by the index of an operation
  b.emit_op(op);
}

void run_end(Wave& w, const Op&) { w.state = Wave::Done; }
void run_barrier(Wave& w, const Op& o) {
  if (w.pending_waits) w.pending_waits->check_barrier(w, o);
  w.state = Wave::AtBarrier;
}
void build_barrier(CodeBuilder& b) {
  b.code.has_barrier = true;
  Op op = b.make_op(b.row->run_op, false);
  b.emit_op(op);
}

void build_no_ops(CodeBuilder&) {}

// With --race, emits an operation that waits until at most `open` operations of the counter are outstanding.
void emit_wait(CodeBuilder& b, WaitCounter counter, int64_t open) {
  if (!b.code.has_waits) return;
  Op op = b.make_op(wait_handler(), false);
  op.bytes = uint8_t(counter), op.offset = int32_t(open);
  b.emit_op(op);
}
int64_t parse_wait_count(std::string_view text) {  // returns 3 for "vmcnt(3)"
  size_t open = text.find('(');
  int64_t value = 0;
  if (open != text.npos) std::from_chars(text.data() + open + 1, text.data() + text.size(), value);
  return value;
}
void build_waitcnt(CodeBuilder& b) {
  auto wait = [&](std::string_view text) {
    if (text.starts_with("vmcnt(")) {
      emit_wait(b, WaitCounter::Load, parse_wait_count(text));
    } else if (text.starts_with("lgkmcnt(")) {
      emit_wait(b, WaitCounter::Lds, parse_wait_count(text)), emit_wait(b, WaitCounter::Scalar, parse_wait_count(text));
    }
  };
  for (const Operand& o : b.instruction->operands) {
    if (o.kind == Operand::Integer && o.integer == 0)
      for (std::string_view all : {"vmcnt(0)", "lgkmcnt(0)"}) wait(all);
    wait(o.text);
  }
  for (const OpcodeModifier& m : b.instruction->modifiers) wait(m.name);
}
template <WaitCounter kFirst, WaitCounter kSecond = WaitCounter::None>
void build_wait_for(CodeBuilder& b) {
  const Operand& o = b.operand(0);
  if (o.kind != Operand::Integer) b.throw_error("the counter value is not a number");
  emit_wait(b, kFirst, o.integer);
  if (kSecond != WaitCounter::None) emit_wait(b, kSecond, o.integer);
}

// Builds s_getpc, which writes the host address of the next instruction.
void build_get_pc(CodeBuilder& b) {
  Op op = b.make_op(opcode_table().at("s_mov_b64").run_op, false);
  op.to = b.scalar_register(b.operand(0), 2);
  op.a = b.constant_operand(b.code.image_address + b.instruction->address + b.instruction->bytes, 2);
  b.emit_op(op);
}

}  // namespace

void set_float_mode(uint32_t mode) {
#if defined(__x86_64__)
  static constexpr uint32_t kRounding[] = {_MM_ROUND_NEAREST, _MM_ROUND_UP, _MM_ROUND_DOWN, _MM_ROUND_TOWARD_ZERO};
  _MM_SET_ROUNDING_MODE(kRounding[mode & 3]);
  bool flushes = (mode >> 4 & 3) == 0;
  _MM_SET_FLUSH_ZERO_MODE(flushes ? _MM_FLUSH_ZERO_ON : _MM_FLUSH_ZERO_OFF);
  _MM_SET_DENORMALS_ZERO_MODE(flushes ? _MM_DENORMALS_ZERO_ON : _MM_DENORMALS_ZERO_OFF);
#else
  (void)mode;
#endif
}

void add_control_rows(OpcodeTable& t) {
  auto branch = [&](const char* name, OpFunction run) { add_row(t, name, {.run_op = run, .build_ops = build_branch}); };
  branch("s_branch", run_branch<[](const Wave&) { return true; }>);
  branch("s_cbranch_scc0", run_branch<[](const Wave& w) { return w.scalar_registers[kScc] == 0; }>);
  branch("s_cbranch_scc1", run_branch<[](const Wave& w) { return w.scalar_registers[kScc] != 0; }>);
  branch("s_cbranch_vccz", run_branch<[](const Wave& w) { return vcc(w) == 0; }>);
  branch("s_cbranch_vccnz", run_branch<[](const Wave& w) { return vcc(w) != 0; }>);
  branch("s_cbranch_execz", run_branch<[](const Wave& w) { return w.exec() == 0; }>);
  branch("s_cbranch_execnz", run_branch<[](const Wave& w) { return w.exec() != 0; }>);
  add_row(t, "s_endpgm",
          {.run_op = run_end, .build_ops = [](CodeBuilder& b) { b.emit_op(b.make_op(b.row->run_op, false)); }});
  add_row(t, "s_barrier s_barrier_wait", {.run_op = run_barrier, .build_ops = build_barrier});
  add_row(t, "s_waitcnt", {.build_ops = build_waitcnt});
  add_row(t, "s_wait_loadcnt", {.build_ops = build_wait_for<WaitCounter::Load>});
  add_row(t, "s_wait_dscnt", {.build_ops = build_wait_for<WaitCounter::Lds>});
  add_row(t, "s_wait_kmcnt", {.build_ops = build_wait_for<WaitCounter::Scalar>});
  // operand: loads in the upper byte, LDS in the lower
  add_row(t, "s_wait_loadcnt_dscnt", {.build_ops = [](CodeBuilder& b) {
            emit_wait(b, WaitCounter::Load, b.operand(0).integer >> 8),
                emit_wait(b, WaitCounter::Lds, b.operand(0).integer & 0xff);
          }});
  add_row(t,
          "s_nop s_clause s_delay_alu s_waitcnt_depctr s_wait_alu s_wait_idle s_sendmsg s_code_end "
          "s_set_inst_prefetch_distance s_inst_prefetch s_sleep s_setprio s_waitcnt_vscnt s_waitcnt_expcnt "
          "s_wait_storecnt s_wait_storecnt_dscnt s_wait_samplecnt s_wait_bvhcnt s_wait_expcnt s_barrier_signal "
          "s_icache_inv s_dcache_wb s_dcache_inv s_gl1_inv buffer_gl0_inv buffer_gl1_inv buffer_inv buffer_wbl2 "
          "global_inv global_wb global_wbinv s_ttracedata s_version s_prefetch_inst s_prefetch_inst_pc_rel "
          "s_singleuse_vdst",
          {.build_ops = build_no_ops});
  add_row(t, "s_getpc_b64", {.build_ops = build_get_pc});
  add_row(t, "s_denorm_mode s_round_mode",
          {.run_op =
               [](Wave& w, const Op& o) {
                 w.float_mode = o.num_words ? (w.float_mode & 0x0f) | uint32_t(o.offset) << 4
                                        : (w.float_mode & 0xf0) | uint32_t(o.offset);
                 set_float_mode(w.float_mode);
               },
           .build_ops =
               [](CodeBuilder& b) {
                 Op op = b.make_op(b.row->run_op, false);
                 if (b.operand(0).kind != Operand::Integer) b.throw_error("the mode is not a number");
                 op.num_words = b.name == "s_denorm_mode", op.offset = int32_t(b.operand(0).integer & 15);
                 b.emit_op(op);
               }});
}

}  // namespace tgc::hip
