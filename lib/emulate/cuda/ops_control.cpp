// Jumps, returns, traps and barriers, with the divergence and reconvergence of a warp's lanes; fences and prefetches,
// which do nothing. At a divergent jump, one part of the lanes runs and the other waits on a stack (Warp::waiting). A
// join op at the immediate post-dominator reconverges them.
#include "lib/emulate/cuda/builder.h"
#include "lib/emulate/cuda/driver.h"
#include "lib/emulate/cuda/lanes.h"

namespace tgc::ptx {
namespace {

uint32_t& current_join(Warp& w) {
  return w.waiting[0].join;  // slot 0 is not on the stack: it holds the join of the running lanes
}

void push(Warp& w, uint32_t pc, uint32_t join, uint32_t lanes) {
  if (++w.depth >= w.waiting.size()) throw Fault{kLaunchFailed, "lanes diverge too deeply"};
  w.waiting[w.depth] = {pc, join, lanes};
}
// Continues with the lanes of the top stack entry. The warp is done if the stack is empty.
void pop(Warp& w) {
  while (w.depth > 0) {
    Warp::Waiting& top = w.waiting[w.depth--];
    uint32_t lanes = top.lanes & w.alive;
    if (!lanes) continue;
    w.path = lanes, w.pc = top.pc, current_join(w) = top.join;
    return;
  }
  w.path = 0;
  w.state = Warp::Done;
}

// Splits the running lanes: `taken` jump to `target`, the others go to `other`. All of them reconverge at `join`.
void diverge(Warp& w, uint32_t taken, uint32_t target, uint32_t other, uint32_t join) {
  uint32_t rest = w.path & ~taken;
  if (join != current_join(w) && join != kNone) push(w, join, current_join(w), w.path);
  if (other != join) push(w, other, join, rest);
  if (target == join) return pop(w);
  w.path = taken, w.pc = target, current_join(w) = join;
}

void count_jump(Warp& w, const Op& o) {
  if (w.jumps_left-- == 0)
    raise(w, o, std::countr_zero(w.active), kLaunchFailed, "exceeds the launch's limit of jumps");
}

void jump(Warp& w, const Op& o) {
  count_jump(w, o);
  if (w.active == w.path) w.pc = uint32_t(o.value);
  else diverge(w, w.active, uint32_t(o.value), w.pc, o.join);
}

void jump_by_table(Warp& w, const Op& o) {
  count_jump(w, o);
  const uint32_t* index = reg<uint32_t>(w, o.a);
  int first = std::countr_zero(w.active);
  uint32_t n = index[first], same = 0;
  each_active(w, [&](int i) {
    if (index[i] >= o.count)
      raise(w, o, i, kLaunchFailed, "jumps to entry " + std::to_string(index[i]) + " of " + std::to_string(o.count));
    same |= uint32_t(index[i] == n) << i;
  });
  uint32_t target = uint32_t(w.block->launch->code->targets[size_t(o.value) + n]);
  if (same == w.path) w.pc = target;
  else diverge(w, same, target, w.pc - 1, o.join);  // the other lanes execute this jump again, with their own indices
}

void join(Warp& w, const Op&) {
  w.executed -= uint64_t(std::popcount(w.active));  // a join is not a PTX instruction, so it does not count
  if (current_join(w) == w.pc - 1) pop(w);
}

void end(Warp& w, const Op&) {
  w.alive &= ~w.active;
  w.path &= ~w.active;
  if (w.path == 0) pop(w);
}

void barrier(Warp& w, const Op& o) {
  if (w.active != w.occupied) {
    int missing = std::countr_zero(w.occupied & ~w.active);
    raise(w, o, missing, kLaunchFailed, "does not reach a barrier that other threads of its warp wait at");
  }
  w.state = Warp::AtBarrier;
}

void trap(Warp& w, const Op& o) { raise(w, o, std::countr_zero(w.active), kLaunchFailed, "reached a trap"); }
void sync_warp(Warp& w, const Op&) { w.syncs++; }
void nothing(Warp&, const Op&) {}

void bra(Builder& b) {
  b.take("uni");
  b.refuse_more_modifiers();
  b.need_operands(1);
  if (b.operand(0).kind != Operand::Name) b.fail("its target is not a label");
  b.jump({.run = jump_run()}, b.operand(0).name);
}
void brx(Builder& b) {
  if (!b.take("idx")) b.fail("only brx.idx is supported");
  b.take("uni");
  b.refuse_more_modifiers();
  b.need_operands(2);
  if (b.operand(1).kind != Operand::Name) b.fail("no branch targets follow");
  Op op{.run = table_jump_run(), .a = b.source(0, Type::U32)};
  b.jump_by_table(op, b.operand(1).name);
}

void ret(Builder& b) {
  b.take("uni");
  b.refuse_more_modifiers();
  b.need_operands(0);
  b.emit({.run = end_run()});
}

// Builds bar.warp.sync, bar.sync, and barrier.sync and barrier.cta.sync, which equal bar.sync if all threads take part.
void bar(Builder& b) {
  b.take("cta");
  if (b.take("warp")) {
    if (!b.take("sync")) b.fail("only bar.warp.sync is supported");
    b.refuse_more_modifiers();
    return b.emit({.run = sync_warp});
  }
  if (!b.take("sync")) b.fail("only .sync is supported");
  b.take("aligned");
  b.refuse_more_modifiers();
  b.need_operands(1, 2);
  if (b.operand(0).kind != Operand::Integer || b.operand(0).bits > 15)
    b.fail("the barrier number is not from 0 to 15");
  if (b.operand_count() == 2) {
    uint64_t threads = b.code().function->most_threads;
    if (b.operand(1).kind != Operand::Integer || b.operand(1).bits != threads)
      b.fail("a barrier of some threads is not supported");
  }
  b.code().has_barrier = true;
  b.emit({.run = barrier, .count = uint32_t(b.operand(0).bits)});
}

template <size_t kMost>
void ignored(Builder& b) {
  while (b.take_one_of({"gl", "cta", "sys", "gpu", "sc", "acq_rel", "acquire", "release", "proxy", "async", "alias",
                        "global", "shared::cta", "local", "L1", "L2", "wait_group", "commit_group", "u32"}) >= 0) {}
  b.refuse_more_modifiers();
  b.need_operands(0, kMost);
  b.emit({.run = nothing});
}

constexpr Row kRows[] = {
    {"bra", bra},
    {"brx", brx},
    {"ret", ret},
    {"exit", ret},
    {"bar", bar},
    {"barrier", bar},
    {"trap",
     [](Builder& b) {
       b.refuse_more_modifiers();
       b.need_operands(0);
       b.emit({.run = trap});
     }},
    {"membar", ignored<0>},
    {"fence", ignored<0>},
    {"nanosleep", ignored<1>},
    {"prefetch", ignored<1>},
    {"call", [](Builder& b) { b.fail("calls are not supported: have the compiler inline the function"); }},
};

}  // namespace

Run jump_run() { return jump; }
Run table_jump_run() { return jump_by_table; }
Run join_run() { return join; }
Run end_run() { return end; }

std::span<const Row> control_rows() { return kRows; }

void run_warp(Warp& w, const TranslatedKernel& code) {
  const Op* ops = code.ops.data();
  w.state = Warp::Running;
  do {
    const Op& o = ops[w.pc++];
    w.active = w.path;
    if (o.guard != kNone) {
      w.active &= *reg<uint32_t>(w, o.guard) ^ o.flip;
      if (!w.active) continue;
    }
    w.executed += uint64_t(std::popcount(w.active));
    o.run(w, o);
  } while (w.state == Warp::Running);
}

}  // namespace tgc::ptx
