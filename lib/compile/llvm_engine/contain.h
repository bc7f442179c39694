// Running LLVM so that its fatal errors ("Cannot select", failed assertions) come back as a message, not as the end of the process.
#pragma once
#include <functional>
#include <string>

namespace tgc {

// Runs `work`; the message of the fatal error that ended it, empty when it ran to its end. After an error what `work` held is leaked.
std::string run_contained(const std::function<void()>& work);

}  // namespace tgc
