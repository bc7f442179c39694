// A sample backend: compiles tinygrad's C kernels to shared libraries with clang.
//   tgc run KERNEL --device=plugin:build/release/lib/libsample_device.so
//   tgc run KERNEL --device=plugin:build/release/lib/libsample_device.so:clang   names the compiler
// To build such a plugin: c++ -std=c++20 -shared -fPIC -I TGC sample_device.cpp -o libsample_device.so
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "lib/runtime/device.h"

namespace {

using namespace tgc;

class SampleKernel : public Kernel {
 public:
  SampleKernel(Device& device, void* library, void* function)
      : Kernel(device), library_(library), function_(function) {}
  ~SampleKernel() override { dlclose(library_); }

  // tinygrad's C kernels take the buffers, the variables and a core number
  Status launch(const LaunchArguments& a) override {
    constexpr size_t kMost = 16;
    uint64_t v[kMost] = {};
    size_t n = 0, count = a.buffers.size() + a.variables.size() + 1;
    if (count > kMost)
      return Diag{"this sample passes at most " + std::to_string(kMost - 1) + " arguments, not " +
                  std::to_string(count - 1)};
    for (const DeviceBuffer& b : a.buffers) v[n++] = b.handle + b.offset;
    for (int64_t x : a.variables) v[n++] = uint64_t(x);
    using U = uint64_t;
    auto call = reinterpret_cast<void (*)(U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U)>(function_);
    for (uint32_t core = 0; core < a.launch_size.global_size[0]; core++) {
      v[n] = core;
      call(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11], v[12], v[13], v[14], v[15]);
    }
    return Unit{};
  }

 private:
  void *library_, *function_;
};

class SampleDevice : public Device {
 public:
  explicit SampleDevice(std::string compiler) : compiler_(compiler.empty() ? "clang-19" : std::move(compiler)) {}

  // Returns the bytes of the shared library.
  Result<std::string> compile(const KernelSource& source) override {
    std::string file = temporary_file();
    std::string command = compiler_ + " -x c -w -O2 -march=native -fno-math-errno -shared -fPIC -o " + file + " -";
    FILE* pipe = popen(command.c_str(), "w");
    if (!pipe) return Diag{"cannot start " + compiler_};
    std::fwrite(source.text.data(), 1, source.text.size(), pipe);
    if (pclose(pipe) != 0) return Diag{compiler_ + " does not compile '" + source.name + "'"};
    std::string bytes;
    if (FILE* made = std::fopen(file.c_str(), "rb")) {
      char part[4096];
      while (size_t got = std::fread(part, 1, sizeof part, made)) bytes.append(part, got);
      std::fclose(made);
    }
    unlink(file.c_str());
    return bytes;
  }

  Status open() override {
    if (std::system(("command -v " + compiler_ + " >/dev/null").c_str()) != 0)
      return Diag{"there is no compiler '" + compiler_ + "' here"};
    return Unit{};
  }
  std::string target() const override { return "CPU:CLANG"; }  // this renderer prints C
  std::string description() const override { return "shared libraries by " + compiler_; }

  Result<DeviceBuffer> allocate(uint64_t bytes) override {
    void* p = ::operator new(bytes, std::align_val_t(64), std::nothrow);
    if (!p) return Diag{"not enough memory for " + std::to_string(bytes) + " bytes"};
    return DeviceBuffer{reinterpret_cast<uint64_t>(p), 0, bytes};
  }
  void free(const DeviceBuffer& b) override { ::operator delete(address(b), std::align_val_t(64)); }
  Status copy_in(const DeviceBuffer& to, const void* from) override {
    return std::memcpy(address(to), from, to.bytes), Unit{};
  }
  Status copy_out(void* to, const DeviceBuffer& from) override {
    return std::memcpy(to, address(from), from.bytes), Unit{};
  }
  Status synchronize() override { return Unit{}; }  // launch() is synchronous

  Result<std::unique_ptr<Kernel>> load(const KernelSource& source, const std::string& code) override {
    std::string file = temporary_file();
    if (FILE* out = std::fopen(file.c_str(), "wb")) {
      std::fwrite(code.data(), 1, code.size(), out);
      std::fclose(out);
    }
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    unlink(file.c_str());
    if (!library) return Diag{std::string("the compiled kernel does not load: ") + dlerror()};
    void* function = dlsym(library, source.function_name.c_str());
    if (function) return std::unique_ptr<Kernel>(std::make_unique<SampleKernel>(*this, library, function));
    dlclose(library);
    return Diag{"the compiled kernel has no function '" + source.function_name + "'"};
  }

 private:
  static std::string temporary_file() {
    const char* folder = std::getenv("TMPDIR");  // in a worker, its private folder: it may write to few others
    std::string name = std::string(folder ? folder : "/tmp") + "/tgc-sample-XXXXXX";
    int fd = mkstemp(name.data());
    if (fd >= 0) ::close(fd);
    return name;
  }
  static void* address(const DeviceBuffer& b) { return reinterpret_cast<void*>(b.handle + b.offset); }

  std::string compiler_;
};

}  // namespace

extern "C" tgc::Device* tgc_device(int version, const char* options) {
  return version == tgc::kDeviceInterfaceVersion ? new SampleDevice(options) : nullptr;
}
