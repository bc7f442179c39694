// Untrusted files that once crashed tgc, exhausted its memory, overwrote a file or forged its output.
#include <elf.h>

#include <chrono>
#include <cstring>
#include <string>

#include "apps/tgc/cli_testing.h"
#include "lib/support/sha256.h"
#include "lib/support/testing.h"

using namespace tgc;

namespace {

std::string door(const std::string& name) { return test_path("hostile/doors2/" + name); }

// Checks that a command ends with exit code 2 and a message, within `seconds` and 20 GB of address space.
void refused(const std::string& arguments, double seconds = 20) {
  const auto begin = std::chrono::steady_clock::now();
  const CommandResult r = run_in_shell("ulimit -v 20000000; tgc " + arguments);
  INFO(arguments << "\n" << r.err);
  CHECK(r.code == 2);
  CHECK(contains_text(r.err, "tgc: "));
  CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds);
}

}  // namespace

TEST_CASE("doors: numbers of a recording that lie outside of what they index are errors") {
  for (const char* name : {"badfree", "slot_-2147483648", "stack0", "shrinkshort", "floordiv"})
    for (const char* command : {"run ", "bisect "}) refused(command + door(name + std::string(".jsonl.gz")));
  // a size of zero is no error: the graph pads an array without elements to one element
  for (const char* command : {"run ", "bisect "}) CHECK(run_tgc(command + door("zero.jsonl.gz")).code == 0);
}

TEST_CASE("doors: a pickle expands to no more than the limit for inputs") {
  refused("records " + door("bomb40.pkl"));
  refused("profile " + door("pmc.pkl.gz"));
  refused("records " + door("shared_matches.pkl.gz"));  // 30,000 rewrites that share 30,000 matches
}

TEST_CASE("doors: names and ids are of one line, without control characters") {
  for (const char* command : {"diff ", "run --recorded ", "records ", "check ", "bisect "}) {
    for (const char* name : {"id.jsonl.gz", "slow.jsonl.gz"}) {
      const CommandResult r = run_in_shell(std::string("CI=1 GITHUB_ACTIONS=1 tgc ") + command + door(name) + " " +
                                           (std::string(command) == "diff " ? door("rec.jsonl.gz") : ""));
      INFO(command << name << "\n" << r.err);
      CHECK(r.code == 2);
      CHECK_FALSE(contains_text("\n" + r.out + r.err, "\n::"));
      CHECK_FALSE(contains_text(r.out + r.err, "\x1b]"));
      if (std::string(command) != "check ") CHECK(contains_text(r.err, "has a line break or a control character"));
    }
  }
}

TEST_CASE("doors: no name of a recording begins a line of a log, whichever member has the line break") {
  for (const char* member : {"target", "name", "function_name", "producer", "id"}) {
    const std::string pattern = std::string("s/(\"") + member + "\": ?\")/\\1k\\\\n::error::x/";
    REQUIRE(run_in_shell("zcat " + door("rec.jsonl.gz") + " | sed -E '" + pattern + "' > forged.jsonl").code == 0);
    for (const char* command : {"records ", "run ", "bisect ", "diff ", "check ", "stages ", "view -o forged.html "}) {
      const CommandResult r = run_in_shell(std::string("CI=1 GITHUB_ACTIONS=1 tgc ") + command + "forged.jsonl" +
                                           (std::string(command) == "diff " ? " " + door("rec.jsonl.gz") : ""));
      INFO(command << member << "\n" << r.out << r.err);
      CHECK_FALSE(contains_text("\n" + r.out + r.err, "\n::"));
    }
  }
}

TEST_CASE("doors: the progress line on a terminal has no control characters of a name") {
  for (const char* name : {"slow.jsonl.gz", "id.jsonl.gz"})
    for (const char* command : {"run --recorded ", "check "}) {
      const CommandResult r =
          run_in_shell("script -qec 'tgc " + std::string(command) + door(name) + "' /dev/null < /dev/null");
      INFO(r.out);
      CHECK(contains_text(r.out + r.err, "tgc: "));
      CHECK_FALSE(contains_text(r.out, "\x1b]"));
    }
}

TEST_CASE("doors: slots of a recording that no buffer has are errors") {
  for (const char* slot : {"-1", "4294967296", "9223372036854775807", "-9223372036854775808"}) {
    const std::string change = std::string(" | sed 's/-2147483648/") + slot + "/g' > slot.jsonl";
    REQUIRE(run_in_shell("zcat " + door("slot_-2147483648.jsonl.gz") + change).code == 0);
    for (const char* command : {"run ", "bisect "}) refused(std::string(command) + "slot.jsonl");
  }
}

TEST_CASE("doors: a find of --watch-nan is shallow, of plain texts, and takes a bounded time to explain") {
  std::filesystem::copy(test_path("nan"), scratch_folder() / "nan", std::filesystem::copy_options::recursive);
  const auto explain = [](const std::string& outputs, const std::string& rest) {
    std::string found = R"({"format":"tgc-nan","found":{"id":"train.0","call":1,"run":1,"outputs":{)" + outputs + "}";
    write_scratch_file("nan/train.nan.json", found + rest + "}");
    return run_tgc("run --nan nan/train.jsonl.gz");
  };
  const std::string output = R"("data0":{"first":0,"count":1})";
  const CommandResult found = explain(output, "}");
  CHECK(found.code == 1);
  CHECK(contains_text(found.out, "again: tgc run nan/train.jsonl.gz --nan\n"));
  CHECK(contains_text(explain("", "}").err, "the find names no output"));
  CHECK(contains_text(explain(output, R"(,"asked_by":["a\u001b[31m\nb"]})").err, "a text with control characters"));
  const std::string deep = std::string(1 << 20, '[') + std::string(1 << 20, ']');
  CHECK(contains_text(explain(output, R"(},"methods":)" + deep).err, "a find with too many nested values"));
  CHECK(contains_text(explain(output, R"(},"format":5)").err, "a member is missing or has a wrong type"));
}

TEST_CASE("doors: in a CI job, no text of a file begins a workflow command") {
  const std::string file =
      write_scratch_file("lines.uop", "ast = UOp(Ops.SINK, dtypes.void, (), KernelInfo(name='k'))\n::error::x\n");
  const CommandResult r = run_in_shell("CI=1 tgc dump " + file + " --stage=source");
  CHECK_FALSE(contains_text("\n" + r.out + r.err, "\n::"));
}

TEST_CASE("doors: nothing is written through a link that is there already, and nothing that no option names") {
  const std::string target = write_scratch_file("precious", "precious");
  for (const char* name : {"failed-prog-actual.npz", "failed-prog-inputs.npz", "failed-prog-expected.npz"})
    std::filesystem::create_symlink(target, scratch_folder() / name);
  std::filesystem::create_symlink("nowhere", scratch_folder() / "failed-prog.repro");
  for (const char* command : {"run --recorded ", "run ", "bisect "}) {
    const CommandResult r = run_tgc(command + door("rec.jsonl.gz"));
    INFO(command << r.err);
    CHECK(read_text(target) == "precious");
    CHECK_FALSE(std::filesystem::exists(scratch_folder() / "nowhere"));
  }
  std::filesystem::remove(scratch_folder() / "failed-prog.repro");
  for (const char* name : {"failed-prog-actual.npz", "failed-prog-inputs.npz", "failed-prog-expected.npz"})
    std::filesystem::remove(scratch_folder() / name);
}

TEST_CASE("doors: --timeout bounds lowering, linearizing and rendering") {
  std::string text = "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(16), (), 0)\nc1 = UOp.range(16, 0, AxisType.LOOP)\n"
                     "d0 = c1.cast(dtypes.float)\n";
  constexpr int kLength = 3000;
  for (int i = 0; i < kLength; i++) text += "d" + std::to_string(i + 1) + " = d" + std::to_string(i) + ".sin()\n";
  text += "ast = c0.index(c1, ptr=True).store(d" + std::to_string(kLength) + ").end(c1).sink()\n";
  const std::string file = write_scratch_file("long_sin.uop", text);
  for (const char* seconds : {"0.2", "1"}) {
    const auto begin = std::chrono::steady_clock::now();
    const CommandResult r = run_tgc("run " + file + " --timeout=" + seconds);
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    INFO(took << " s\n" << r.err);
    CHECK(r.code == 2);
    CHECK(contains_text(r.err, "did not end within"));
    CHECK(took < std::stod(seconds) + 2);  // 1 s of tolerance, and 1 s for a busy machine
  }
}

TEST_CASE("doors: a cache entry that is a damaged object is an error, whatever it damages") {
  const std::string cache = (scratch_folder() / "doors_cache").string(), file = door("k.uop");
  const std::string run = "run " + file + " --device=CPU:LLVM", compile = "compile " + file + " --target=CPU:LLVM",
                    environment = "TGC_CACHE_DIR=" + cache;
  REQUIRE(run_tgc(run, "/dev/null", environment).code == 0);
  const size_t header = std::string_view("tgc-cache-2\n").size() + 2 * sizeof(Sha256);  // magic, hash, key
  std::filesystem::path path;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cache))
    if (entry.is_regular_file() && read_text(entry.path()).find("\x7f" "ELF") == header) path = entry.path();
  REQUIRE(!path.empty());
  const std::string sound = read_text(path);
  // Writes `value` at offset `field` of the header of each loaded section (`of_sections`) or of the object's header,
  // and gives the entry the hash of its new contents.
  auto damaged = [&](size_t field, uint64_t value, bool of_sections) {
    std::string object = sound.substr(header);
    Elf64_Ehdr elf;
    std::memcpy(&elf, object.data(), sizeof elf);
    if (!of_sections) std::memcpy(object.data() + field, &value, sizeof value);
    for (size_t n = 0; of_sections && n < elf.e_shnum; n++) {
      char* section = object.data() + elf.e_shoff + n * sizeof(Elf64_Shdr);
      Elf64_Shdr s;
      std::memcpy(&s, section, sizeof s);
      if (s.sh_flags & SHF_ALLOC) std::memcpy(section + field, &value, sizeof value);
    }
    const std::string hashed = sound.substr(header - sizeof(Sha256), sizeof(Sha256)) + object;
    const Sha256 hash = sha256(hashed);
    write_scratch_file("entry", sound.substr(0, header - 2 * sizeof(Sha256)) +
                       std::string(reinterpret_cast<const char*>(hash.data()), hash.size()) + hashed);
    using std::filesystem::perms;
    std::filesystem::permissions(scratch_folder() / "entry", perms::owner_read | perms::owner_write);
    std::filesystem::rename(scratch_folder() / "entry", path);
  };
  struct Row {
    size_t field;
    uint64_t value;
    bool of_sections;
  };
  for (const Row& row : {Row{offsetof(Elf64_Shdr, sh_addralign), UINT64_MAX, true},
                         Row{offsetof(Elf64_Shdr, sh_size), uint64_t(1) << 63, true},
                         Row{offsetof(Elf64_Shdr, sh_offset), UINT64_MAX - 7, true},
                         Row{offsetof(Elf64_Ehdr, e_shoff), UINT64_MAX, false}}) {
    damaged(row.field, row.value, row.of_sections);
    const CommandResult r = run_tgc(run, "/dev/null", environment), c = run_tgc(compile, "/dev/null", environment);
    INFO(r.err << c.out);
    CHECK(r.code == 2);
    CHECK((contains_text(r.err, "a section of the object") || contains_text(r.err, "the object is truncated")));
    CHECK(c.code == 1);
    CHECK(contains_text(c.out, "cannot be loaded"));
  }
}

TEST_CASE("doors: numbers of a kernel of another release that overflow, divide by zero or lie outside") {
  auto kernel = [](const std::string& slot, const std::string& op, const std::string& a, const std::string& b,
                   const std::string& axis = "0") {
    auto param = [](const std::string& n) {
      return R"({"op":"PARAM","dtype":"dtypes.float","src":[0],"arg":{"ParamArg":{"*":[)" + n +
             R"(,{"value":"dtypes.float"}],"device":"CPU"}}},)";
    };
    return R"({"format":"tgc-graph","version":1,"producer":"tinygrad 0.14.0","nodes":[)"
           R"({"op":"CONST","dtype":"dtypes.weakint","arg":64},)" + param(slot) +
           R"({"op":"RANGE","dtype":"dtypes.weakint","src":[0],"arg":[)" + axis + R"(,{"value":"AxisType.LOOP"}]},)"
           R"({"op":"INDEX","dtype":"dtypes.float","src":[1,2]},)"
           R"({"op":"CONST","dtype":"dtypes.long","arg":)" + a + R"(},{"op":"CONST","dtype":"dtypes.long","arg":)" + b +
           R"(},{"op":")" + op + R"(","dtype":"dtypes.long","src":[4,5]},)"
           R"({"op":"CAST","dtype":"dtypes.float","src":[6]},)"
           R"({"op":"STORE","dtype":"dtypes.void","src":[3,7]},{"op":"END","dtype":"dtypes.void","src":[8,2]},)"
           R"({"op":"SINK","dtype":"dtypes.void","src":[9]}]})";
  };
  const std::string least = "-9223372036854775808";
  for (const std::string& text :
       {kernel("0", "FLOORDIV", least, "-1"), kernel("0", "FLOORMOD", least, "-1"), kernel("0", "CDIV", least, "-1"),
        kernel("0", "FLOORDIV", "1", "0"), kernel("0", "CMOD", "5", "0"),
        kernel("0", "SHL", "1", "4611686018427387904"),
        kernel(least, "ADD", "1", "1"), kernel("1048577", "ADD", "1", "1"), kernel("0", "ADD", "1", "1", least)}) {
    const std::string file = write_scratch_file("numbers.json", text);
    for (const char* command : {"run ", "run --native --device=CPU:LLVM ", "dump --native --stage=source "}) {
      const CommandResult r = run_tgc(command + file);
      INFO(command << text << r.err);
      CHECK(r.code >= 0);
      CHECK(r.code <= 2);
      CHECK_FALSE(contains_text(r.err, "internal error"));
    }
  }
}

TEST_CASE("doors: no control character of a kernel's or variable's name reaches the terminal") {
  for (const std::string control : {"\\u009b31m", "\\x1b]52;c;aGk=\\x07", "\\r\\n::error::x"}) {
    const std::string file = write_scratch_file("name.uop",
        "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), 0)\nc1 = UOp.variable('v" + control + "', 1, 4)\n"
        "c2 = c0.index(UOp.const(dtypes.index, 0), ptr=True).store(c1.cast(dtypes.float))\n"
        "ast = c2.sink(arg=KernelInfo(name='b" + control + "'))\n");
    for (const char* command : {"dump --stage=source ", "verify ", "run --device=REF ", "bisect ", "stats "}) {
      const CommandResult r = run_in_shell(std::string("CI=1 GITHUB_ACTIONS=1 tgc ") + command + file);
      INFO(command << control << "\n" << r.out << r.err);
      CHECK(r.code >= 0);
      for (const char* raw : {"\x1b]", "\xc2\x9b", "\a", "\n::"}) CHECK_FALSE(contains_text("\n" + r.out + r.err, raw));
    }
  }
}
