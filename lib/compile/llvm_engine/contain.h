// Turns LLVM's fatal errors ("Cannot select", failed assertions) and crashes into messages.
#pragma once
#include <exception>
#include <functional>
#include <string>

#include "lib/compile/engines.h"

namespace tgc {

struct ThrownCompilerError {
  CompilerError compiler_error;
};

// Runs `work` and returns "". If a fatal error or crash ends `work`, returns the message and leaks the used memory.
std::string run_contained_work(const std::function<void()>& work);

// Returns the result of `work`, or the message of a thrown ThrownCompilerError or std::exception, or of a fatal error.
template <class Work>
auto contained_result(Work&& work) -> EngineResult<decltype(work())> {
  EngineResult<decltype(work())> made;
  std::string fatal_error = run_contained_work([&] {
    try {
      made.value = work();
      made.ok = true;
    } catch (const ThrownCompilerError& refused) {
      made.compiler_error = refused.compiler_error;
    } catch (const std::bad_alloc&) {
      made.compiler_error.message = "out of memory";
    } catch (const std::exception& e) {
      made.compiler_error.message = e.what();
    }
  });
  if (!fatal_error.empty()) made = {.compiler_error = {.message = fatal_error}};
  return made;
}

}  // namespace tgc
