#include "lib/emulate/hip/driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "lib/compile/engines.h"
#include "lib/emulate/hip/builder.h"
#include "lib/emulate/hip/waits.h"

namespace tgc::hip {

namespace {

constexpr LaunchLimits kLimits{.grid = {INT32_MAX, 65536, 65536}, .block = {1024, 1024, 1024}, .threads = 1024};
constexpr uint32_t kMostGroupBytes = 64 << 10, kHiddenArguments = 256;

constexpr ErrorText kErrors[] = {
    {kSuccess, "hipSuccess", "no error"},
    {kInvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {kOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {kNotInitialized, "hipErrorNotInitialized", "initialization error"},
    {kInvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    {kInvalidImage, "hipErrorInvalidImage", "device kernel image is invalid"},
    {kInvalidHandle, "hipErrorInvalidHandle", "invalid resource handle"},
    {kNotFound, "hipErrorNotFound", "named symbol not found"},
    {kIllegalAddress, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
    {kIllegalInstruction, "hipErrorIllegalInstruction", "an illegal instruction was encountered"},
    {kLaunchFailed, "hipErrorLaunchFailure", "unspecified launch failure"},
    {kNotSupported, "hipErrorNotSupported", "operation not supported"},
};

// Writes the hidden arguments of code object version 5 (grid size, group size, dimensions) after `own` argument bytes.
void add_hidden_arguments(KernelLaunch& launch, uint64_t own) {
  uint64_t at = (own + 7) / 8 * 8;
  if (at + kHiddenArguments > launch.arguments.size()) return;
  std::byte* to = launch.arguments.data() + at;
  std::memcpy(to, launch.grid.data(), 12);
  for (size_t n = 0; n < 3; n++) {
    auto size = uint16_t(launch.block[n]);
    std::memcpy(to + 12 + 2 * n, &size, 2);
  }
  uint16_t dimensions = 3;
  std::memcpy(to + 64, &dimensions, 2);
}

}  // namespace

EmulatedGpu& EmulatedGpu::get_gpu() {
  static EmulatedGpu* gpu = new EmulatedGpu;  // never destroyed: Python frees modules after static destructors have run
  return *gpu;
}

EmulatedGpu::EmulatedGpu() : EmulatedDriver("TGC_HIP_EMULATOR", kErrors) {
  if (const char* arch = setting_value("_ARCH"))
    if (find_processor(arch)) architecture_ = arch;
  if (const char* address = std::getenv(kTraceLogVariable))
    trace_log_ = reinterpret_cast<TraceLog*>(std::strtoull(address, nullptr, 16));
}

int EmulatedGpu::load_code(const void* image, LoadedModule*& module) {
  uint64_t bytes = elf_bytes(image);
  if (!bytes) return set_error(kInvalidImage, "the image is not an ELF file");
  auto loaded = LoadedModule::load_code({static_cast<const char*>(image), bytes}, memory(), checks_races());
  if (!loaded) return set_error(kInvalidImage, loaded.diag().text());
  module = modules_.add_module(std::move(*loaded));
  if (trace_log_)
    trace_log_->append(TraceRecord::Module, module->image_address(), {static_cast<const char*>(image), bytes});
  return kSuccess;
}

int EmulatedGpu::launch(const Kernel* kernel, const Dim3& grid, const Dim3& block, uint64_t group_bytes,
                        void** parameters, void** extra) {
  if (!modules_.contains(kernel)) return kInvalidHandle;
  if (parameters) return set_error(kNotSupported, "arguments one by one, expected them as one block in `extra`");
  ArgumentBlock given;
  if (int wrong = read_extra_options(extra, reinterpret_cast<void*>(3), given)) return wrong;
  const TranslatedKernel& code = *kernel->code;
  const KernelDescriptor& d = code.descriptor;
  // hidden arguments begin at a multiple of 8, so up to 7 bytes of padding precede them
  if (given.bytes + (d.kernarg_bytes > kHiddenArguments ? kHiddenArguments + 7 : 0) < d.kernarg_bytes)
    return set_error(kInvalidValue,
                std::to_string(given.bytes) + " bytes of arguments, the kernel has " + std::to_string(d.kernarg_bytes));
  if (int wrong = check_launch_size(grid, block, kLimits)) return wrong;
  if (d.group_bytes + group_bytes > kMostGroupBytes)
    return set_error(kInvalidValue, std::to_string(d.group_bytes + group_bytes) + " bytes of shared memory");
  KernelLaunch launch{.code = &code,
                      .grid = grid,
                      .block = block,
                      .dynamic_group_bytes = group_bytes,
                      .memory_ranges = memory().ranges(),
                      .checks_races = checks_races(),
                      .num_host_threads = trace_log_ ? 1 : num_host_threads(),
                      .trace_log = trace_log_};
  if (trace_log_)
    trace_log_->append(TraceRecord::Launch, code.image_address, std::string(code.processor) + " " + code.name);
  size_t bytes = given.data ? given.bytes : 0;
  // a widened load may read beyond the end of the arguments
  launch.arguments.resize((std::max<size_t>(bytes, d.kernarg_bytes) + 63) / 64 * 64 + 64);
  std::memcpy(launch.arguments.data(), given.data ? given.data : "", bytes);
  if (d.kernarg_bytes > bytes) add_hidden_arguments(launch, bytes);
  return run_kernel(code.name, num_positions(block), [&](uint64_t& executed) { return run_launch(launch, executed); });
}

namespace {

constexpr uint32_t kMostPrivateBytes = 64 << 10, kMostKernargBytes = 1 << 16;

void check_limits(const KernelEntry& k) {
  const KernelDescriptor& d = k.descriptor;
  if (d.group_bytes > kMostGroupBytes || d.private_bytes > kMostPrivateBytes || d.kernarg_bytes > kMostKernargBytes)
    throw Failure("the kernel '" + k.name + "' asks for more memory than a GPU has");
  if (d.kernarg_preload) throw Failure("the kernel '" + k.name + "' wants its arguments preloaded in registers");
}

}  // namespace

Result<std::unique_ptr<LoadedModule>> LoadedModule::load_code(std::string_view bytes, GpuMemory& memory, bool watches) {
  return catch_failures([&] {
    CodeObject object = CodeObject::read(bytes).value_or_throw();
    const GpuProcessor& processor = object.processor();
    auto engine = llvm_engine().value_or_throw();
    auto made = engine->disassemble_object(
        bytes, {.triple = "amdgcn-amd-amdhsa", .cpu = processor.name, .cpu_features = "+cumode"});
    if (!made.ok) throw Failure("LLVM does not disassemble the code object: " + made.compiler_error.message);
    std::unique_ptr<LoadedModule> out(new LoadedModule(memory));
    out->listing_ = std::move(made.value);
    out->image_address_ = memory.allocate(std::max<size_t>(object.image().size(), 1));
    if (!out->image_address_) throw Failure("not enough device memory for the code object");
    std::memcpy(reinterpret_cast<void*>(out->image_address_), object.image().data(), object.image().size());
    for (const KernelEntry& entry : object.kernels()) {
      check_limits(entry);
      auto code = std::make_unique<TranslatedKernel>();
      code->name = entry.name, code->descriptor = entry.descriptor, code->family = processor.family;
      code->processor = processor.name;
      code->num_halves = entry.descriptor.is_wave32() ? 1 : 2;
      code->image_address = out->image_address_, code->has_waits = watches;
      if (processor.family == GpuFamily::Gfx9 && code->num_halves == 1)
        throw Failure("the kernel '" + entry.name + "' has waves of 32 on a processor that has 64");
      code->instructions = read_listing(out->listing_, entry.begin, entry.end);
      CodeBuilder(*code).build_ops();
      out->kernels_.push_back(std::move(code));
    }
    if (out->kernels_.empty()) throw Failure("the code object has no kernel");
    return out;
  });
}

LoadedModule::~LoadedModule() {
  if (image_address_) memory_.free(image_address_);
}

const TranslatedKernel* LoadedModule::kernel(std::string_view name) const {
  auto found = std::ranges::find_if(kernels_, [&](auto& k) { return k->name == name; });
  return found == kernels_.end() ? nullptr : found->get();
}

namespace {

struct WaveStorage {
  std::unique_ptr<uint32_t, AlignedDeleter> scalar, vector;
  std::unique_ptr<std::byte, AlignedDeleter> private_memory;
};

class WorkGroupRunner {
 public:
  explicit WorkGroupRunner(const KernelLaunch& launch) : launch_(launch), kernel_code_(*launch.code) {
    num_lanes_ = kernel_code_.num_halves * kNumLanes;
    num_waves_ = (launch.num_block_threads() + num_lanes_ - 1) / num_lanes_;
    group_.launch = &launch;
    group_.lds_memory.resize(kernel_code_.descriptor.group_bytes + launch.dynamic_group_bytes);
    group_.is_byte_stored.resize(group_.lds_memory.size());
    if (launch.checks_races) group_.race_detector = std::make_unique<RaceDetector>(num_lanes_);
    for (uint32_t n = 0; n < (kernel_code_.has_barrier ? num_waves_ : 1); n++)
      storage_.push_back(
          {allocate_zeroed_bytes<uint32_t>(kernel_code_.num_scalars() * sizeof(uint32_t)),
           allocate_zeroed_bytes<uint32_t>(size_t(kVectorFileSize) * num_lanes_ * sizeof(uint32_t)),
           allocate_zeroed_bytes<std::byte>(size_t(kernel_code_.descriptor.private_bytes) * num_lanes_ + 1)});
    for (WaveStorage& storage : storage_)
      std::ranges::copy(kernel_code_.constants, storage.scalar.get() + kFirstConstant);
    if (launch.checks_races) wait_checkers_.resize(storage_.size());
    set_float_mode(kernel_code_.descriptor.float_mode());
  }
  ~WorkGroupRunner() { set_float_mode(0xf0); }  // the host's default: round to nearest, keep denormals

  uint64_t num_groups() const { return num_positions(launch_.grid); }
  uint64_t num_executed_ops() const { return num_executed_ops_; }

  void run(uint64_t number) {
    group_.group_id = position_of_number(number, launch_.grid);
    std::ranges::fill(group_.is_byte_stored, uint8_t(0));
    if (group_.race_detector) group_.race_detector->forget_accesses();
    if (kernel_code_.has_barrier) return run_waves_of_group();
    for (uint32_t n = 0; n < num_waves_; n++) {
      Wave w = begin_wave(n, 0);
      run_wave(w);
      num_executed_ops_ += w.num_executed_ops;
    }
  }

 private:
  Wave begin_wave(uint32_t number, size_t index) {
    Wave w;
    WaveStorage& storage = storage_[index];
    w.scalar_registers = storage.scalar.get(), w.vector_registers = storage.vector.get(),
    w.private_memory = storage.private_memory.get();
    w.num_halves = kernel_code_.num_halves, w.group = &group_, w.code = &kernel_code_;
    w.first_thread = number * num_lanes_;
    w.num_jumps_left = launch_.max_jumps;
    w.float_mode = kernel_code_.descriptor.float_mode();
    if (launch_.checks_races) w.pending_waits = &(wait_checkers_[index] = WaitChecker());
    uint32_t threads = std::min(num_lanes_, launch_.num_block_threads() - w.first_thread);
    uint64_t exists = threads == 64 ? ~uint64_t(0) : (uint64_t(1) << threads) - 1;
    std::fill_n(w.scalar_registers, kFirstConstant, 0);
    w.scalar_registers[kExec] = uint32_t(exists), w.scalar_registers[kExec + 1] = uint32_t(exists >> 32);
    set_scalar_registers(w);
    set_thread_ids(w);
    if (launch_.trace_log) launch_.trace_log->add_event(encode_trace_event(TraceEvent::Started, number, 0));
    return w;
  }

  // Sets the scalar registers that the descriptor enables, in the descriptor's order, and the group's position.
  void set_scalar_registers(Wave& w) {
    const KernelDescriptor& d = kernel_code_.descriptor;
    uint32_t next = 0;
    auto put = [&](uint32_t value) {
      if (next < kVcc) w.scalar_registers[next++] = value;
    };
    auto put_address = [&](uint64_t value) { put(uint32_t(value)), put(uint32_t(value >> 32)); };
    if (d.properties & 1) put_address(0), put_address(0);  // private segment buffer, unused
    if (d.properties & 2) put_address(0);                  // dispatch packet, unused
    if (d.properties & 4) put_address(0);                  // queue, unused
    if (d.properties & 8) put_address(reinterpret_cast<uint64_t>(launch_.arguments.data()));
    if (d.properties & 16) put_address(0);                 // dispatch id, unused
    if (d.properties & 32) put_address(0);                 // flat scratch, unused
    if (d.properties & 64) put(d.private_bytes);
    next = std::max(next, d.num_user_registers());
    if (kernel_code_.family == GpuFamily::Gfx12) {
      w.scalar_registers[kTtmp + 9] = group_.group_id[0];
      w.scalar_registers[kTtmp + 7] = group_.group_id[1] | group_.group_id[2] << 16;
      return;
    }
    for (int n = 0; n < 3; n++)
      if (d.has_group_id(n)) put(group_.group_id[size_t(n)]);
  }

  void set_thread_ids(Wave& w) {
    int last = kernel_code_.descriptor.num_extra_thread_ids();
    const auto& [x, y, z] = launch_.block;
    for (uint32_t lane = 0; lane < num_lanes_; lane++) {
      uint32_t thread = w.first_thread + lane;
      w.lane(0, lane) =
          thread % x | (last >= 1 ? thread / x % y << 10 : 0) | (last >= 2 ? thread / x / y % z << 20 : 0);
    }
  }

  void run_waves_of_group() {
    std::vector<Wave> waves;
    for (uint32_t n = 0; n < num_waves_; n++) waves.push_back(begin_wave(n, n));
    run_warps_in_turn(
        waves, run_wave,
        [&](const Wave& done, const Wave& waiting) {
          throw_fault(done, kernel_code_.ops[waiting.pc - 1], 0, kLaunchFailed,
                      "returned and does not reach a barrier that others wait at");
        },
        [&] {
          if (group_.race_detector) group_.race_detector->forget_accesses();
        });
    for (Wave& w : waves) num_executed_ops_ += w.num_executed_ops;
  }

  const KernelLaunch& launch_;
  const TranslatedKernel& kernel_code_;
  uint32_t num_lanes_ = 32, num_waves_ = 1;
  WorkGroup group_;
  std::vector<WaveStorage> storage_;  // one per wave of a group or, if the kernel has no barrier, one for all waves
  std::vector<WaitChecker> wait_checkers_;    // pending operations of each element of storage_; empty without --race
  uint64_t num_executed_ops_ = 0;
};

template <bool kWatches>
void run_until_stop(Wave& w) {
  const Op* ops = w.code->ops.data();
  uint64_t executed = 0;
  while (w.state == Wave::Running) {
    const Op& o = ops[w.pc++];
    if (kWatches) w.num_started_ops++, w.pending_waits->check_operands(w, o);
    o.run(w, o);
    executed += o.is_vector ? uint32_t(std::popcount(w.exec())) : 1;
  }
  w.num_executed_ops += executed;
}

// Logs each instruction that has operations. Others, such as s_nop, are not logged: the code shows where they are.
void run_logged(Wave& w, TraceLog& log) {
  const Op* ops = w.code->ops.data();
  const uint32_t wave = w.first_thread / (w.num_halves * kNumLanes);
  auto address = [&](uint32_t n) { return w.code->instructions[ops[n].instruction].address; };
  std::optional<uint32_t> logged_lanes;
  while (w.state == Wave::Running) {
    const uint32_t n = w.pc++, lanes = uint32_t(std::popcount(w.exec()));
    ops[n].run(w, ops[n]);
    w.num_executed_ops += ops[n].is_vector ? uint32_t(std::popcount(w.exec())) : 1;
    if (n > 0 && address(n - 1) == address(n)) continue;  // not the first operation of its instruction
    if (lanes != logged_lanes) log.add_event(encode_lanes_event(wave, *(logged_lanes = lanes)));
    TraceEvent type = w.state == Wave::Done ? TraceEvent::Ended
                      : w.pc != n + 1       ? TraceEvent::Jumped
                                            : TraceEvent::Executed;
    log.add_event(encode_trace_event(type, wave, address(n)));
  }
}

}  // namespace

void run_wave(Wave& w) {
  w.state = Wave::Running;
  if (w.group->launch->trace_log) run_logged(w, *w.group->launch->trace_log);
  else if (w.pending_waits) run_until_stop<true>(w);
  else run_until_stop<false>(w);
}

std::string thread_text(const WorkGroup& group, uint32_t thread) {
  return emulate::thread_text(thread, group.launch->block, group.group_id);
}

void throw_fault(const Wave& w, const Op& o, uint32_t lane, int code, const std::string& what) {
  throw KernelFault{
      code, w.code->instruction_text(o.instruction) + ": " + thread_text(*w.group, w.first_thread + lane) + " " + what};
}

std::optional<KernelFault> run_launch(const KernelLaunch& asked, uint64_t& executed) {
  KernelLaunch launch = asked;
  uint64_t begin = reinterpret_cast<uint64_t>(launch.arguments.data());
  launch.memory_ranges.push_back({begin, begin + launch.arguments.size()});
  std::ranges::sort(launch.memory_ranges, {}, &MemoryRange::begin);
  return run_blocks<WorkGroupRunner>(launch, executed);
}

}  // namespace tgc::hip
