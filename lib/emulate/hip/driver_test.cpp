#include <dlfcn.h>

#include <random>

#include "lib/emulate/hip/testing.h"

namespace tgc::hip {
namespace {

template <class R = int, class... A>
R call(const char* name, A... a) {
  static void* library = dlopen(TGC_HIP_EMULATOR, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library);
  auto* f = reinterpret_cast<R (*)(A...)>(dlsym(library, name));
  bool is_there = f != nullptr;
  REQUIRE_MESSAGE(is_there, name);
  return f(a...);
}
std::string error_text(int code) { return call<const char*>("hipGetErrorString", code); }

// LLVM IR that computes out[thread] = thread * 3.
const std::string kTriple =
    "%i = call i32 @llvm.amdgcn.workitem.id.x()\n%x = mul i32 %i, 3\n"
    "%p = getelementptr inbounds i32, ptr addrspace(1) %out, i32 %i\nstore i32 %x, ptr addrspace(1) %p";

struct Ran {
  std::string error;
  std::vector<uint32_t> out;
};
Ran run_object(const std::string& object, uint32_t elements, uint32_t threads, bool races = false,
               uint64_t most_jumps = UINT64_MAX, uint32_t groups = 1) {
  GpuMemory memory(1 << 26);
  auto module = LoadedModule::load_code(object, memory, races);
  if (!module) return {module.diag().text(), {}};
  const TranslatedKernel* code = (*module)->kernel("k");
  if (!code) return {"no kernel k", {}};
  uint64_t array = memory.allocate(elements * 4);
  std::memset(reinterpret_cast<void*>(array), 0, elements * 4);
  KernelLaunch launch{.code = code,
                      .grid = {groups, 1, 1},
                      .block = {threads, 1, 1},
                      .memory_ranges = memory.ranges(),
                      .checks_races = races,
                      .max_jumps = most_jumps};
  launch.arguments.resize(std::max<size_t>(code->descriptor.kernarg_bytes, 8) + 64);
  std::memcpy(launch.arguments.data(), &array, 8);
  uint64_t executed = 0;
  auto fault = run_launch(launch, executed);
  Ran ran{fault ? fault->text : "", std::vector<uint32_t>(elements)};
  std::memcpy(ran.out.data(), reinterpret_cast<void*>(array), elements * 4);
  memory.free(array);
  return ran;
}

std::pair<size_t, size_t> code_of(const std::string& object) {
  CodeObject read = CodeObject::read(object).value_or_throw();
  const KernelEntry& k = read.kernels().at(0);
  size_t begin = object.find(read.image().substr(k.begin, k.end - k.begin));
  REQUIRE(begin != object.npos);
  return {begin, begin + (k.end - k.begin)};
}

}  // namespace

TEST_CASE("HIP emulator: a program runs from hipInit to hipFree, and wrong calls give error codes") {
  REQUIRE(call("hipInit", 0u) == 0);
  int count = 0;
  CHECK(call("hipGetDeviceCount", &count) == 0);
  CHECK(count == 1);
  CHECK(call("hipSetDevice", 1) == 101);
  char properties[1472];
  CHECK(call("hipGetDevicePropertiesR0600", &properties[0], 0) == 0);
  CHECK(std::string(properties + 1160) == "gfx1100");

  void *memory = nullptr, *module = nullptr, *kernel = nullptr;
  CHECK(call("hipMalloc", &memory, size_t(1) << 50) == 2);
  REQUIRE(call("hipMalloc", &memory, size_t(128)) == 0);
  CHECK(call("hipMemcpy", memory, static_cast<const void*>(properties), size_t(129), 1) == 1);
  CHECK(error_text(1).find("are not all allocated") != std::string::npos);

  std::string object = code_object("ptr addrspace(1) %out", kTriple);
  std::string none(200, 'x');
  CHECK(call("hipModuleLoadData", &module, static_cast<const void*>(none.data())) == 200);
  REQUIRE(call("hipModuleLoadData", &module, static_cast<const void*>(object.data())) == 0);
  CHECK(call("hipModuleGetFunction", &kernel, module, "other") == 500);
  REQUIRE(call("hipModuleGetFunction", &kernel, module, "k") == 0);
  size_t bytes = 8;
  void* extra[] = {reinterpret_cast<void*>(1), &memory, reinterpret_cast<void*>(2), &bytes, reinterpret_cast<void*>(3)};
  auto launch = [&](unsigned threads) {
    return call("hipModuleLaunchKernel", kernel, 1u, 1u, 1u, threads, 1u, 1u, 0u, static_cast<void*>(nullptr),
                static_cast<void**>(nullptr), &extra[0]);
  };
  CHECK(launch(1025) == 1);
  CHECK(launch(0) == 1);
  CHECK(launch(32) == 0);
  uint32_t out[32] = {};
  CHECK(call("hipMemcpy", static_cast<void*>(out), static_cast<const void*>(memory), size_t(128), 2) == 0);
  for (uint32_t i = 0; i < 32; i++) CHECK(out[i] == 3 * i);
  CHECK(launch(33) == 700);
  CHECK(error_text(700).find("thread (32,0,0) of block (0,0,0) stores 4 bytes at 0x") != std::string::npos);
  CHECK(error_text(700).find("'), line 8 of the source: thread") != std::string::npos);
  CHECK(error_text(700).find(", right behind the 128 bytes of argument 0") != std::string::npos);
  bytes = 4;
  CHECK(launch(32) == 1);
  CHECK(call("hipModuleUnload", module) == 0);
  CHECK(launch(32) == 400);
  CHECK(call("hipFree", memory) == 0);
  CHECK(call("hipFree", memory) == 1);
}

TEST_CASE("HIP emulator: code objects of every supported processor run; those of another are refused by name") {
  for (const char* arch : {"gfx1100", "gfx1103", "gfx1150", "gfx1201", "gfx942"}) {
    Ran ran = run_object(code_object("ptr addrspace(1) %out", kTriple, arch), 100, 100);
    INFO(arch);
    CHECK(ran.error == "");
    for (uint32_t i = 0; i < 100; i++) CHECK(ran.out[i] == 3 * i);
  }
  std::string object = code_object("ptr addrspace(1) %out", kTriple);
  object[48] = 0x4f;  // makes the processor gfx950, on which LLVM 19's disassembler aborts
  CHECK(run_object(object, 1, 1).error ==
        "code objects for gfx950 are not supported, expected gfx942, gfx1100 to gfx1103, gfx1150, gfx1151, gfx1200 or "
        "gfx1201");
}

TEST_CASE("HIP emulator: loads of unstored shared memory, races and barriers that some waves miss are faults") {
  // thread i of 64 threads (two waves) stores i to shared memory and reads the element of thread 63 - i
  const std::string
      head =
          "%i = call i32 @llvm.amdgcn.workitem.id.x()\n"
          "%p = getelementptr [64 x i32], ptr addrspace(3) @s, i32 0, i32 %i\nstore i32 %i, ptr addrspace(3) %p\n",
      barrier =
          "fence syncscope(\"workgroup\") release\ncall void @llvm.amdgcn.s.barrier()\n"
          "fence syncscope(\"workgroup\") acquire\n",
      tail =
          "%j = xor i32 %i, 63\n%q = getelementptr [64 x i32], ptr addrspace(3) @s, i32 0, i32 %j\n"
          "%x = load i32, ptr addrspace(3) %q\n"
          "%o = getelementptr i32, ptr addrspace(1) %out, i32 %i\nstore i32 %x, ptr addrspace(1) %o";
  auto made = [&](const std::string& body) {
    CompileJob job = make_compile_job("AMD", "LLVM", "gfx1100").value_or_throw();
    job.source =
        "@s = internal addrspace(3) global [64 x i32] undef\ndeclare i32 @llvm.amdgcn.workitem.id.x()\n"
        "declare void @llvm.amdgcn.s.barrier()\n"
        "define amdgpu_kernel void @k(ptr addrspace(1) %out) #0 {\n" +
        body +
        "\nret void\n}\n"
        "attributes #0 = { \"amdgpu-flat-work-group-size\"=\"1,256\" }";
    job.name = "k";
    return compile_without_cache(job, Artifact::Binary).value_or_throw();
  };
  Ran ran = run_object(made(head + barrier + tail), 64, 64, true);
  CHECK(ran.error == "");
  for (uint32_t i = 0; i < 64; i++) CHECK(ran.out[i] == (i ^ 63));
  Ran racing = run_object(made(head + tail), 64, 64, true);
  CHECK(racing.error.find("nothing was stored before") != std::string::npos);  // wave 0 reads what wave 1 stores later
  Ran unstored = run_object(made(head + barrier + tail), 32, 32);
  CHECK(
      unstored.error.find("thread (0,0,0) of block (0,0,0) reads 4 bytes at 252 of shared memory, where nothing was") !=
      std::string::npos);
  Ran parted = run_object(made("%i = call i32 @llvm.amdgcn.workitem.id.x()\n%c = icmp ult i32 %i, 32\n"
                               "br i1 %c, label %a, label %b\na:\ncall void @llvm.amdgcn.s.barrier()\nbr label %b\nb:"),
                          1, 64);
  CHECK(parted.error.find("returned and does not reach a barrier that others wait at") != std::string::npos);
}

TEST_CASE("HIP emulator: a removed wait instruction is reported at the line that uses the value") {
  std::string object =
      code_object("ptr addrspace(1) %out",
                  "%i = call i32 @llvm.amdgcn.workitem.id.x()\n"
                  "%p = getelementptr inbounds i32, ptr addrspace(1) %out, i32 %i\n%x = load i32, ptr addrspace(1) %p\n"
                  "%y = add i32 %x, 5\nstore i32 %y, ptr addrspace(1) %p");
  CHECK(run_object(object, 32, 32, true).error == "");
  uint32_t found = 0;
  auto [begin, end] = code_of(object);
  for (size_t at = begin; at < end; at += 4) {
    uint32_t word;
    std::memcpy(&word, object.data() + at, 4);
    if (word >> 16 != 0xbf89) continue;  // skip words that are not an s_waitcnt
    std::string without = object;
    const uint32_t nop = 0xbf800000;
    std::memcpy(without.data() + at, &nop, 4);
    Ran ran = run_object(without, 32, 32, true);
    INFO(at, " ", ran.error);
    CHECK(ran.error.find(" before it waits for what fills it: kernel 'k', instruction at 0x") != std::string::npos);
    CHECK(ran.error.find("of the source") != std::string::npos);
    found++;
  }
  CHECK(found == 2);  // the code has one s_waitcnt for the kernel argument and one for the load
}

TEST_CASE("HIP emulator: mutated code objects are loaded and run, or refused") {
  std::string object = code_object("ptr addrspace(1) %out", kTriple);
  std::mt19937 random(7);
  auto below = [&](size_t n) { return size_t(random()) % n; };
  size_t ran_well = 0, refused = 0;
  auto [begin, end] = code_of(object);
  for (int n = 0; n < 1000; n++) {
    std::string o = object;
    if (n % 8 == 0) o.resize(below(o.size()));
    for (size_t k = below(4) + 1; k > 0 && !o.empty(); k--) {
      size_t at = n % 2 ? below(o.size()) : begin + below(end - begin);
      if (at < o.size()) o[at] = char(n % 4 < 2 ? random() : o[at] ^ (1 << below(8)));
    }
    Ran ran = run_object(o, 32, 32, n % 3 == 0, 1000);
    (ran.error.empty() ? ran_well : refused)++;
  }
  CHECK(ran_well > 50);
  CHECK(refused > 200);
}

}  // namespace tgc::hip
