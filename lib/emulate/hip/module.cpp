#include "lib/emulate/hip/module.h"

#include <algorithm>
#include <cstring>

#include "lib/compile/engines.h"
#include "lib/emulate/hip/builder.h"

namespace tgc::hip {
namespace {

// Hardware limits. No compiler emits a kernel beyond them.
constexpr uint32_t kMostGroupBytes = 64 << 10, kMostPrivateBytes = 64 << 10, kMostKernargBytes = 1 << 16;

void check(const KernelEntry& k) {
  const Descriptor& d = k.descriptor;
  if (d.group_bytes > kMostGroupBytes || d.private_bytes > kMostPrivateBytes || d.kernarg_bytes > kMostKernargBytes)
    throw Failure("the kernel '" + k.name + "' asks for more memory than a GPU has");
  if (d.kernarg_preload) throw Failure("the kernel '" + k.name + "' wants its arguments preloaded in registers");
}

}  // namespace

Result<std::unique_ptr<LoadedModule>> LoadedModule::load(std::string_view bytes, Memory& memory, bool watches) {
  return catch_failures([&] {
    CodeObject object = CodeObject::read(bytes).value_or_throw();
    const Processor& processor = object.processor();
    auto engine = llvm_engine().value_or_throw();
    auto made =
        engine->disassemble(bytes, {.triple = "amdgcn-amd-amdhsa", .cpu = processor.name, .features = "+cumode"});
    if (!made.ok) throw Failure("LLVM does not disassemble the code object: " + made.complaint.message);
    std::unique_ptr<LoadedModule> out(new LoadedModule(memory));
    out->listing_ = std::move(made.value);
    out->image_ = memory.allocate(std::max<size_t>(object.image().size(), 1));
    if (!out->image_) throw Failure("not enough device memory for the code object");
    std::memcpy(reinterpret_cast<void*>(out->image_), object.image().data(), object.image().size());
    for (const KernelEntry& entry : object.kernels()) {
      check(entry);
      auto code = std::make_unique<Code>();
      code->name = entry.name, code->descriptor = entry.descriptor, code->family = processor.family;
      code->processor = processor.name;
      code->halves = entry.descriptor.is_wave32() ? 1 : 2;
      code->base = out->image_, code->has_waits = watches;
      if (processor.family == Family::Gfx9 && code->halves == 1)
        throw Failure("the kernel '" + entry.name + "' has waves of 32 on a processor that has 64");
      code->instructions = read_listing(out->listing_, entry.begin, entry.end);
      Builder(*code).build();
      out->kernels_.push_back(std::move(code));
    }
    if (out->kernels_.empty()) throw Failure("the code object has no kernel");
    return out;
  });
}

LoadedModule::~LoadedModule() {
  if (image_) memory_.free(image_);
}

const Code* LoadedModule::kernel(std::string_view name) const {
  auto found = std::ranges::find_if(kernels_, [&](auto& k) { return k->name == name; });
  return found == kernels_.end() ? nullptr : found->get();
}

}  // namespace tgc::hip
