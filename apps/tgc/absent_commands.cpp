// Commands of parts that this build of tgc was made without: each fails and names the build option of the part.
#include "apps/tgc/command.h"
#include "lib/support/version.h"

namespace tgc {
namespace {

[[maybe_unused]] void add_absent_command(CliCommand& cmd, const std::string& name, const std::string& option) {
  cmd.set_description("Not in this build of tgc: it was made without " + option + ".", "tgc " + name);
  cmd->fallthrough(false)->allow_extras();
  cmd.set_action([name, option]() -> int { throw Failure(absent_part_error("`tgc " + name + "`", option)); });
}

}  // namespace

#ifndef TGC_BEAM
void add_beam(CliCommand& cmd) { add_absent_command(cmd, "beam", "TGC_BEAM"); }
#endif
#ifndef TGC_VIEW
void add_view(CliCommand& cmd) { add_absent_command(cmd, "view", "TGC_VIEW"); }
#endif

}  // namespace tgc
