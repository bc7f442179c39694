// Finds basic blocks and their immediate post-dominators (Cooper, Harvey, Kennedy: "A Simple, Fast Dominance
// Algorithm", on the reversed graph with a single exit node added). Inserts join ops, where diverged lanes reconverge.

#include "lib/emulate/cuda/builder.h"

namespace tgc::ptx {
namespace {

bool is_jump(const Op& op) { return op.run == jump_handler() || op.run == table_jump_handler(); }
bool is_end(const Op& op) { return op.run == end_handler(); }

// Sets the immediate post-dominator of every block. The exit is the last node.
void find_post_dominators(std::vector<ControlFlow::BasicBlock>& blocks) {
  uint32_t end = uint32_t(blocks.size());
  std::vector<std::vector<uint32_t>> predecessors(blocks.size() + 1);
  for (uint32_t b = 0; b < end; b++) {
    for (uint32_t s : blocks[b].successors) predecessors[s].push_back(b);
    if (blocks[b].may_return) predecessors[end].push_back(b);
  }
  // the post-order of the reversed graph, starting at the exit
  std::vector<uint32_t> order, number(blocks.size() + 1, kNoIndex);
  std::vector<bool> seen(blocks.size() + 1);
  std::vector<std::pair<uint32_t, size_t>> stack{{end, 0}};
  seen[end] = true;
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next < predecessors[node].size()) {
      uint32_t p = predecessors[node][next++];
      if (!seen[p]) seen[p] = true, stack.emplace_back(p, 0);
    } else {
      number[node] = uint32_t(order.size());
      order.push_back(node);
      stack.pop_back();
    }
  }
  std::vector<uint32_t> post_dominator(blocks.size() + 1, kNoIndex);
  post_dominator[end] = end;
  auto common = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      while (number[a] < number[b]) a = post_dominator[a];
      while (number[b] < number[a]) b = post_dominator[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = order.size() - 1; i-- > 0;) {
      uint32_t node = order[i], found = blocks[node].may_return ? end : kNoIndex;
      for (uint32_t s : blocks[node].successors)
        if (post_dominator[s] != kNoIndex) found = found == kNoIndex ? s : common(found, s);
      if (post_dominator[node] != found) post_dominator[node] = found, changed = true;
    }
  }
  for (uint32_t b = 0; b < end; b++) blocks[b].post_dominator = post_dominator[b] == end ? kNoIndex : post_dominator[b];
}

}  // namespace

ControlFlow ControlFlow::analyze_code(const TranslatedKernel& code) {
  const std::vector<Op>& ops = code.ops;
  std::vector<bool> leads(ops.size() + 1);
  leads[0] = true;
  for (size_t i = 0; i < ops.size(); i++) {
    if (!is_jump(ops[i]) && !is_end(ops[i])) continue;
    leads[i + 1] = true;
    if (ops[i].run == jump_handler()) leads[size_t(ops[i].immediate)] = true;
    if (ops[i].run == table_jump_handler())
      for (uint32_t n = 0; n < ops[i].num_more_operands; n++)
        leads[code.jump_targets[size_t(ops[i].immediate) + n]] = true;
  }
  ControlFlow flow;
  flow.block_index_of_op.resize(ops.size());
  for (size_t i = 0; i < ops.size(); i++) {
    if (leads[i]) flow.blocks.push_back({.begin = uint32_t(i)});
    flow.blocks.back().end = uint32_t(i + 1);
    flow.block_index_of_op[i] = uint32_t(flow.blocks.size() - 1);
  }
  for (BasicBlock& b : flow.blocks) {
    const Op& last = ops[b.end - 1];
    bool falls = last.guard != kNoIndex || (!is_jump(last) && !is_end(last));
    if (last.run == jump_handler()) b.successors.push_back(flow.block_index_of_op[size_t(last.immediate)]);
    if (last.run == table_jump_handler())
      for (uint32_t n = 0; n < last.num_more_operands; n++)
        b.successors.push_back(flow.block_index_of_op[code.jump_targets[size_t(last.immediate) + n]]);
    b.may_return = is_end(last) || (falls && b.end == ops.size());
    if (falls && b.end < ops.size()) b.successors.push_back(flow.block_index_of_op[b.end]);
  }
  find_post_dominators(flow.blocks);
  return flow;
}

void add_joins(TranslatedKernel& code, std::vector<uint8_t>& outs) {
  ControlFlow flow = ControlFlow::analyze_code(code);
  std::vector<bool> is_meeting(flow.blocks.size());
  for (const ControlFlow::BasicBlock& b : flow.blocks) {
    const Op& last = code.ops[b.end - 1];
    bool parts = (last.run == jump_handler() && last.guard != kNoIndex) || last.run == table_jump_handler();
    if (parts && b.post_dominator != kNoIndex) is_meeting[b.post_dominator] = true;
  }
  std::vector<Op> ops;
  std::vector<uint8_t> new_outs;
  std::vector<uint32_t> begins;
  for (size_t n = 0; n < flow.blocks.size(); n++) {
    const ControlFlow::BasicBlock& b = flow.blocks[n];
    begins.push_back(uint32_t(ops.size()));
    if (is_meeting[n]) {
      ops.push_back({.run = join_handler(), .instruction = code.ops[b.begin].instruction});
      new_outs.push_back(0);
    }
    ops.insert(ops.end(), code.ops.begin() + b.begin, code.ops.begin() + b.end);
    new_outs.insert(new_outs.end(), outs.begin() + b.begin, outs.begin() + b.end);
    if (is_jump(ops.back()) && b.post_dominator != kNoIndex) ops.back().join_op = b.post_dominator;
    if (ops.back().run == jump_handler()) ops.back().immediate = flow.block_index_of_op[size_t(ops.back().immediate)];
  }
  for (Op& op : ops) {
    if (op.run == jump_handler()) op.immediate = begins[size_t(op.immediate)];
    if (is_jump(op) && op.join_op != kNoIndex) op.join_op = begins[op.join_op];
  }
  for (size_t& t : code.jump_targets) t = begins[flow.block_index_of_op[t]];
  code.ops = std::move(ops);
  outs = std::move(new_outs);
}

}  // namespace tgc::ptx
