// Targets that read files other than graphs, such as traces, profiles and objects, or words of a command line.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "apps/fuzz/target.h"
#include "lib/compilation/pipeline.h"
#include "lib/compile/cache.h"
#include "lib/compile/load.h"
#include "lib/diff/graph_match.h"
#include "lib/driver/source.h"
#include "lib/profile/pma.h"
#include "lib/profile/report.h"
#include "lib/records/input_file.h"
#include "lib/records/pickled_nodes.h"
#include "lib/records/rewrite_trace.h"
#include "lib/trace/explain.h"
#include "lib/trace/trace_file.h"
#include "lib/trace/trace_print.h"

namespace tgc::fuzz {

namespace fs = std::filesystem;

void read_gzip(Bytes bytes) {
  MemoryFile file(bytes_as_text(bytes));
  auto lines = LineReader::open(file.path());
  if (!check_message(lines)) return;
  std::string line, all;
  for (int i = 0; i < 3; i++)
    if (auto more = (*lines)->next_line_text(line); !check_message(more) || !*more) return;
  check_message((*lines)->read_rest_of_text(all));
}

// Converts a rewrites.pkl to a recording, whose records must parse.
void read_rewrites(Bytes bytes) {
  auto trace = RewriteTrace::read(std::string(bytes_as_text(bytes)), "fuzz");
  if (!check_message(trace)) return;
  for (uint32_t number = 1;; number++) {
    auto line = (*trace)->next_line();
    if (!check_message(line) || line->empty()) return;
    if (number == 1) continue;
    auto record = std::make_shared<const GoldenRecord>(parse_golden_record({*line, number}, "fuzz").value_or_throw());
    InputGraph in{.graph = std::make_shared<Graph>(), .info = {.producer = "tinygrad 0.14.0", .name = record->id},
                  .file = "fuzz", .record = record};
    check_message(make_recorded_pipeline(std::move(in))->rows());
    count_run_input();
  }
}

void read_profile(Bytes bytes) {
  if (is_start_of_rewrites(bytes_as_text(bytes))) return read_rewrites(bytes);
  auto trace = profile::parse_trace(std::string(bytes_as_text(bytes)));
  if (!check_message(trace)) trace = profile::parse_damaged_trace(bytes_as_text(bytes), trace.diag());
  if (!check_message(trace)) return;
  auto analyzed = profile::analyze_profile(std::move(*trace), {.num_threads = 1});
  if (!check_message(analyzed)) return;
  for (auto& [name, ast] : analyzed->trace.kernel_asts) {
    auto graph = pickled_graph_json(ast);
    if (check_message(graph)) check_message(load_graph_text({}, InputKind::Json, *graph, name));
  }
  // skip the reports that call LLVM, which runs in a worker
  profile::print_waves_json(*analyzed, "", [](std::string_view) {}), (void)profile::waves_text(*analyzed);
  (void)profile::counters_json(*analyzed, ""), (void)profile::counters_text(*analyzed);
  (void)profile::memory_json(analyzed->trace, ""), (void)profile::memory_text(analyzed->trace);
  for (const profile::PmaEvent& e : analyzed->trace.pma_events)
    (void)profile::decode_pma(profile::bytes_of_blob(e.blob), e.sm_version);
  for (const profile::SqttSummary& s : analyzed->sqtt_summaries) (void)s.named_counts();
  count_run_input();
}

void read_trace_bytes(Bytes bytes) {
  MemoryFile file(bytes_as_text(bytes));
  if (!is_trace_file(file.path())) return;
  std::string shown;
  auto print = [&](std::string_view text) { shown += text; };
  TracePrinter printer({}, {}, print);
  check_message(read_trace(file.path(), printer));
  TraceReplay replay;
  check_message(read_trace(file.path(), replay));
  NodeExplainer explainer(1, "", false, print);
  check_message(read_trace(file.path(), explainer));
  check_message(explainer.outcome());
}

void read_cache_entry(Bytes bytes) {
  const fs::path folder = fs::temp_directory_path() / ("tgc-fuzz-cache-" + std::to_string(::getpid()));
  CompileCache cache(folder, 1 << 20);
  const Sha256 key = make_cache_key({"fuzz"});
  cache.store_entry(key, "payload");
  require_condition(cache.load_entry(key) == "payload", "what was kept does not come back");
  std::string name = sha256_hex(key);
  const fs::path entry = folder / name.substr(0, 2) / name;
  std::string sound(size_t(fs::file_size(entry)), '\0');
  std::ifstream(entry, std::ios::binary).read(sound.data(), std::streamsize(sound.size()));
  std::ofstream(entry, std::ios::binary).write(bytes_as_text(bytes).data(), std::streamsize(bytes.size()));
  auto got = cache.load_entry(key);
  // an entry ends with its payload, and contains its hash, so the cache may only return the end of the file
  require_condition(!got || bytes_as_text(bytes).ends_with(*got), "an entry gave what it does not hold");
  fs::remove_all(folder);
}

// Loads an object and does not execute it.
void load_elf_object(Bytes bytes) {
  if (check_message(load_object(bytes_as_text(bytes)))) count_run_input();
}

// Parses each line as the value of many options and arguments: names of inputs, settings, targets, ...
void read_words(Bytes bytes) {
  Graph graph;
  for (std::string_view text = bytes_as_text(bytes); !text.empty();) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string word(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    InputName name = InputName::parse(word);
    (void)name.display_name(), (void)name.stem(), (void)name.name_without_extension(word, true);
    Settings settings;
    check_message(settings.set_value(word));
    check_message(settings.set_value("DEBUG", word));
    check_message(parse_target(word, settings));
    check_message(parse_variables({word, "n=" + word}));
    check_message(DiffOptions::parse_ignore_list(word));
    check_message(op_of_word(word));
    (void)number_after_mark(word, '#');
    (void)find_stage_row(word);
    check_message(select_stages(word, choices_of_rows([](const StageRow&) { return true; })));
    auto small = load_graph_text({}, InputKind::Pyrender, "ast = UOp(Ops.SINK, dtypes.void, (), None)", "fuzz");
    Session session{
        .overrides = {
            .target = word, .settings_texts = {word}, .opts = word, .start_stage = word, .size_texts = {word}}};
    if (small) check_message(session.begin(std::move(*small)));
  }
}

}  // namespace tgc::fuzz
