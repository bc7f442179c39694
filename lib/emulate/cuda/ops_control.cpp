// Jumps, returns, traps, barriers, and instructions that have no effect here. At a divergent jump, one part of the
// lanes runs and the other waits on a stack (Warp::waiting_lanes). A join op at the immediate post-dominator
// reconverges them.
#include "lib/emulate/cuda/builder.h"
#include "lib/emulate/cuda/driver.h"
#include "lib/emulate/cuda/lanes.h"

namespace tgc::ptx {
namespace {

uint32_t& current_join(Warp& w) {
  return w.waiting_lanes[0].join_op;
}

void push_waiting_lanes(Warp& w, uint32_t pc, uint32_t join, uint32_t lanes) {
  if (++w.waiting_depth >= w.waiting_lanes.size()) throw KernelFault{kLaunchFailed, "lanes diverge too deeply"};
  w.waiting_lanes[w.waiting_depth] = {pc, join, lanes};
}
// Continues with the topmost stack entry that has lanes whose threads have not returned. If there is none, the warp is
// done.
void pop_waiting_lanes(Warp& w) {
  while (w.waiting_depth > 0) {
    Warp::WaitingLanes& top = w.waiting_lanes[w.waiting_depth--];
    uint32_t lanes = top.lanes & w.alive_lanes;
    if (!lanes) continue;
    w.lanes_at_pc = lanes, w.pc = top.pc, current_join(w) = top.join_op;
    return;
  }
  w.lanes_at_pc = 0;
  w.state = Warp::Done;
}

// The lanes `taken` continue at op `target`, the others at op `other`. They reconverge at op `join`; kNoIndex: they do
// not reconverge.
void diverge(Warp& w, uint32_t taken, uint32_t target, uint32_t other, uint32_t join) {
  uint32_t rest = w.lanes_at_pc & ~taken;
  if (join != current_join(w) && join != kNoIndex) push_waiting_lanes(w, join, current_join(w), w.lanes_at_pc);
  if (other != join) push_waiting_lanes(w, other, join, rest);
  if (target == join) return pop_waiting_lanes(w);
  w.lanes_at_pc = taken, w.pc = target, current_join(w) = join;
}

void count_jump(Warp& w, const Op& o) {
  if (w.num_jumps_left-- == 0)
    throw_fault(w, o, std::countr_zero(w.active_lanes), kLaunchFailed, "exceeds the launch's limit of jumps");
}

void run_jump(Warp& w, const Op& o) {
  count_jump(w, o);
  if (w.active_lanes == w.lanes_at_pc) w.pc = uint32_t(o.immediate);
  else diverge(w, w.active_lanes, uint32_t(o.immediate), w.pc, o.join_op);
}

void run_table_jump(Warp& w, const Op& o) {
  count_jump(w, o);
  const uint32_t* index = register_lanes<uint32_t>(w, o.a);
  int first = std::countr_zero(w.active_lanes);
  uint32_t n = index[first], same = 0;
  for_each_active_lane(w, [&](int i) {
    if (index[i] >= o.num_more_operands)
      throw_fault(w, o, i, kLaunchFailed,
                  "jumps to entry " + std::to_string(index[i]) + " of " + std::to_string(o.num_more_operands));
    same |= uint32_t(index[i] == n) << i;
  });
  uint32_t target = uint32_t(w.block->launch->code->jump_targets[size_t(o.immediate) + n]);
  if (same == w.lanes_at_pc) w.pc = target;
  // the other lanes execute this jump again, with their own indices
  else diverge(w, same, target, w.pc - 1, o.join_op);
}

void run_join(Warp& w, const Op&) {
  w.num_executed_ops -= uint64_t(std::popcount(w.active_lanes));  // a join is not a PTX instruction
  if (current_join(w) == w.pc - 1) pop_waiting_lanes(w);
}

void run_end(Warp& w, const Op&) {
  w.alive_lanes &= ~w.active_lanes;
  w.lanes_at_pc &= ~w.active_lanes;
  if (w.lanes_at_pc == 0) pop_waiting_lanes(w);
}

void run_barrier(Warp& w, const Op& o) {
  if (w.active_lanes != w.occupied_lanes) {
    int missing = std::countr_zero(w.occupied_lanes & ~w.active_lanes);
    throw_fault(w, o, missing, kLaunchFailed, "does not reach a barrier that other threads of its warp wait at");
  }
  w.state = Warp::AtBarrier;
}

void run_trap(Warp& w, const Op& o) {
  throw_fault(w, o, std::countr_zero(w.active_lanes), kLaunchFailed, "reached a trap");
}
void sync_warp(Warp& w, const Op&) { w.num_syncs++; }
void do_nothing(Warp&, const Op&) {}

void bra(CodeBuilder& b) {
  b.accept_modifier("uni");
  b.refuse_more_modifiers();
  b.check_operand_count(1);
  if (b.operand(0).kind != Operand::Name) b.throw_error("its target is not a label");
  b.emit_jump({.run = jump_handler()}, b.operand(0).name);
}
void brx(CodeBuilder& b) {
  if (!b.accept_modifier("idx")) b.throw_error("only brx.idx is supported");
  b.accept_modifier("uni");
  b.refuse_more_modifiers();
  b.check_operand_count(2);
  if (b.operand(1).kind != Operand::Name) b.throw_error("no branch targets follow");
  Op op{.run = table_jump_handler(), .a = b.source_register(0, Type::U32)};
  b.emit_table_jump(op, b.operand(1).name);
}

void ret(CodeBuilder& b) {
  b.accept_modifier("uni");
  b.refuse_more_modifiers();
  b.check_operand_count(0);
  b.emit_op({.run = end_handler()});
}

// Builds bar.warp.sync, bar.sync, and barrier.sync and barrier.cta.sync, which equal bar.sync if all threads take part.
void bar(CodeBuilder& b) {
  b.accept_modifier("cta");
  if (b.accept_modifier("warp")) {
    if (!b.accept_modifier("sync")) b.throw_error("only bar.warp.sync is supported");
    b.refuse_more_modifiers();
    return b.emit_op({.run = sync_warp});
  }
  if (!b.accept_modifier("sync")) b.throw_error("only .sync is supported");
  b.accept_modifier("aligned");
  b.refuse_more_modifiers();
  b.check_operand_count(1, 2);
  if (b.operand(0).kind != Operand::Integer || b.operand(0).bits > 15)
    b.throw_error("the barrier number is not from 0 to 15");
  if (b.num_operands() == 2) {
    uint64_t threads = b.code().function->max_threads;
    if (b.operand(1).kind != Operand::Integer || b.operand(1).bits != threads)
      b.throw_error("a barrier of some threads is not supported");
  }
  b.code().has_barrier = true;
  b.emit_op({.run = run_barrier, .num_more_operands = uint32_t(b.operand(0).bits)});
}

template <size_t kMost>
void translate_to_nothing(CodeBuilder& b) {
  while (b.accept_any_modifier({"gl", "cta", "sys", "gpu", "sc", "acq_rel", "acquire", "release", "proxy", "async",
                                "alias", "global", "shared::cta", "local", "L1", "L2", "wait_group", "commit_group",
                                "u32"}) >= 0) {}
  b.refuse_more_modifiers();
  b.check_operand_count(0, kMost);
  b.emit_op({.run = do_nothing});
}

constexpr OpcodeRow kRows[] = {
    {"bra", bra},
    {"brx", brx},
    {"ret", ret},
    {"exit", ret},
    {"bar", bar},
    {"barrier", bar},
    {"trap",
     [](CodeBuilder& b) {
       b.refuse_more_modifiers();
       b.check_operand_count(0);
       b.emit_op({.run = run_trap});
     }},
    {"membar", translate_to_nothing<0>},
    {"fence", translate_to_nothing<0>},
    {"nanosleep", translate_to_nothing<1>},
    {"prefetch", translate_to_nothing<1>},
    {"call", [](CodeBuilder& b) { b.throw_error("calls are not supported: have the compiler inline the function"); }},
};

}  // namespace

OpFunction jump_handler() { return run_jump; }
OpFunction table_jump_handler() { return run_table_jump; }
OpFunction join_handler() { return run_join; }
OpFunction end_handler() { return run_end; }

std::span<const OpcodeRow> control_opcode_rows() { return kRows; }

void run_warp(Warp& w, const TranslatedKernel& code) {
  const Op* ops = code.ops.data();
  w.state = Warp::Running;
  do {
    const Op& o = ops[w.pc++];
    w.active_lanes = w.lanes_at_pc;
    if (o.guard != kNoIndex) {
      w.active_lanes &= *register_lanes<uint32_t>(w, o.guard) ^ o.guard_flip_mask;
      if (!w.active_lanes) continue;
    }
    w.num_executed_ops += uint64_t(std::popcount(w.active_lanes));
    o.run(w, o);
  } while (w.state == Warp::Running);
}

}  // namespace tgc::ptx
