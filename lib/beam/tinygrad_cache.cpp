#include "lib/beam/tinygrad_cache.h"

#include <algorithm>
#include <cstring>

#include "lib/beam/beam.h"
#include "lib/beam/pickle.h"
#include "lib/target/target.h"

namespace tgc {
namespace {

// The suffix of the table's name is tinygrad's cache version (helpers.py: VERSION).
constexpr const char* kTable = "beam_search_22";

// The parts of a target that tinygrad's key has.
struct CacheDevice {
  std::string device, suffix;
  friend bool operator==(const CacheDevice&, const CacheDevice&) = default;
};

CacheDevice device_of(const Target& target) {
  std::string renderer(name_of(target.renderer));
  return {std::string(target.device), renderer == "PTX" || renderer == "INTEL" ? renderer : ""};
}

Target parsed(const std::string& text) { return std::move(parse_target(text, Settings()).value_or_throw()); }

// Returns tinygrad's default target for a device and suffix.
std::string default_target(const CacheDevice& d) {
  if (d.device == "CPU") return "CPU:CLANG";
  return d.device + (d.suffix.empty() ? "" : ":" + d.suffix);
}

OptTexts texts_of(const std::string& pickled) {
  Graph graph{Settings()};
  auto opts = unpickle_opts(graph, pickled);
  return opt_texts(graph, opts.value_or_throw());
}

std::string pickled(const std::string& opts) {
  Graph graph{Settings()};
  return pickle_opts(read_opt_list(graph, opts));
}

void import_row(const Statement& row, BeamResults& results, const std::string& target) {
  CacheDevice device{row.text(3), row.text(4)};
  Target wanted = parsed(target.empty() ? default_target(device) : target);
  if (!(device_of(wanted) == device))
    throw Failure("a row is for " + device.device + (device.suffix.empty() ? "" : ":" + device.suffix) + ", not " +
                  wanted.name());
  BeamResult out{.target = wanted.name(), .device = device_name(wanted.name())};
  std::string key = row.text(0);
  if (key.size() != out.key.size()) throw Failure("a row's key has " + std::to_string(key.size()) + " bytes, not 32");
  std::memcpy(out.key.data(), key.data(), key.size());
  out.width = row.integer(1), out.estimate = row.integer(2);
  out.opts = joined(texts_of(row.text(5)));
  out.reference = "tinygrad's cache";
  results.put(out);
}

}  // namespace

Result<CacheTransfer> import_cache(const std::string& cache, BeamResults& results, const std::string& target) {
  return catch_failures([&] {
    CacheTransfer out;
    Database db(cache, Database::Mode::Read);
    if (!db.has_table(kTable))
      throw Failure(Diag{.message = std::string("the file has no table ") + kTable, .file = cache,
                         .expected = "a cache of tinygrad 0.12.0 that has seen BEAM"});
    Statement row = db.prepare(std::string("SELECT ast, amt, allow_test_size, device, suffix, val FROM ") + kTable);
    while (row.step()) {
      auto done = catch_failures([&] { return import_row(row, results, target), Unit{}; });
      if (done) out.rows++;
      else out.left_out.push_back(done.diag().message);
    }
    return out;
  });
}

Result<CacheTransfer> export_cache(BeamResults& results, const std::string& cache, const std::string& target) {
  return catch_failures([&] {
    std::vector<BeamResult> list = results.list();
    std::string wanted = target.empty() ? "" : parsed(target).name();
    auto is_default = [](const BeamResult& r) {
      Target t = parsed(r.target);
      return parsed(default_target(device_of(t))).name() == t.name();
    };
    std::ranges::stable_sort(list, {}, is_default);  // write the default target last, because it replaces the others
    CacheTransfer out;
    Database db(cache, Database::Mode::Write);
    db.run(std::string("CREATE TABLE IF NOT EXISTS '") + kTable +
           "' (ast blob, amt integer, allow_test_size integer, device text, suffix text, val blob, PRIMARY KEY (ast, "
           "amt, allow_test_size, device, suffix))");
    for (const BeamResult& r : list) {
      if (!wanted.empty() && r.target != wanted) continue;
      CacheDevice device = device_of(parsed(r.target));
      Statement put = db.prepare(std::string("REPLACE INTO '") + kTable +
                                 "' (ast, amt, allow_test_size, device, suffix, val) VALUES (?, ?, ?, ?, ?, ?)");
      put.bind_blob({reinterpret_cast<const char*>(r.key.data()), r.key.size()}).bind(r.width).bind(r.estimate);
      put.bind(device.device).bind(device.suffix).bind_blob(pickled(r.opts)).step();
      out.rows++;
    }
    return out;
  });
}

}  // namespace tgc
