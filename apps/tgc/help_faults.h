// The topic `tgc help faults`: faults on demand, to test what finds faults.
#pragma once
#include <string>

namespace tgc {

std::string faults_text();

}  // namespace tgc
