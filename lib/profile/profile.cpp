#include "lib/profile/profile.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace tgc::profile {
namespace {

ProgramCode read_program_code(const GpuProgram& program, Isa isa) {
  ProgramCode out;
  auto text = find_text(program.elf_bytes);
  if (!text) return out.error = text.diag().message, out;
  auto code = KernelCode::read(*text, isa);
  if (!code) return out.error = code.diag().message, out;
  out.code = std::move(*code);
  return out;
}

template <class Task>
void run_in_threads(size_t count, unsigned num_jobs, Task&& task) {
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t n; (n = next++) < count;) task(n);
  };
  std::vector<std::jthread> threads;
  for (unsigned n = 1; n < std::min<size_t>(num_jobs, count); n++) threads.emplace_back(work);
  work();
}

}  // namespace

std::span<const uint8_t> bytes_of_blob(std::string_view blob) {
  return {reinterpret_cast<const uint8_t*>(blob.data()), blob.size()};
}

const KernelCode* Profile::code_of_run(size_t run_index) const {
  auto found = program_codes.find(trace.runs[run_index].program);
  return found != program_codes.end() && found->second.ok() ? &found->second.code : nullptr;
}

const KernelCode* Profile::kernel_code_of_event(size_t event) const {
  const SqttEvent& e = trace.sqtt_events[event];
  const KernelCode* code =
      e.has_instruction_packets && sqtt_summaries[event].error.empty() ? code_of_run(e.run_index) : nullptr;
  return code && is_rdna(code->isa()) ? code : nullptr;
}

std::optional<int64_t> Profile::clock_offset(size_t event) const {
  const size_t first = trace.runs[trace.sqtt_events[event].run_index].sqtt_events.front();
  if (first == event) return 0;
  const auto &a = sqtt_summaries[first].clock_mark, &b = sqtt_summaries[event].clock_mark;
  if (!a || !b || a->id != b->id) return {};
  return int64_t(uint64_t(a->time) - uint64_t(b->time));  // the times of a damaged trace may overflow
}

const CodeSource* Profile::source_of_run(size_t run_index) const {
  auto found = sources.find(trace.runs[run_index].program);
  return found == sources.end() ? nullptr : &found->second;
}

std::optional<KernelWork> Profile::work_of_run(size_t kernel) const {
  const CodeSource* source = source_of_run(kernel);
  if (source && source->kernel_work) return source->kernel_work;
  auto found = kernel_works.find(trace.runs[kernel].kernel);
  return found == kernel_works.end() ? std::nullopt : std::optional(found->second);
}

std::vector<InstructionTimes> Profile::instruction_times_of_run(size_t run_index) const {
  std::vector<InstructionTimes> out;
  for (size_t i : trace.runs[run_index].sqtt_events) {
    const auto& times = sqtt_summaries[i].instructions;
    if (out.size() < times.size()) out.resize(times.size());
    for (size_t n = 0; n < times.size(); n++) {
      out[n].num_executions += times[n].num_executions, out[n].cycles += times[n].cycles;
      out[n].stall_cycles += times[n].stall_cycles, out[n].idle_cycles += times[n].idle_cycles;
    }
  }
  return out;
}

std::vector<uint64_t> Profile::active_lanes_of_run(size_t run_index) const {
  std::vector<uint64_t> out(instruction_times_of_run(run_index).size());
  for (size_t i : trace.runs[run_index].sqtt_events) {
    if (sqtt_summaries[i].instructions.empty()) continue;
    const auto& sums = trace.sqtt_events[i].active_lanes;
    if (sums.size() != out.size()) return {};
    for (size_t n = 0; n < out.size(); n++) out[n] += sums[n];
  }
  return out;
}

Result<Profile> analyze_profile(ProfileTrace trace, const ProfileOptions& options) {
  return catch_failures([&] {
    Profile out{.trace = std::move(trace), .wanted_run_name = options.kernel};
    const ProfileTrace& t = out.trace;
    for (const KernelRun& run : t.runs)
      out.is_run_chosen.push_back(options.kernel.empty() || run.name == options.kernel || run.kernel == options.kernel);
    bool has_samples = std::ranges::find(t.pma_events, options.kernel, &PmaEvent::kernel) != t.pma_events.end();
    if (!options.kernel.empty() && !has_samples &&
        std::ranges::find(out.is_run_chosen, true) == out.is_run_chosen.end()) {
      std::string names;
      for (size_t n = 0; n < t.runs.size() && n < 8; n++) names += (n ? ", " : "") + t.runs[n].name;
      throw Failure(Diag{.message = "the profile has no hardware events of a kernel '" + options.kernel + "'",
                         .expected = names.empty() ? "" : names + (t.runs.size() > 8 ? ", ..." : "")});
    }
    out.buffer_bytes = buffer_bytes(t, memory_use(t));
    out.sqtt_summaries.resize(t.sqtt_events.size());
    std::vector<size_t> tasks;
    for (size_t i = 0; i < t.sqtt_events.size(); i++) {
      const SqttEvent& e = t.sqtt_events[i];
      if (!out.is_run_chosen[e.run_index]) continue;
      tasks.push_back(i);
      const KernelRun& run = t.runs[e.run_index];
      Isa isa = isa_of_arch(run.arch);
      if (e.has_instruction_packets && run.program && isa != Isa::None && !out.program_codes.contains(run.program))
        out.program_codes[run.program] = read_program_code(*run.program, isa);
    }
    unsigned num_jobs = options.num_threads ? options.num_threads : std::max(1u, std::thread::hardware_concurrency());
    run_in_threads(tasks.size(), num_jobs, [&](size_t n) {
      const SqttEvent& e = t.sqtt_events[tasks[n]];
      const KernelCode* code = e.has_instruction_packets ? out.code_of_run(e.run_index) : nullptr;
      out.sqtt_summaries[tasks[n]] = summarize_sqtt(bytes_of_blob(e.blob), code);
    });
    for (size_t i : tasks) {
      const SqttEvent& e = t.sqtt_events[i];
      const KernelRun& run = t.runs[e.run_index];
      if (!e.has_instruction_packets || isa_of_arch(run.arch) == Isa::None) continue;
      if (!run.program) out.sqtt_summaries[i].error = "the profile has no binary of this kernel";
      else if (const ProgramCode& code = out.program_codes[run.program]; !code.ok())
        out.sqtt_summaries[i].error = code.error;
    }
    return out;
  });
}

}  // namespace tgc::profile
