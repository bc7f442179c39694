// The contents of a repro bundle besides the graph, for the page.
#pragma once
#include <string>

#include "lib/records/repro.h"

namespace tgc {

// JSON: {"symptom","said","device","fault","script","oracle","blamed":{},"variables":{},"tolerance":{},"made_by":{},
// "inputs":[{"name","dtype","shape","count","values"}],"expected":[...]}; `values` are the first values as text;
// `oracle` says where expected results come from. `strip_paths` empties "script", a command that names files.
std::string bundle_facts(const Repro& bundle, bool strip_paths);

}  // namespace tgc
