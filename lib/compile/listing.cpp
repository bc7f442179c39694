#include "lib/compile/listing.h"

#include <algorithm>
#include <vector>

#include "lib/compile/backends.h"
#include "lib/support/lines.h"

namespace tgc {
namespace {

std::string_view comment_prefix(const CompileJob& job) {
  if (job.language == Language::Cuda || job.language == Language::Ptx) return "//";
  std::string machine = job.machine.empty() ? std::string(host_machine_name()) : job.machine;
  return machine == "amdgcn" ? ";" : machine == "aarch64" ? "//" : "#";
}

bool starts_with_any(std::string_view line, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return line.starts_with(p); });
}

// Directives and labels that only debuggers, linkers and unwinders read.
bool is_metadata_line(std::string_view line) {
  return starts_with_any(line, {".cfi_", ".addrsig", ".ident", ".file", ".Ltmp", ".Lfunc_begin", ".Linfo_", "$L__tmp",
                                "$L__func_begin", "$L__info_string", ".section\t\".note.GNU-stack\""});
}

bool opens_debug_section(std::string_view line) {
  return line.starts_with(".section") &&
         (line.find(".debug_") != line.npos || line.find(".stack_sizes") != line.npos);
}
bool opens_section(std::string_view line) {
  return starts_with_any(line, {".section", ".text", ".data", ".bss", ".amdgpu_metadata"});
}

// True for ".loc", but not for PTX's ".local".
bool is_location_directive(std::string_view line) { return starts_with_any(line, {".loc ", ".loc\t"}); }

// Returns 12 for ".loc 1 12 5 ...", and 0 for any other directive.
size_t source_line_of_location(std::string_view line) {
  if (!is_location_directive(line)) return 0;
  std::string text(line.substr(4));
  char* at = text.data();
  std::strtoul(at, &at, 10);
  return std::strtoul(at, nullptr, 10);
}

}  // namespace

std::string make_listing(std::string_view assembly, const CompileJob& job) {
  std::string comment(comment_prefix(job)), out;
  if (!job.name.empty()) out += comment + " kernel " + job.name + "\n";
  std::vector<std::string_view> source = lines_of(job.source);
  bool debug = false;
  int depth = 0;
  size_t shown = 0;
  for (std::string_view raw : lines_of(assembly)) {
    std::string_view line = trimmed_line(raw);
    if (opens_debug_section(line)) debug = true, depth = 0;
    else if (debug && opens_section(line)) debug = false;
    if (debug) {
      if (line.ends_with("{")) depth++;
      if (line == "}" && --depth <= 0) debug = false;
      continue;
    }
    if (is_location_directive(line)) {
      size_t number = source_line_of_location(line);
      if (job.annotates_lines && number && number != shown && number <= source.size())
        out += comment + " " + std::to_string(number) + ": " + std::string(trimmed_line(source[number - 1])) + "\n";
      if (number) shown = number;
    } else if (!is_metadata_line(line)) {
      out.append(raw).append("\n");
    }
  }
  return out;
}

}  // namespace tgc
