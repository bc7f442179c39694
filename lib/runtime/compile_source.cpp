#include "lib/runtime/compile_source.h"

#include "lib/compile/self_contained.h"

namespace tgc {

Result<CompileJob> compile_job_for(const KernelSource& source) {
  std::string_view rest = source.target;
  auto part = [&] {
    size_t colon = rest.find(':');
    std::string_view first = rest.substr(0, colon);
    rest = colon == rest.npos ? std::string_view() : rest.substr(colon + 1);
    return first;
  };
  std::string_view device = part(), renderer = part();
  auto job = make_compile_job(device, renderer, rest);
  if (!job) return job.diag();
  job->source = source.text;
  job->name = source.name;
  return job;
}

Result<std::string> compile_source(const KernelSource& source, bool lines) {
  auto job = compile_job_for(source);
  if (!job) return job.diag();
  job->annotates_lines = lines;
  if (source.compile_timeout_seconds > 0) job->timeout_seconds = source.compile_timeout_seconds;
  return compile(*job, Artifact::Binary);
}

Result<std::string> check_source(const KernelSource& source, Language language) {
  return catch_failures([&] {
    check_self_contained(language, source.text);
    return source.text;
  });
}

constexpr std::string_view kDoesNotCompile = " source does not compile: ";

Diag invalid_source_error(std::string_view language, const KernelSource& source, std::string log) {
  return Diag{.message = std::string(language) + std::string(kDoesNotCompile) + "kernel '" + source.name + "'",
              .context = std::move(log)};
}

bool is_invalid_source(const Diag& error) { return error.message.find(kDoesNotCompile) != error.message.npos; }

}  // namespace tgc
