// The topic `tgc help recording`: how records of tinygrad are made, and what to do with them.
#pragma once
#include <string>

namespace tgc {

std::string recording_text();

}  // namespace tgc
