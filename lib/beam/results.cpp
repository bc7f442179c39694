#include "lib/beam/results.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/compile/cache.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"

namespace tgc {

namespace {

constexpr int64_t kVersion = 1;
constexpr const char* kColumns =
    "key, kernel, target, device, width, estimate, opts, seconds, before, reference, made";

std::string_view key_bytes(const Sha256& key) { return {reinterpret_cast<const char*>(key.data()), key.size()}; }

BeamResult result_of_row(const SqlStatement& row) {
  BeamResult out{.kernel = row.text(1), .target = row.text(2), .device = row.text(3)};
  std::string key = row.text(0);
  std::memcpy(out.graph_key.data(), key.data(), std::min(key.size(), out.graph_key.size()));
  out.beam_width = row.int_column(4), out.estimate = row.int_column(5);
  out.opts = row.text(6);
  out.kernel_seconds = row.real_column(7), out.hand_coded_seconds = row.optional_real_column(8);
  out.result_origin = row.text(9), out.stored_time_utc = row.text(10);
  if (std::string measured = row.text(11); !measured.empty()) out.measured_json = std::move(measured);
  return out;
}

constexpr const char* kSameSearch = "key = ? AND target = ? AND device = ? AND width = ?";
SqlStatement& bind_search(SqlStatement& s, const Sha256& key, const std::string& target, const std::string& device,
                          int64_t width) {
  return s.bind_blob(key_bytes(key)).bind_value(target).bind_value(device).bind_value(width);
}

}  // namespace

BeamResult BeamResult::from_log(const BeamLog& log) {
  return {.graph_key = log.key,
          .kernel = log.kernel,
          .target = log.target,
          .device = log.device,
          .beam_width = log.beam_width,
          .estimate = log.estimate,
          .opts = opts_as_text(log.opts),
          .kernel_seconds = log.kernel_seconds,
          .hand_coded_seconds = log.hand_coded_seconds,
          .result_origin = log.result_origin,
          .stored_time_utc = "",
          .measured_json = log.was_interrupted ? std::optional(measurements_json(log)) : std::nullopt};
}

std::string BeamResults::default_path() {
  const char* own = std::getenv("TGC_BEAM_DB");
  return own && *own ? own : (CompileCache::shared_cache().folder() / "beam.db").string();
}

BeamResults::BeamResults(const std::string& path, SqliteDatabase::Mode mode)
    : database_([&] {
        std::error_code ignored;
        if (auto folder = std::filesystem::path(path).parent_path();
            mode == SqliteDatabase::Mode::Write && !folder.empty())
          std::filesystem::create_directories(folder, ignored);
        return SqliteDatabase(path, mode);
      }()) {
  // a killed or concurrent process leaves all tables or none
  std::optional<SqlTransaction> all;
  if (mode == SqliteDatabase::Mode::Write) all.emplace(database_);
  bool is_there = database_.has_table("results");
  SqlStatement version = database_.prepare("PRAGMA user_version");
  int64_t found = version.step() ? version.int_column(0) : 0;
  if (is_there ? found != kVersion : found != 0 || !all)
    throw Failure(Diag{.message = "no file of results", .file = path, .expected = "a file that `tgc beam` wrote"});
  if (!all) return;
  database_.run(
      "CREATE TABLE IF NOT EXISTS interrupted (key BLOB, target TEXT, device TEXT, width INTEGER, measured TEXT, "
      "PRIMARY KEY (key, target, device, width))");
  if (!is_there) {
    database_.run(
        "CREATE TABLE results (key BLOB, kernel TEXT, target TEXT, device TEXT, width INTEGER, estimate INTEGER, opts "
        "TEXT, seconds REAL, before REAL, reference TEXT, made TEXT, PRIMARY KEY (key, target, device, width))");
    database_.run("PRAGMA user_version = " + std::to_string(kVersion));
  }
  all->commit();
}

std::string BeamResults::select_query(const char* rest) {
  // files that older versions of tgc wrote lack the table
  std::string measured = database_.has_table("interrupted")
                             ? "(SELECT measured FROM interrupted i WHERE i.key = results.key AND i.target = "
                               "results.target AND i.device = results.device AND i.width = results.width)"
                             : "NULL";
  return std::string("SELECT ") + kColumns + ", " + measured + " FROM results " + rest;
}

void BeamResults::store_result(const BeamResult& r) {
  SqlTransaction all(database_);
  auto known = result_of_search(r.graph_key, r.target, r.device, r.beam_width);
  bool is_complete = !r.measured_json || (known && known->kernel_seconds > 0 && !known->measured_json);
  SqlStatement s = database_.prepare(
      std::string("INSERT INTO results (") + kColumns +
      ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, coalesce(?, datetime('now'))) ON CONFLICT DO UPDATE SET kernel = "
      "excluded.kernel, estimate = excluded.estimate, opts = excluded.opts, seconds = excluded.seconds, before = "
      "excluded.before, reference = excluded.reference, made = excluded.made WHERE seconds = 0 OR (excluded.seconds > "
      "0 AND excluded.seconds < seconds)");
  s.bind_blob(key_bytes(r.graph_key))
      .bind_value(r.kernel)
      .bind_value(r.target)
      .bind_value(r.device)
      .bind_value(r.beam_width)
      .bind_value(r.estimate);
  s.bind_value(r.opts).bind_value(r.kernel_seconds);
  if (r.hand_coded_seconds) s.bind_value(*r.hand_coded_seconds);
  else s.bind_null();
  s.bind_value(r.result_origin);
  if (r.stored_time_utc.empty()) s.bind_null();
  else s.bind_value(r.stored_time_utc);
  s.step();
  SqlStatement interrupted = database_.prepare(
      is_complete ? std::string("DELETE FROM interrupted WHERE ") + kSameSearch
                  : "INSERT OR REPLACE INTO interrupted (key, target, device, width, measured) VALUES (?, ?, ?, ?, ?)");
  bind_search(interrupted, r.graph_key, r.target, r.device, r.beam_width);
  if (!is_complete) interrupted.bind_value(*r.measured_json);
  interrupted.step();
  all.commit();
}

std::optional<BeamResult> BeamResults::find_result(const Sha256& key, const std::string& target,
                                                   const std::string& device, int64_t width) {
  SqlStatement s = database_.prepare(select_query("WHERE key = ? AND target = ? AND device = ? AND width >= ? "
                                                  "ORDER BY seconds = 0, seconds, width LIMIT 1"));
  if (!bind_search(s, key, target, device, width).step()) return std::nullopt;
  return result_of_row(s);
}

std::optional<BeamResult> BeamResults::result_of_search(const Sha256& key, const std::string& target,
                                                        const std::string& device, int64_t width) {
  SqlStatement s = database_.prepare(select_query((std::string("WHERE ") + kSameSearch).c_str()));
  if (!bind_search(s, key, target, device, width).step()) return std::nullopt;
  return result_of_row(s);
}

std::vector<BeamResult> BeamResults::all_results() {
  std::vector<BeamResult> out;
  SqlStatement s = database_.prepare(select_query("ORDER BY target, device, kernel, width"));
  while (s.step()) out.push_back(result_of_row(s));
  return out;
}

size_t BeamResults::remove_results(const std::string& what) {
  SqlTransaction all(database_);
  SqlStatement s = database_.prepare("DELETE FROM results WHERE kernel = ?1 OR target = ?1 OR (length(?1) >= 8 AND "
                                     "substr(lower(hex(key)), 1, length(?1)) = lower(?1)) RETURNING 1");
  s.bind_value(what);
  size_t out = 0;
  while (s.step()) out++;
  database_.run(
      "DELETE FROM interrupted WHERE NOT EXISTS (SELECT 1 FROM results r WHERE r.key = interrupted.key AND r.target = "
      "interrupted.target AND r.device = interrupted.device AND r.width = interrupted.width)");
  all.commit();
  return out;
}

Status merge_results(const std::vector<std::string>& from, const std::string& to) {
  return catch_failures([&] {
    BeamResults out(to, SqliteDatabase::Mode::Write);
    for (const std::string& path : from)
      for (const BeamResult& r : BeamResults(path, SqliteDatabase::Mode::Read).all_results()) out.store_result(r);
    return Unit{};
  });
}

std::string results_text(const std::vector<BeamResult>& results) {
  std::string out;
  for (const BeamResult& r : results) {
    const bool has_ratio = r.hand_coded_seconds && r.kernel_seconds > 0;
    std::string faster = has_ratio ? std::to_string(*r.hand_coded_seconds / r.kernel_seconds).substr(0, 4) : "-";
    std::string seconds = r.kernel_seconds > 0 ? seconds_text(r.kernel_seconds) : "-";
    out += sha256_hex(r.graph_key).substr(0, 12) + "  " + r.kernel + "  " + r.target +
           "  BEAM=" + std::to_string(r.beam_width);
    out += "  " + seconds + "  x" + faster + "  " + r.stored_time_utc + "  " + r.device;
    out += std::string(r.measured_json ? "  interrupted" : "") + "\n  " + r.opts + "\n";
  }
  return out + count_text(results.size(), "result") + "\n";
}

std::string results_json(const std::vector<BeamResult>& results) {
  return json_object([&](JsonWriter& json) {
    json.key("results").array([&] {
      for (const BeamResult& r : results)
        json.start_line().object([&] {
          json.member("key", sha256_hex(r.graph_key)).member("kernel", r.kernel).member("target", r.target);
          json.member("device", r.device).member("width", r.beam_width).member("opts", r.opts);
          json.member("seconds", r.kernel_seconds)
              .member("before", r.hand_coded_seconds)
              .member("reference", r.result_origin);
          json.member("made", r.stored_time_utc).member("interrupted", r.measured_json.has_value());
        });
    });
  }) + "\n";
}

namespace {

using nlohmann::json;

CandidateOutcome parse_outcome(const std::string& name) {
  for (size_t i = 0; i < kNumOutcomes; i++)
    if (name_of(CandidateOutcome(i)) == name) return CandidateOutcome(i);
  throw Failure("unknown outcome of a candidate: '" + name + "'");
}

}  // namespace

std::string measurements_json(const BeamLog& log) {
  json out = json::array();
  for (const RoundLog& round : log.rounds)
    for (const CandidateLog& c : round.candidates)
      if (c.outcome != CandidateOutcome::Unknown)
        out.push_back({{"opts", c.opts},
                       {"fate", name_of(c.outcome)},
                       {"seconds", c.fastest_seconds},
                       {"why", c.failure_reason},
                       {"ops", c.num_operations},
                       {"code", c.code_digest}});
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

MeasuredCandidates read_measurements(std::string_view text) {
  MeasuredCandidates out;
  try {
    for (const json& c : json::parse(text)) {
      CandidateLog log{.opts = c.at("opts").get<OptTexts>(), .outcome = parse_outcome(c.at("fate").get<std::string>())};
      log.fastest_seconds = c.at("seconds").get<double>(), log.failure_reason = c.at("why").get<std::string>();
      log.num_operations = c.at("ops").get<double>(), log.code_digest = c.at("code").get<std::string>();
      out[opts_as_text(log.opts)] = std::move(log);
    }
  } catch (const json::exception& e) {
    throw Failure(std::string("cannot read the measurements of an interrupted search: ") + e.what());
  }
  return out;
}

}  // namespace tgc
