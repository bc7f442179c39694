// The targets under libFuzzer: build/fuzz/bin/tgc_libfuzzer TARGET [libFuzzer's options] [CORPUS...]. TGC_FUZZ_TARGET
// passes the target to processes that libFuzzer starts itself.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "apps/fuzz/target.h"

using namespace tgc::fuzz;

namespace {
const FuzzTarget* target = nullptr;
}

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  setenv("TGC_CACHE", "0", 0);
  if (const char* told = std::getenv("TGC_FUZZ_TARGET")) target = find_fuzz_target(told);
  if (*argc > 1 && (*argv)[1][0] != '-')
    if (const FuzzTarget* named = find_fuzz_target((*argv)[1])) {
      target = named;
      setenv("TGC_FUZZ_TARGET", (*argv)[1], 1);
      std::memmove(*argv + 1, *argv + 2, size_t(*argc - 1) * sizeof **argv);
      --*argc;
    }
  require_condition(target, "name a target first, one that `tgc_fuzz` lists");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // error messages quote inputs: words that check_message() looks for would be false findings
  if (bytes_as_text({data, size}).find("internal error") != std::string_view::npos) return -1;
  target->run({data, size});
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// If inputs consist of records, three of four mutations are those of mutate_bytes().
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  max_size = std::min(max_size, target->max_input_bytes);
  size = std::min(size, max_size);
  if (target->record_bytes == 1 || seed % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::vector<uint8_t> bytes(data, data + size);
  mutate_bytes(bytes, {data, size}, seed, *target);
  size_t n = std::min(bytes.size(), max_size);
  if (n) std::memcpy(data, bytes.data(), n);
  return n;
}
