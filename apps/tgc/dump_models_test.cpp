#include <map>
#include <sstream>

#include "apps/tgc/cli_testing.h"
#include "lib/support/testing.h"
#include "lib/text/pyrender.h"
#include "passes/pipeline.h"

using namespace tgc;
namespace fs = std::filesystem;

namespace {

// Returns the lines that tinygrad prints, too: those that are not comments.
std::string without_tgc_comments(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line[line.find_first_not_of(' ') == line.npos ? 0 : line.find_first_not_of(' ')] != '#') out += line + "\n";
  return out;
}

// Checks that parsing and printing the text gives the same text.
void reads_back(const std::string& file, const std::string& text) {
  INFO(file);
  Graph graph;
  auto root = read_pyrender(graph, text);
  REQUIRE_MESSAGE(root.ok(), root.diag().text());
  auto again = pyrender(*root);
  REQUIRE(again.ok());
  CHECK(*again + "\n" == without_tgc_comments(text));
}

std::vector<std::string> kernels_of(const std::string& schedule) {
  std::vector<std::string> out;
  std::istringstream lines(schedule);
  std::string number, what;
  for (std::string line; std::getline(lines, line);)
    if (std::istringstream words(line); words >> number >> what && what == "kernel" && number != "kernel")
      out.push_back(number);
  return out;
}

// Returns the files of one dump by name, without "MODEL." and without the stage's number: "apply-rangeify.uop",
// "3.linear.uops".
std::map<std::string, std::string> dumped(const std::string& model, const std::string& options) {
  std::string folder = (scratch_folder() / ("dump_" + model)).string() + "/";
  CommandResult r =
      run_tgc("dump " + test_path("models/" + model + ".onnx") + " --stage=all " + options + " -o " + folder);
  INFO(r.err);
  REQUIRE(r.code == 0);
  std::map<std::string, std::string> out;
  for (auto& entry : fs::directory_iterator(folder)) {
    std::string name = entry.path().filename().string().substr(model.size() + 1);
    // position of the stage's number, which follows the kernel's number in the names of kernels' files
    size_t number = std::isdigit(name[0]) && name.find('.') != 2 ? name.find('.') + 1 : 0;
    if (!number && std::isdigit(name[3])) number = 3;
    out[name.substr(0, number) + name.substr(number + 3)] = read_text(entry.path());
  }
  return out;
}

}  // namespace

TEST_CASE("cli: dump prints each kind of model at every stage") {
  struct Model {
    const char *name, *options;
    size_t kernels;  // minimum number
  };
  for (const Model& m : {Model{"resnet50", "", 10}, {"mobilenetv2", "", 10}, {"unet", "", 10},
                         {"bert", "--var batch=2", 10}, {"gpt2", "--var pos=3", 10}}) {
    CAPTURE(m.name);
    auto files = dumped(m.name, m.options);
    for (const TensorStage& stage : tensor_stages()) {
      CAPTURE(stage.name);
      CHECK(files.contains(stage.slug() + ".uop"));
    }
    auto listed = kernels_of(files["schedule.txt"]);
    CHECK(listed.size() >= m.kernels);
    for (const std::string& kernel : listed) {
      CAPTURE(kernel);
      for (const Stage& stage : kernel_stages()) {
        CAPTURE(stage.name);
        if (stage.slug().find("image") == std::string::npos)
          CHECK(files.contains(kernel + "." + stage.slug() + ".uop"));
      }
      for (const char* made : {".ast.uop", ".linear.uops", ".source.src", ".program.txt"})
        CHECK(files[kernel + made].size() > 20);
    }
    for (auto& [file, text] : files)
      if (file.ends_with(".uop")) reads_back(file, text);
  }
}
