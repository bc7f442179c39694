// For builds without TGC_BEAM, in which BEAM=N only causes a warning.
#include "lib/beam/found_opts.h"
#include "lib/beam/results.h"
#include "lib/support/version.h"

namespace tgc {

std::string BeamResults::default_path() { return {}; }
Status use_found_opts(const std::string&, int64_t) { return absent_part_error("the kernel search (BEAM)", "TGC_BEAM"); }
std::string found_opts_note() { return {}; }

}  // namespace tgc
