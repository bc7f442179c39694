#include "passes/tensor/schedule.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "lib/uop/facts.h"
#include "lib/uop/wellformed.h"
#include "passes/tensor/stages.h"

namespace tgc {
namespace {

UOp apply_kernels(TensorJob& job, UOp kernels) {
  Substitution tensors = job.multi_map;
  for (size_t i = 0; i < kernels.num_src() && i < job.sink_tags.size(); i++) {
    if (!job.sink_tags[i].is_tuple()) throw Failure("a result has lost the tags that name its tensors");
    for (Arg tag : job.sink_tags[i].items())
      tensors.emplace_back(job.numbered_nodes[size_t(tag.small_int())], kernels.src(i));
  }
  return substitute(job.scheduled_sink, tensors, nullptr, "Apply Kernelize Map");
}

// Orders the KERNELs, OUTER RANGEs (loops around kernels), and ENDs of such ranges topologically.
class KernelOrder {
 public:
  explicit KernelOrder(UOp sink) {
    for (UOp u : toposort(sink)) {
      if (u.is(Op::RANGE)) add_step(u);
      else if (u.is(Op::AFTER) && u.num_src() > 1 && !u.src(1).is(Op::RANGE)) add_kernel(u.src(1));
    }
  }

  // Returns the steps in execution order. Among the steps that are ready, the one that became ready first is next.
  std::vector<UOp> run() {
    std::deque<UOp> ready;
    for (UOp k : step_order_)
      if (steps_[k].num_waits == 0) ready.push_back(k);
    std::vector<UOp> out;
    while (!ready.empty()) {
      UOp k = ready.front();
      ready.pop_front();
      append_step(k, out);
      num_done_++;
      for (UOp user : steps_[k].users)
        if (--steps_[user].num_waits == 0) ready.push_back(user);
    }
    if (num_done_ != step_order_.size())
      throw Failure("the kernels depend on each other in a cycle: " + std::to_string(step_order_.size() - num_done_) +
                    " cannot be scheduled");
    return out;
  }

 private:
  struct PendingStep {
    std::vector<UOp> users;
    int num_waits = 0;
  };

  PendingStep& add_step(UOp k) {
    auto [it, is_new] = steps_.try_emplace(k);
    if (is_new) step_order_.push_back(k);
    return it->second;
  }

  void add_kernel(UOp k) {
    add_step(k);
    for (UOp s : k.is(Op::END) ? k.src(0).src() : k.src()) {
      if (s.is(Op::AFTER)) add_dependency(k, s);
      else if (s.in({Op::MSELECT, Op::MSTACK})) add_part_dependencies(k, s);
      else if (!s.in({Op::BUFFER, Op::BIND}))
        throw Failure("the input of a kernel must be AFTER or BUFFER, not Ops." + std::string(name_of(s.op())));
    }
  }
  void add_part_dependencies(UOp k, UOp choice) {
    for (UOp s : choice.src()) {
      if (s.is(Op::MSELECT)) s = s.src(0);
      if (s.is(Op::BUFFER)) continue;
      if (!s.is(Op::AFTER))
        throw Failure("the input of a kernel must be made of AFTERs and BUFFERs, not Ops." +
                      std::string(name_of(s.op())));
      add_dependency(k, s);
    }
  }
  void add_dependency(UOp k, UOp after) {
    if (after.num_src() < 2) throw Failure("an AFTER of a kernel has fewer than 2 sources");
    steps_[after.src(1)].users.push_back(k);
    steps_[k].num_waits++;
  }

  static void append_step(UOp k, std::vector<UOp>& out) {
    UOp kernel = k.is(Op::END) ? k.src(0) : k;
    if (!kernel.in({Op::RANGE, Op::KERNEL})) throw Failure("can't schedule Ops." + std::string(name_of(kernel.op())));
    out.push_back(kernel);
    if (k.is(Op::END) && kernel.is(Op::KERNEL)) out.push_back(k);
  }

  std::unordered_map<UOp, PendingStep> steps_;
  std::vector<UOp> step_order_;
  size_t num_done_ = 0;
};

struct KernelRun {
  UOp kernel;
  std::vector<std::pair<std::string, int64_t>> fixed_vars;
};

// Unrolls OUTER ranges: returns one KernelRun per iteration for a kernel inside such a range, and one for any other
// kernel.
std::vector<KernelRun> unroll_outer_ranges(const std::vector<UOp>& steps) {
  std::vector<KernelRun> out;
  std::unordered_map<UOp, int64_t> turn;
  std::unordered_map<UOp, size_t> begin;
  for (size_t at = 0; at < steps.size(); at++) {
    UOp step = steps[at];
    if (step.is(Op::RANGE)) {
      turn[step] = 0;
      begin[step] = at;
    } else if (step.is(Op::END)) {
      UOp range = step.src(1);
      if (!begin.contains(range)) throw Failure("an END comes before its RANGE in the schedule");
      if (Int(turn[range]) < range.vmax().as_int()) {
        turn[range]++;
        at = begin[range];
      }
    } else {
      KernelRun run{step, {}};
      for (UOp s : step.src())
        if (s.is(Op::BIND) && s.num_src() > 1 && s.src(1).is(Op::RANGE))
          run.fixed_vars.emplace_back(std::string(s.src(0).arg()[0].text()), turn[s.src(1)]);
      out.push_back(std::move(run));
    }
  }
  return out;
}

class BufferTable {
 public:
  explicit BufferTable(const TensorJob& job) {
    for (auto& [given, numbered] : job.input_buffers)
      if (given.is(Op::BUFFER)) original_inputs_[numbered] = given;
  }

  // The schedule buffers of a BUFFER, MSELECT or MSTACK (or a reshape of one), one per device.
  struct BufferParts {
    std::vector<size_t> buffers;
    bool has_many_devices = false;
  };
  BufferParts find_parts(UOp u) {
    while (u.is(Op::RESHAPE)) u = u.src(0);
    if (u.is(Op::MSELECT)) {
      BufferParts all = find_parts(u.src(0));
      Int i = u.arg().as_int();
      if (!all.has_many_devices || i < 0 || i >= Int(int64_t(all.buffers.size())))
        throw Failure("MSELECT " + i.str() + " is out of range of its buffer");
      return {{all.buffers[size_t(i.small_value())]}};
    }
    if (u.is(Op::MSTACK)) {
      BufferParts out{{}, true};
      for (UOp s : u.src()) {
        BufferParts part = find_parts(s);
        if (part.has_many_devices) throw Failure("MSTACK of a buffer on several devices");
        out.buffers.push_back(part.buffers[0]);
      }
      return out;
    }
    if (!u.is(Op::BUFFER)) throw Failure("Ops." + std::string(name_of(u.op())) + " is not a buffer");
    return {buffers_of(u), device_of(u).is_tuple()};
  }

  // Makes `u` a view of `size` elements of buffer number `of`, from byte `offset` on.
  void make_view(UOp u, size_t of, int64_t size, DType dtype, int64_t offset) {
    const ScheduleBuffer& base = schedule_buffers_[of];
    if (offset < 0 || size < 0 || Int(offset) + Int(size) * Int(int64_t(dtype.itemsize())) > Int(base.nbytes()))
      throw Failure("a view at byte " + std::to_string(offset) + " of a buffer of " + std::to_string(base.nbytes()));
    size_t root = base.view_of.value_or(of);
    ScheduleBuffer view{u, base.device, size, dtype, root, base.offset_bytes + offset};
    if (auto known = buffers_of_node_.find(u); known != buffers_of_node_.end()) {
      const ScheduleBuffer& before = schedule_buffers_[known->second[0]];
      const bool is_same =
          before.view_of == root && before.offset_bytes == view.offset_bytes && before.num_elements == size;
      if (!is_same || before.dtype != dtype) throw Failure("a buffer becomes a view after it was used");
      return;
    }
    buffers_of_node_[u] = {schedule_buffers_.size()};
    schedule_buffers_.push_back(std::move(view));
  }

  std::vector<ScheduleBuffer>& schedule_buffers() { return schedule_buffers_; }

 private:
  const std::vector<size_t>& buffers_of(UOp u) {
    auto [it, is_new] = buffers_of_node_.try_emplace(u);
    if (!is_new) return it->second;
    int64_t size = u.arg().as_int().int64_or_throw("the size of a buffer");
    if (size < 0 || Int(size) * Int(int64_t(u.dtype().itemsize())) > Int(kMaxBufferBytes))
      throw Failure(Diag{.message = "a buffer of " + std::to_string(size) + " " + std::string(u.dtype().repr()),
                         .expected = "at most 2**48 bytes"});
    Arg device = device_of(u);
    auto input = original_inputs_.find(u);
    ScheduleBuffer buffer{input == original_inputs_.end() ? u : input->second, "", size,
                          u.dtype().is_image() ? u.dtype() : u.dtype().base()};
    buffer.is_input = input != original_inputs_.end();
    std::span<const Arg> devices = device.is_tuple() ? device.items() : std::span<const Arg>(&device, 1);
    for (Arg d : devices) {
      buffer.device = std::string(d.text());
      it->second.push_back(schedule_buffers_.size());
      schedule_buffers_.push_back(buffer);
    }
    return it->second;
  }

  std::unordered_map<UOp, UOp> original_inputs_;
  std::unordered_map<UOp, std::vector<size_t>> buffers_of_node_;
  std::vector<ScheduleBuffer> schedule_buffers_;
};

// Appends the schedule items of one run: one per device.
void add_schedule_items(const KernelRun& run, BufferTable& buffers, std::vector<ScheduleItem>& items) {
  UOp ast = run.kernel.arg()[0].uop();
  std::vector<UOp> uops;
  for (UOp s : run.kernel.src())
    if (!s.is(Op::BIND)) uops.push_back(buf_uop(s));
  if (ast.is(Op::BUFFER_VIEW)) {
    if (uops.size() != 2) throw Failure("a BUFFER_VIEW has " + std::to_string(uops.size()) + " buffers, expected 2");
    auto base = buffers.find_parts(uops[1]);
    if (base.has_many_devices) throw Failure("cannot view a buffer on several devices");
    int64_t offset = ast.arg()[1].as_int().int64_or_throw("the offset of a view") *
                     buffers.schedule_buffers()[base.buffers[0]].dtype.itemsize();
    buffers.make_view(uops[0], base.buffers[0], uops[0].arg().as_int().int64_or_throw("the size of a view"),
                      ast.dtype(), offset);
  }
  std::vector<BufferTable::BufferParts> parts;
  for (UOp u : uops) parts.push_back(buffers.find_parts(u));
  bool has_many_devices = std::ranges::any_of(parts, &BufferTable::BufferParts::has_many_devices);
  size_t devices = has_many_devices ? parts[0].buffers.size() : 1;
  for (auto& p : parts)
    if (p.has_many_devices != has_many_devices)
      throw Failure("a kernel on several devices takes a buffer that is on one");
    else devices = std::min(devices, p.buffers.size());
  UOp number = has_many_devices ? device_number_in(ast) : UOp();
  for (size_t i = 0; i < devices; i++) {
    ScheduleItem item{ast, {}, run.fixed_vars};
    for (auto& p : parts) item.buffers.push_back(p.buffers[i]);
    if (number) item.fixed_vars.emplace_back("_device_num", int64_t(i));
    items.push_back(std::move(item));
  }
}

bool is_in_memory(UOp s) {
  UOp base = base_of(s);
  if (base.in({Op::MSELECT, Op::MSTACK})) return std::ranges::all_of(base.src(), is_in_memory);
  return base.in({Op::AFTER, Op::BUFFER});
}

UOp memory_buffer_of(UOp s) { return is_in_memory(s) ? buf_uop(base_of(s)) : UOp(); }

// Renumbers the buffers in order of first use by the items. Buffers that no item uses are last.
void renumber_by_first_use(Schedule& schedule) {
  std::vector<size_t> order;
  std::vector<std::optional<size_t>> number(schedule.buffers.size());
  auto use = [&](size_t b) {
    if (number[b]) return;
    number[b] = order.size();
    order.push_back(b);
  };
  for (auto& item : schedule.items)
    for (size_t b : item.buffers) use(b);
  for (size_t b = 0; b < schedule.buffers.size(); b++) use(b);
  std::vector<ScheduleBuffer> sorted;
  for (size_t b : order) sorted.push_back(std::move(schedule.buffers[b]));
  schedule.buffers = std::move(sorted);
  for (auto& b : schedule.buffers)
    if (b.view_of) b.view_of = number[*b.view_of];
  for (auto& item : schedule.items)
    for (size_t& b : item.buffers) b = *number[b];
  for (auto& output : schedule.output_buffers)
    for (size_t& b : output) b = *number[b];
}

}  // namespace

Schedule create_schedule(TensorJob& job, UOp kernels) {
  Schedule schedule;
  schedule.var_vals = job.var_vals;
  schedule.result_sink = apply_kernels(job, kernels);
  BufferTable buffers(job);
  for (const KernelRun& run : unroll_outer_ranges(KernelOrder(schedule.result_sink).run()))
    add_schedule_items(run, buffers, schedule.items);
  for (UOp s : schedule.result_sink.src()) {
    UOp holder = memory_buffer_of(s);
    schedule.output_buffers.push_back(holder ? buffers.find_parts(holder).buffers : std::vector<size_t>());
  }
  schedule.buffers = std::move(buffers.schedule_buffers());
  for (auto& output : schedule.output_buffers)
    for (size_t b : output) schedule.buffers[b].is_output = true;
  renumber_by_first_use(schedule);
  if (schedule.items.empty()) schedule.var_vals.clear();
  return schedule;
}

std::vector<BufferAccess> accesses_of(const ScheduleItem& item) {
  std::vector<BufferAccess> out(item.buffers.size());
  if (!item.ast.is(Op::SINK)) {  // the op writes its first buffer and reads the others
    for (size_t i = 0; i < out.size(); i++) (i == 0 ? out[i].is_written : out[i].is_read) = true;
    return out;
  }
  auto buffer_number = [](UOp index) {
    while (index.num_src() && !index.is(Op::DEFINE_GLOBAL)) index = index.src(0);
    return index.is(Op::DEFINE_GLOBAL) ? size_t(index.arg().small_int()) : size_t(-1);
  };
  UOpSet stored(item.ast.graph());
  for (UOp u : toposort(item.ast))
    if (u.is(Op::STORE)) {
      stored.insert(u.src(0));
      if (size_t n = buffer_number(u.src(0)); n < out.size()) out[n].is_written = true;
    }
  for (UOp u : toposort(item.ast))
    if (u.is(Op::INDEX) && !stored.contains(u))
      if (size_t n = buffer_number(u); n < out.size()) out[n].is_read = true;
  return out;
}

}  // namespace tgc
