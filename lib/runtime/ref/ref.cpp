#include "lib/runtime/ref/ref.h"

#include <algorithm>
#include <cstring>

#include "lib/runtime/array.h"
#include "lib/runtime/host_device.h"
#include "lib/runtime/ref/code.h"
#include "lib/runtime/ref/lower.h"
#include "lib/support/counted.h"
#include "lib/support/deadline.h"
#include "lib/support/limits.h"

namespace tgc {

using namespace ref;

struct RefProgram::Impl {
  RefCode code;
};

namespace {

class RefRun {
 public:
  RefRun(const RefCode& code, std::span<const RefBuffer> buffers, const std::map<std::string, int64_t>& variables)
      : code_(code), registers_(code.register_bytes), memories_(code.memories.size()) {
    for (size_t i = 0; i < memories_.size(); i++) memories_[i] = make_memory(code.memories[i], buffers);
    for (const MemoryAccess& a : code.accesses) {
      RefMemory& m = memories_[size_t(a.memory)];
      if (!a.is_store || m.stored_flags || code.memories[size_t(a.memory)].buffer_number < 0) continue;
      scratch_memory_.emplace_back(size_t(m.size));
      m.stored_flags = scratch_memory_.back().data();
    }
    for (auto [at, bits] : code.constants) std::memcpy(registers_.data() + at, &bits, 8);
    for (auto& [at, name] : code.variables) {
      auto it = variables.find(name);
      if (it == variables.end()) throw Failure("the variable '" + name + "' has no value");
      std::memcpy(registers_.data() + at, &it->second, 8);
    }
  }

  RefResult execute(double seconds) {
    RefFrame f{};
    f.registers = registers_.data();
    f.num_chunk_lanes = code_.num_chunk_lanes;
    f.code = code_.instructions.data();
    f.memories = memories_.data();
    f.wmmas = code_.wmmas.data();
    const Deadline deadline = deadline_within(seconds > 0 ? seconds : double(limit_value(Limit::RefSeconds)));
    const bool is_default = seconds <= 0 && deadline.end_time != current_deadline().end_time;
    RunBudget budget = {.max_steps = limit_value(Limit::RefSteps), .deadline = deadline.end_time};
    f.run_budget = &budget;
    for (const RefInstruction* i = f.code; i;) i = i->function(f, i);
    if (f.is_limit_exceeded && budget.num_steps > budget.max_steps) throw Failure(limit_error(Limit::RefSteps));
    if (f.is_limit_exceeded)
      throw Failure(is_default ? limit_error(Limit::RefSeconds) : out_of_time_error(deadline.limit_seconds));
    if (f.failed_access) throw_out_of_bounds(f);
    for (auto& [number, p] : padded_buffers_) std::memcpy(p.buffer.data, p.memory.data(), p.buffer.bytes);
    return {f.run_notes, f.num_evaluations};
  }

 private:
  struct PaddedBuffer {
    RefBuffer buffer;
    HostMemory memory;  // padded with zeros to whole words
  };

  static int64_t item_bytes(const MemoryInfo& info) {
    return info.scalar == Scalar::Index ? 8 : dtypes::of(info.scalar).itemsize();
  }

  // Returns a padded copy if the kernel accesses the buffer as words of 32 bits and the last word is not whole; else
  // returns `b`.
  RefBuffer pad_to_whole_words(RefBuffer b) {
    size_t bytes = b.bytes;
    for (const MemoryInfo& m : code_.memories)
      if (m.buffer_number == b.number && m.scalar == Scalar::UInt32)
        bytes = std::max(bytes, size_t(m.size * item_bytes(m)));
    if (bytes == b.bytes || bytes - b.bytes > 3) return b;
    auto [it, is_new] = padded_buffers_.try_emplace(b.number);
    if (is_new) {
      it->second = {b, HostMemory(bytes)};
      std::memcpy(it->second.memory.data(), b.data, b.bytes);
    }
    return {b.number, it->second.memory.data(), bytes};
  }

  RefMemory make_memory(const MemoryInfo& info, std::span<const RefBuffer> buffers) {
    const int64_t item = item_bytes(info);
    if (info.buffer_number < 0) {
      int64_t copies =
          info.lane_group_size > 0 ? std::max<int64_t>(code_.num_chunk_lanes / info.lane_group_size, 1) : 1;
      scratch_memory_.emplace_back(size_t(info.size * copies * item));
      return {scratch_memory_.back().data(), info.size * copies, info.size};
    }
    for (const RefBuffer& given : buffers) {
      if (given.number != info.buffer_number) continue;
      const RefBuffer b = pad_to_whole_words(given);
      int64_t have = int64_t(b.bytes) / item, size = info.size < 0 ? have : info.size;
      if (have < size)
        throw Failure(info.name + " has " + std::to_string(have) + " elements, but the kernel's has " +
                      std::to_string(size));
      return {static_cast<uint8_t*>(b.data), size, size};
    }
    throw Failure("there is no buffer for " + info.name);
  }

  int64_t integer_register(int32_t at) const {
    int64_t v;
    std::memcpy(&v, registers_.data() + at, 8);
    return v;
  }

  [[noreturn]] void throw_out_of_bounds(const RefFrame& f) const {
    const RefInstruction* i = f.failed_access;
    const MemoryAccess& a = code_.accesses[size_t(i->immediate >> 32)];
    const MemoryInfo& m = code_.memories[size_t(a.memory)];
    int64_t lane = a.is_varying ? f.failed_lane : 0;
    int64_t offset = a.has_narrow_offset ? f.register_at<int32_t>(i->a)[lane] : f.register_at<int64_t>(i->a)[lane];
    std::string where;
    for (auto& axis : a.axes)
      where += (where.empty() ? " at " : ", ") + axis.name + "=" +
               std::to_string((f.first_lane + lane) / integer_register(axis.stride) % integer_register(axis.extent));
    for (auto& [name, at] : a.ranges)
      where += (where.empty() ? " at " : ", ") + name + "=" + std::to_string(integer_register(at));
    int64_t size = m.size < 0 ? memories_[size_t(a.memory)].size : m.size;
    throw Failure(Diag{.message = "out of bounds: " + a.text + "[" + std::to_string(offset) + "], which has " +
                                  count_text(uint64_t(size), "element") + (where.empty() ? "" : "," + where),
                       .is_kernel_fault = true});
  }

  const RefCode& code_;
  HostMemory registers_;
  std::vector<HostMemory> scratch_memory_;
  std::map<int64_t, PaddedBuffer> padded_buffers_;
  std::vector<RefMemory> memories_;
};

}  // namespace

bool ref::check_run_limits(RefFrame& f) {
  RunBudget& b = *f.run_budget;
  b.num_steps += std::max(RunBudget::kStepsPerCheck, f.num_lanes);
  f.is_limit_exceeded = b.num_steps > b.max_steps || Clock::now() > b.deadline;
  f.iterations_left = std::max(RunBudget::kStepsPerCheck, f.num_lanes);
  return !f.is_limit_exceeded;
}

std::string UndefinedOpCounts::text() const {
  std::string out;
  auto add = [&](uint64_t n, std::string_view what, std::string_view how) {
    if (n) out.append(out.empty() ? "" : ", ").append(count_text(n, what)).append(how);
  };
  add(num_zero_divisions, "integer division", " by zero");
  add(num_wide_shifts, "shift", " by the width or more");
  add(num_out_of_range_casts, "cast", " of a float to an integer type that cannot hold it");
  add(num_conflicting_stores, "store",
      " of a different value to an element already stored to: the device decides the order");
  add(num_negative_sizes, "loop", kNegativeSizeText);
  add(num_domain_errors, "square root or logarithm", " of a negative number");
  return out;
}

RefProgram::RefProgram(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RefProgram::RefProgram(RefProgram&&) noexcept = default;
RefProgram::~RefProgram() = default;

Result<RefProgram> RefProgram::make_from_graph(UOp sink, const RefOptions& options) {
  return catch_failures(
      [&] { return RefProgram(std::make_unique<Impl>(lower_graph(sink, options.should_count_evaluations))); });
}

Result<RefProgram> RefProgram::make_from_list(std::span<const UOp> list, const RefOptions& options) {
  return catch_failures(
      [&] { return RefProgram(std::make_unique<Impl>(lower_list(list, options.should_count_evaluations))); });
}

Result<RefResult> RefProgram::run(std::span<const RefBuffer> buffers,
                                  const std::map<std::string, int64_t>& variables, double seconds) const {
  return catch_failures([&] { return RefRun(impl_->code, buffers, variables).execute(seconds); });
}

std::vector<int64_t> RefProgram::buffer_numbers() const {
  std::vector<int64_t> out;
  for (const MemoryInfo& m : impl_->code.memories)
    if (m.buffer_number >= 0) out.push_back(m.buffer_number);
  std::sort(out.begin(), out.end());
  return out;
}

namespace {

class RefDevice : public HostDevice {
 public:
  Status open() override { return Unit{}; }
  std::string target() const override { return "REF"; }
  std::string description() const override {
    return "interpreter of UOps, exact dtype semantics, every access checked";
  }
  Result<std::unique_ptr<Kernel>> load(const KernelSource&, const std::string&) override {
    return Diag{"REF runs UOps, not source texts"};
  }
};

}  // namespace

std::unique_ptr<Device> make_ref_device() { return std::make_unique<RefDevice>(); }

RefKernel::RefKernel(Device& device, std::shared_ptr<const RefProgram> program, std::vector<int64_t> buffer_numbers,
                     std::vector<std::string> variables)
    : Kernel(device),
      ref_program_(std::move(program)),
      buffer_numbers_(std::move(buffer_numbers)),
      variable_names_(std::move(variables)) {}

Status RefKernel::launch(const LaunchArguments& a) {
  std::vector<RefBuffer> buffers;
  for (size_t i = 0; i < buffer_numbers_.size(); i++)
    buffers.push_back({buffer_numbers_[i], HostDevice::address(a.buffers[i]), a.buffers[i].bytes});
  std::map<std::string, int64_t> values;
  for (size_t i = 0; i < variable_names_.size(); i++) values[variable_names_[i]] = a.variables[i];
  auto result = ref_program_->run(buffers, values, limit_seconds_);
  if (!result) return result.diag();
  last_result_ = *result;
  return Unit{};
}

}  // namespace tgc
