#include "lib/emulate/cuda/driver.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "lib/emulate/cuda/builder.h"

namespace tgc::ptx {

namespace {

constexpr uint64_t kStaticShared = 48 << 10, kMostShared = 227 << 10;
constexpr LaunchLimits kLimits{.grid = {INT32_MAX, 65535, 65535}, .block = {1024, 1024, 64}, .threads = 1024};

constexpr ErrorText kErrors[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {kInvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kIllegalInstruction, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {kMisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};

}  // namespace

EmulatedGpu& EmulatedGpu::get_gpu() {
  // never destroyed: Python unloads CUDA modules after static destructors have run
  static EmulatedGpu* gpu = new EmulatedGpu;
  return *gpu;
}

EmulatedGpu::EmulatedGpu() : EmulatedDriver("TGC_CUDA_EMULATOR", kErrors) {
  if (const char* arch = setting_value("_ARCH"))
    if (int n = parse_architecture(arch); n >= 50) architecture_ = n;
}

std::string EmulatedGpu::name() const { return "tgc's CUDA emulator, sm_" + std::to_string(architecture_); }

int EmulatedGpu::load_code(std::string_view text, LoadedModule*& module, std::string& log) {
  auto refused = [&](int code, const Diag& diag) {
    log = "PTX emulator, " + (diag.line ? "line " + std::to_string(diag.line) + "; " : std::string()) +
          "error   : " + diag.message + (diag.expected.empty() ? "" : ", expected " + diag.expected);
    return set_error(code, log);
  };
  if (text.starts_with("\x7f"
                       "ELF"))
    return refused(kInvalidImage, Diag{.message = "a cubin", .expected = "PTX"});
  auto loaded = LoadedModule::load_code(text, memory());
  if (!loaded) return refused(kInvalidPtx, loaded.diag());
  std::string_view target = (*loaded)->module().target;
  int needs = parse_architecture(target);
  if (needs == 0)
    return refused(kInvalidPtx, Diag{.message = "no target '" + std::string(target) + "'", .expected = "sm_NN"});
  if (needs > architecture_)
    return refused(kNoBinaryForGpu,
                   Diag{.message = "PTX for " + std::string(target) + " on sm_" + std::to_string(architecture_)});
  module = modules_.add_module(std::move(*loaded));
  return kSuccess;
}

int EmulatedGpu::pack_parameters(const Kernel& kernel, void** parameters, void** extra, std::vector<std::byte>& to) {
  const Function& f = *kernel.code->function;
  to.assign(f.parameter_bytes, std::byte(0));
  if (parameters) {
    for (size_t n = 0; n < f.parameters.size(); n++) {
      if (!parameters[n]) return set_error(kInvalidValue, "parameter " + std::to_string(n) + " is null");
      std::memcpy(to.data() + f.parameters[n].offset, parameters[n], f.parameters[n].bytes);
    }
    return kSuccess;
  }
  ArgumentBlock given;
  if (int code = read_extra_options(extra, nullptr, given)) return code;
  if (given.bytes < f.parameter_bytes && !(given.bytes == 0 && f.parameters.empty()))
    return set_error(kInvalidValue, std::to_string(given.bytes) + " bytes of parameters, the kernel has " +
                                   std::to_string(f.parameter_bytes));
  if (given.data) std::memcpy(to.data(), given.data, f.parameter_bytes);
  return kSuccess;
}

int EmulatedGpu::launch(const LaunchNode& node) {
  const TranslatedKernel& code = *node.kernel->code;
  const Function& f = *code.function;
  if (int wrong = check_launch_size(node.grid, node.block, kLimits)) return wrong;
  uint64_t threads = num_positions(node.block);
  if (f.max_threads && threads > f.max_threads)
    return set_error(kInvalidValue, "a block of " + std::to_string(threads) + " threads, .maxntid allows " +
                                   std::to_string(f.max_threads));
  const auto& [x, y, z] = node.block;
  if (f.required_threads[0] && f.required_threads != std::array<uint64_t, 3>{x, y, z})
    return set_error(kInvalidValue, "the block's size is not that of .reqntid");
  if (code.shared_bytes > kStaticShared) return set_error(kInvalidValue, "more than 48 KiB of static shared memory");
  if (node.dynamic_shared_bytes > node.kernel->max_dynamic_shared_bytes ||
      code.shared_bytes + node.dynamic_shared_bytes > kMostShared)
    return set_error(kInvalidValue, std::to_string(node.dynamic_shared_bytes) + " bytes of dynamic shared memory");
  KernelLaunch launch{.code = &code,
                .grid = node.grid,
                .block = node.block,
                .dynamic_shared_bytes = node.dynamic_shared_bytes,
                .parameters = node.parameters,
                .memory_ranges = memory().ranges(),
                .checks_races = checks_races(),
                .num_host_threads = num_host_threads()};
  return run_kernel(std::string(f.name), threads, [&](uint64_t& executed) { return run_launch(launch, executed); });
}

Result<std::unique_ptr<LoadedModule>> LoadedModule::load_code(std::string_view text, GpuMemory& memory) {
  auto parsed = parse_ptx(text);
  if (!parsed) return parsed.diag();
  std::unique_ptr<LoadedModule> out(new LoadedModule(std::move(*parsed), memory));
  auto done = catch_failures([&] { return out->place_variables(), out->translate_functions(), Unit{}; });
  if (!done) return done.diag();
  return out;
}

LoadedModule::~LoadedModule() {
  for (auto& [name, place] : variables_) memory_.free(place.address);
}

void LoadedModule::place_variables() {
  for (const Variable& v : module_.globals) {
    if (v.space != Space::Global && v.space != Space::Const) continue;
    if (v.is_extern)
      throw Failure(
          Diag{.message = "'" + std::string(v.name) + "' is .extern: there is no other module", .line = v.line});
    if (variables_.contains(v.name))
      throw Failure(Diag{.message = "'" + std::string(v.name) + "' is declared twice", .line = v.line});
    uint64_t address = memory_.allocate(std::max<uint64_t>(v.bytes, 1));
    if (!address)
      throw Failure(Diag{.message = "not enough device memory for '" + std::string(v.name) + "'", .line = v.line});
    std::memset(reinterpret_cast<void*>(address), 0, v.bytes);
    std::memcpy(reinterpret_cast<void*>(address), v.initial_bytes.data(), v.initial_bytes.size());
    variables_[v.name] = {address, v.bytes};
  }
}

void LoadedModule::translate_functions() {
  std::map<std::string_view, uint64_t> addresses;
  for (auto& [name, place] : variables_) addresses[name] = place.address;
  for (const Function& f : module_.functions) {
    TranslatedKernel& code = kernels_[f.name];
    if (code.function)
      throw Failure(Diag{.message = "the kernel '" + std::string(f.name) + "' is defined twice", .line = f.line});
    code.function = &f;
    code.module = &module_;
    CodeBuilder(code, addresses).build_code();
  }
}

const TranslatedKernel* LoadedModule::kernel(std::string_view name) const {
  auto found = kernels_.find(name);
  return found == kernels_.end() ? nullptr : &found->second;
}
const LoadedModule::VariableSpan* LoadedModule::variable(std::string_view name) const {
  auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : &found->second;
}

int parse_architecture(std::string_view target) {
  int n = 0;
  if (!target.starts_with("sm_")) return 0;
  std::from_chars(target.data() + 3, target.data() + target.size(), n);
  return n;
}

namespace {

class BlockRunner {
 public:
  explicit BlockRunner(const KernelLaunch& launch) : launch_(launch), kernel_code_(*launch.code) {
    uint32_t threads = launch.num_block_threads();
    bool can_pack = kernel_code_.is_lane_independent && !kernel_code_.has_barrier &&
                    kernel_code_.shared_bytes + launch.dynamic_shared_bytes == 0;
    blocks_per_warp_ = can_pack && !launch.checks_races && threads < kNumLanes ? kNumLanes / threads : 1;
    num_warps_ = (threads + kNumLanes - 1) / kNumLanes;
    num_register_files_ = kernel_code_.has_barrier ? num_warps_ : 1;
    block_.launch = &launch;
    block_.shares_warp = blocks_per_warp_ > 1;
    block_.shared_memory.resize(kernel_code_.shared_bytes + launch.dynamic_shared_bytes);
    block_.is_byte_stored.resize(block_.shared_memory.size());
    block_.local_memory.resize(kernel_code_.local_bytes * std::max<uint64_t>(threads, kNumLanes));
    if (launch.checks_races) block_.race_detector = std::make_unique<RaceDetector>(kNumLanes);
    for (uint32_t n = 0; n < num_register_files_; n++) make_register_file();
  }

  uint64_t num_groups() const { return (num_positions(launch_.grid) + blocks_per_warp_ - 1) / blocks_per_warp_; }
  uint64_t num_executed_ops() const { return num_executed_ops_; }

  void run(uint64_t group) {
    uint64_t blocks = num_positions(launch_.grid);
    uint32_t threads = launch_.num_block_threads();
    if (block_.race_detector) block_.race_detector->forget_accesses();
    if (block_.shares_warp) {
      uint64_t first = group * blocks_per_warp_, count = std::min<uint64_t>(blocks_per_warp_, blocks - first);
      return run_single_warp(first * threads, uint32_t(count * threads));
    }
    block_.block_id = position_of_number(group, launch_.grid);
    std::ranges::fill(block_.is_byte_stored, uint8_t(0));
    if (kernel_code_.has_barrier) return run_warps_of_block(threads);
    for (uint32_t t = 0; t < threads; t += kNumLanes) run_single_warp(t, std::min<uint32_t>(kNumLanes, threads - t));
  }

 private:
  void make_register_file() {
    std::byte* file =
        register_files_.emplace_back(allocate_zeroed_bytes<std::byte>(kernel_code_.register_file_bytes)).get();
    for (const RegisterPreset& p : kernel_code_.presets) {
      std::array<uint64_t, 2> value = p.immediate;
      if (p.kind == RegisterPreset::Special) continue;
      if (p.kind == RegisterPreset::Parameter)
        std::memcpy(value.data(), launch_.parameters.data() + p.offset, p.lane_bytes);
      if (p.lane_bytes == 0) {
        std::memcpy(file + p.register_offset, value.data(), sizeof(uint32_t));
        continue;
      }
      size_t width = std::max<size_t>(p.lane_bytes, 2);
      for (size_t i = 0; i < kNumLanes; i++) std::memcpy(file + p.register_offset + i * width, value.data(), width);
    }
  }

  Warp begin_warp(uint32_t file, uint32_t first_thread, uint32_t lanes) {
    Warp w;
    w.register_file = register_files_[file].get();
    w.occupied_lanes = lanes == kNumLanes ? UINT32_MAX : (1u << lanes) - 1;
    w.alive_lanes = w.lanes_at_pc = w.occupied_lanes;
    w.waiting_lanes[0] = {0, kNoIndex, 0};
    w.num_jumps_left = launch_.max_jumps;
    w.block = &block_;
    w.operands = kernel_code_.operands.data();
    w.first_thread = first_thread;
    for (const RegisterPreset& p : kernel_code_.presets)
      if (p.kind == RegisterPreset::Special) set_special_register(w, p);
    return w;
  }

  void set_special_register(Warp& w, const RegisterPreset& p) {
    uint32_t* d = register_lanes<uint32_t>(w, p.register_offset);
    const auto& [bx, by, bz] = launch_.block;
    const auto& [gx, gy, gz] = launch_.grid;
    uint32_t threads = launch_.num_block_threads();
    for (uint32_t i = 0; i < kNumLanes; i++) {
      uint64_t global = uint64_t(w.first_thread) + i;
      uint32_t thread = block_.shares_warp ? uint32_t(global % threads) : uint32_t(global);
      Dim3 block_id = block_.shares_warp ? position_of_number(global / threads, launch_.grid) : block_.block_id;
      switch (p.special) {
        case SpecialRegister::TidX: d[i] = thread % bx; break;
        case SpecialRegister::TidY: d[i] = thread / bx % by; break;
        case SpecialRegister::TidZ: d[i] = thread / bx / by; break;
        case SpecialRegister::NtidX: d[i] = bx; break;
        case SpecialRegister::NtidY: d[i] = by; break;
        case SpecialRegister::NtidZ: d[i] = bz; break;
        case SpecialRegister::CtaidX: d[i] = block_id[0]; break;
        case SpecialRegister::CtaidY: d[i] = block_id[1]; break;
        case SpecialRegister::CtaidZ: d[i] = block_id[2]; break;
        case SpecialRegister::NctaidX: d[i] = gx; break;
        case SpecialRegister::NctaidY: d[i] = gy; break;
        case SpecialRegister::NctaidZ: d[i] = gz; break;
        case SpecialRegister::Laneid: d[i] = i; break;
        case SpecialRegister::Warpid: d[i] = w.first_thread / kNumLanes; break;
        case SpecialRegister::Nwarpid: d[i] = num_warps_; break;
        case SpecialRegister::Smid:
        case SpecialRegister::Gridid: d[i] = 0; break;
        case SpecialRegister::Nsmid: d[i] = 1; break;
        case SpecialRegister::LanemaskEq: d[i] = 1u << i; break;
        case SpecialRegister::LanemaskLt: d[i] = (1u << i) - 1; break;
        case SpecialRegister::LanemaskLe: d[i] = (2u << i) - 1; break;
        case SpecialRegister::LanemaskGt: d[i] = ~((2u << i) - 1); break;
        case SpecialRegister::LanemaskGe: d[i] = ~((1u << i) - 1); break;
        case SpecialRegister::DynamicSharedSize: d[i] = uint32_t(launch_.dynamic_shared_bytes); break;
        case SpecialRegister::TotalSharedSize: d[i] = uint32_t(block_.shared_memory.size()); break;
      }
    }
  }

  void run_single_warp(uint64_t first_thread, uint32_t lanes) {
    Warp w = begin_warp(0, uint32_t(first_thread), lanes);
    run_warp(w, kernel_code_);
    num_executed_ops_ += w.num_executed_ops;
  }

  void run_warps_of_block(uint32_t threads) {
    std::vector<Warp> warps;
    for (uint32_t n = 0; n < num_warps_; n++)
      warps.push_back(begin_warp(n, n * kNumLanes, std::min<uint32_t>(kNumLanes, threads - n * kNumLanes)));
    run_warps_in_turn(
        warps, [&](Warp& w) { run_warp(w, kernel_code_); },
        [&](const Warp& done, const Warp& waits) {
          throw_fault(done, kernel_code_.ops[waits.pc - 1], 0, kLaunchFailed,
                      "returned and does not reach a barrier that others wait at");
        },
        [&] {
          if (block_.race_detector) block_.race_detector->forget_accesses();
        });
    for (Warp& w : warps) num_executed_ops_ += w.num_executed_ops;
  }

  const KernelLaunch& launch_;
  const TranslatedKernel& kernel_code_;
  uint32_t blocks_per_warp_ = 1, num_warps_ = 1, num_register_files_ = 1;
  ThreadBlock block_;
  std::vector<std::unique_ptr<std::byte, AlignedDeleter>> register_files_;
  uint64_t num_executed_ops_ = 0;
};

}  // namespace

std::string thread_text(const ThreadBlock& block, uint32_t thread) {
  const KernelLaunch& l = *block.launch;
  Dim3 block_id = block.shares_warp ? position_of_number(thread / l.num_block_threads(), l.grid) : block.block_id;
  return emulate::thread_text(block.shares_warp ? thread % l.num_block_threads() : thread, l.block, block_id);
}

void throw_fault(const Warp& w, const Op& o, int lane, int code, const std::string& what) {
  const ThreadBlock& b = *w.block;
  throw KernelFault{code, b.launch->code->instruction_text(o.instruction) + ": " +
                              thread_text(b, w.first_thread + uint32_t(lane)) + " " + what};
}

std::string TranslatedKernel::instruction_text(uint32_t instruction) const {
  const Instruction& i = function->body[instruction];
  const char *begin = i.opcode.data(), *end = module->text.data() + module->text.size();
  const char* stop = std::find_if(begin, end, [](char c) { return c == ';' || c == '\n'; });
  std::string text(begin, stop);
  std::ranges::replace(text, '\t', ' ');
  if (text.size() > 120) text = text.substr(0, 117) + "...";
  std::string out = "kernel '" + std::string(function->name) + "', line " + std::to_string(i.line) + " of the PTX";
  if (i.source_line) out += ", line " + std::to_string(i.source_line) + " of the source";
  return out + " ('" + text + "')";
}

std::optional<KernelFault> run_launch(const KernelLaunch& launch, uint64_t& executed) {
  return run_blocks<BlockRunner>(launch, executed);
}

}  // namespace tgc::ptx
