// The options of tgc prove.
#pragma once
#include <optional>
#include <string>

#include "lib/driver/session.h"

namespace tgc {

struct ProveOptions {
  std::string input = "-", kernel;
  std::string rule, stage;
  bool json = false, strict = false, rules = false;
  std::string floats = "reals", shard = "1/1", table;
  bool no_check = false;
  std::optional<double> timeout = {};
  unsigned jobs = 1;
  Overrides over{.live_rewrites = true};
};

// Proves the rules of tgc or, with --live, those of that tinygrad (--rules); returns the exit code.
int prove_selected_rules(const ProveOptions& options);

}  // namespace tgc
