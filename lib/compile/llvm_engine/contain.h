// Running LLVM so that its fatal errors ("Cannot select", failed assertions) come back as a message,
// not as the end of the process.
#pragma once
#include <exception>
#include <functional>
#include <string>

#include "lib/compile/engines.h"

namespace tgc {

// Thrown inside an engine: what the compiler complains of.
struct Refused {
  Complaint complaint;
};

// Runs `work`; the message of the fatal error that ended it, empty when it ran to its end.
// After an error what `work` held is leaked.
std::string run_contained(const std::function<void()>& work);

// What `work` returns, or the complaint that it threw (Refused, std::exception) or that a fatal error left.
template <class Work>
auto contained(Work&& work) -> Made<decltype(work())> {
  Made<decltype(work())> made;
  std::string fatal = run_contained([&] {
    try {
      made.value = work();
      made.ok = true;
    } catch (const Refused& refused) {
      made.complaint = refused.complaint;
    } catch (const std::bad_alloc&) {
      made.complaint.message = "out of memory";
    } catch (const std::exception& e) {
      made.complaint.message = e.what();
    }
  });
  if (!fatal.empty()) made = {.complaint = {.message = fatal}};
  return made;
}

}  // namespace tgc
