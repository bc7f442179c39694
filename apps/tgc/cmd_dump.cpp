// tgc dump [INPUT]: run the pipeline and print what was asked for.
#include <CLI/CLI.hpp>
#include <filesystem>

#include "apps/tgc/commands.h"
#include "apps/tgc/dump_texts.h"
#include "apps/tgc/terminal.h"
#include "lib/support/write_file.h"

namespace tgc {
namespace {

namespace fs = std::filesystem;

struct DumpOptions {
  std::string input = "-", kernel, stage, from, format, output;
  bool json = false;
  unsigned jobs = 0;
  CompileOptions compile;
  PipelineOptions pipeline;
};

constexpr std::string_view kAll = "all", kChanged = "changed";

class Dumper {
 public:
  explicit Dumper(const DumpOptions& options) : o_(options) {}

  int run() {
    auto prepared = prepare();
    if (!prepared) return trouble(prepared.diag());
    auto input = Input::open(o_.input, o_.kernel, o_.pipeline);
    if (!input) return trouble(input.diag());
    for (;;) {
      auto graph = input->next();
      if (!graph) return trouble(graph.diag());
      if (!*graph) return out_.release(), 0;
      for (const std::string& note : (*graph)->report.notes) std::fprintf(stderr, "tgc: note: %s\n", note.c_str());
      auto texts = dump_texts(**graph, plan_, o_.pipeline);
      if (!texts) return trouble(texts.diag());
      if (auto written = write(*texts); !written) return trouble(written.diag());
    }
  }

 private:
  Status prepare() {
    auto choices = dump_choices();
    std::set<std::string_view> all;
    for (const Choice& c : choices)
      if (c.in_spans) all.insert(c.name);
    choices.push_back({kAll, "", "", false});
    choices.push_back({kChanged, "", "", false});
    auto selected = select_stages(o_.stage.empty() ? kAst : std::string_view(o_.stage), choices);
    if (!selected) return selected.diag();
    for (std::string_view name : *selected) {
      if (name == kAll) plan_.wanted.insert(all.begin(), all.end());
      else if (name == kChanged) plan_.only_changed = true;
      else plan_.wanted.insert(name);
    }
    plan_.as_it_is = o_.stage.empty();
    plan_.jobs = o_.jobs;
    plan_.compile = o_.compile;
    if (auto status = choose_format(); !status) return status;
    return choose_from(choices[0]);
  }

  Status choose_format() {
    std::string_view name = o_.json ? name_of(Format::Json) : std::string_view(o_.format);
    if (name.empty()) return Unit{};
    plan_.format = parse_format(name);
    if (plan_.format) return Unit{};
    std::string near = nearest_names(name, format_names());
    return Diag{.message = "unknown format '" + o_.format + "'", .expected = near.empty() ? "pyrender, uops, nodes, repr, json or dot" : near};
  }

  Status choose_from(const Choice& ast) {
    if (o_.from.empty() || names_choice(o_.from, ast)) return Unit{};
    std::vector<Choice> stages;
    add_stages(stages, tensor_stages());
    add_stages(stages, kernel_stages());
    auto from = select_stages(o_.from, stages);
    if (!from) return from.diag();
    if (from->size() != 1) return Diag{.message = "--from takes one stage, not '" + o_.from + "'"};
    plan_.from = find_stage(from->front());
    plan_.tensor_from = find_tensor_stage(from->front());
    return Unit{};
  }

  // ---- where it goes
  Status write(const std::vector<DumpText>& texts) {
    if (o_.output.empty()) {
      for (const DumpText& t : texts) {
        if (texts.size() > 1) out_.add("# " + t.graph + ": " + t.stage + "\n");
        out_.add(t.text);
      }
      return Unit{};
    }
    std::error_code error;
    bool many = texts.size() != 1 || !first_;
    if (first_) into_folder_ = many || o_.output.back() == '/' || fs::is_directory(o_.output, error);
    first_ = false;
    if (!into_folder_ && many)
      return Diag{.message = "several texts do not go into one file", .file = o_.output, .expected = "a folder (end its name with '/')"};
    if (!into_folder_) return write_file(o_.output, texts[0].text);
    fs::create_directories(o_.output, error);
    if (error) return Diag{.message = "cannot make the folder: " + error.message(), .file = o_.output};
    for (const DumpText& t : texts) {
      char number[16];
      std::snprintf(number, sizeof number, "%02zu", t.number);
      std::string name = file_name(t.graph) + "." + number + "." + t.slug + "." + t.extension;
      if (auto status = write_file((fs::path(o_.output) / name).string(), t.text); !status) return status;
    }
    return Unit{};
  }
  static std::string file_name(std::string name) {
    for (char& c : name)
      if (c == '/' || c == '\0' || c == '\n') c = '_';
    return name.empty() || name[0] == '.' ? "_" + name : name;
  }

  const DumpOptions& o_;
  DumpPlan plan_;
  bool first_ = true, into_folder_ = false;
  HeldOutput out_;
};

}  // namespace

void add_dump(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<DumpOptions>();
  CLI::App* cmd = app.add_subcommand("dump", "run the pipeline, print what was asked for");
  cmd->add_option("INPUT", o->input, "a file of any kind (pyrender, repr, print_uops, JSON, golden records), FILE#ID for one record; default: standard input");
  cmd->add_option("--stage", o->stage,
                  "which stages to print: names, aliases, spans a..b, 'all' (but what compilers make), 'changed' (those that changed the graph), "
                  "separated by commas; `tgc stages` lists them. Default: ast, the input as it is")
      ->type_name("LIST");
  cmd->add_option("--format", o->format, "pyrender (default), uops, nodes, repr, json or dot")->type_name("F");
  cmd->add_option("-o,--output", o->output, "a file for one text, a folder for several: KERNEL.NN.STAGE.EXT")->type_name("DIR|FILE");
  cmd->add_flag("--json", o->json, "the same as --format=json");
  cmd->add_option("--from", o->from, "the input is the graph after that stage: go on with the next one")->type_name("STAGE");
  cmd->add_option("--var", o->pipeline.sizes, "binds a symbolic size of a model")->type_name("NAME=N")->take_all();
  cmd->add_option("--kernel", o->kernel, "one of many: its number from 0, or its name; of a tensor graph, one of its kernels")->type_name("N|NAME");
  cmd->add_option("-j", o->jobs, "threads for the kernels of a tensor graph; default: one per processor")->type_name("N")->check(CLI::Range(1, 1024));
  cmd->add_flag("--optimized", o->compile.optimized, "with llvm-ir: the module after LLVM's O2");
  cmd->add_flag("--lines", o->compile.lines, "with asm and sass: the source line that instructions came from");
  cmd->add_option("--machine", o->compile.machine, "with llvm-ir, asm and binary of CPU targets: x86_64[:CPU] or aarch64[:CPU]; default: this computer")->type_name("M");
  o->pipeline.add_weights_to(*cmd);
  o->pipeline.add_to(*cmd);
  cmd->callback([o, &exit_code] { exit_code = Dumper(*o).run(); });
}

}  // namespace tgc
