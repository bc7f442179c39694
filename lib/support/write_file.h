// Writing a file as a whole.
#pragma once
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

// Writes `bytes` to `path` by way of a temporary file beside it, so that nobody sees it half written.
Status write_file(const std::string& path, std::string_view bytes);

}  // namespace tgc
