// tgc profile: shows the hardware traces and profiles that tinygrad stored.
#include "apps/tgc/command.h"
#include "lib/driver/source.h"
#include "lib/profile/profile.h"

namespace tgc {
namespace {

struct ProfileCommand {
  std::string input;
  bool json = false;
};

int run(const ProfileCommand& o) {
  InputName name = InputName::parse(o.input);
  auto trace = require(profile::read_trace(name.file));
  auto analyzed = require(profile::analyze_profile(std::move(trace), {.kernel = name.id}));
  print(profile::profile_json(analyzed, name.shown()));
  return 0;
}

}  // namespace

void add_profile(Command& cmd) {
  auto& o = cmd.make<ProfileCommand>();
  cmd.describe("Show the hardware traces and counters that tinygrad stored: AMD's SQTT and PMC, NVIDIA's PMA.",
               "tgc profile profile.pkl");
  cmd.positional("TRACE", o.input, "profile.pkl of tinygrad; #KERNEL selects a kernel's runs")->required();
  cmd.group(Group::Output);
  cmd.json(o.json);
  cmd.runs([&o] { return run(o); });
}

}  // namespace tgc
