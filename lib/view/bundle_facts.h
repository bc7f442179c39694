// Writes the contents of a repro bundle, except its graph, as JSON for the page of `tgc view`.
#pragma once
#include <string>

#include "lib/records/repro.h"

namespace tgc {

// Returns {"symptom","said","device","fault","script","oracle","blamed":{},"variables":{},"tolerance":{},"made_by":{},
// "inputs":[{"name","dtype","shape","count","values"}],"expected":[...]}; the members that are not explained here are
// members of Repro, some under other names. "oracle": where the expected results come from. "count" is the number of
// elements of an array, and "values" has the first of them as text. `strip_paths` empties "script", a shell command.
std::string bundle_facts(const Repro& bundle, bool strip_paths);

}  // namespace tgc
