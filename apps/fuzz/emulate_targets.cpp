// What emulators are given: code objects for AMD's GPUs. They are refused with a message, or their kernels run on a
// small array to their end or to an error.
#include <algorithm>

#include "apps/fuzz/target.h"
#include "lib/emulate/hip/launch.h"
#include "lib/emulate/hip/module.h"

namespace tgc::fuzz {

void run_code_object(Bytes bytes) {
  constexpr uint64_t kArrayBytes = 4096, kArguments = 4;
  emulate::Memory memory(1 << 26);
  auto module = hip::LoadedModule::load(text_of(bytes), memory, true);
  if (!must_say(module)) return;
  uint64_t array = memory.allocate(kArrayBytes);
  std::fill_n(reinterpret_cast<uint8_t*>(array), kArrayBytes, uint8_t(1));
  for (const auto& code : (*module)->kernels()) {
    hip::Launch launch{.code = code.get(),
                       .grid = {2, 1, 1},
                       .block = {40, 1, 1},
                       .ranges = memory.ranges(),
                       .check_races = true,
                       .most_jumps = 1000};
    launch.arguments.resize(std::max<size_t>(code->descriptor.kernarg_bytes, kArguments * sizeof array));
    for (uint64_t n = 0; n < kArguments; n++)
      std::copy_n(reinterpret_cast<std::byte*>(&array), sizeof array, launch.arguments.data() + n * sizeof array);
    uint64_t executed = 0;
    auto fault = hip::run_launch(launch, executed);
    must(!fault || !fault->text.empty(), "an error without a text");
  }
  memory.free(array);
}

}  // namespace tgc::fuzz
