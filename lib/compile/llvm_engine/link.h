// lld as a library: a relocatable AMDGPU object becomes the code object that a driver loads.
#pragma once
#include <string>
#include <string_view>

namespace tgc {

std::string link_code_object(std::string_view object);  // throws std::runtime_error with lld's message

}  // namespace tgc
