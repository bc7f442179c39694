#include "lib/beam/tinygrad_cache.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "lib/beam/beam.h"
#include "lib/support/pickle.h"
#include "lib/target/target.h"

namespace tgc {

namespace {

// The number is tinygrad 0.12.0's cache version (helpers.py: VERSION).
constexpr const char* kTable = "beam_search_22";

struct CacheDevice {
  std::string device, suffix;
  friend bool operator==(const CacheDevice&, const CacheDevice&) = default;
};

CacheDevice cache_device_of(const Target& target) {
  std::string renderer(name_of(target.renderer));
  return {std::string(target.device), renderer == "PTX" || renderer == "INTEL" ? renderer : ""};
}

Target parse_valid_target(const std::string& text) {
  return std::move(parse_target(text, Settings()).value_or_throw());
}

std::string default_target(const CacheDevice& d) {
  if (d.device == "CPU") return "CPU:CLANG";
  return d.device + (d.suffix.empty() ? "" : ":" + d.suffix);
}

OptTexts unpickle_opt_texts(const std::string& pickled) {
  Graph graph{Settings()};
  auto opts = unpickle_opts(graph, pickled);
  return texts_of_opts(graph, opts.value_or_throw());
}

std::string pickle_opts_text(const std::string& opts) {
  Graph graph{Settings()};
  return pickle_opts(read_opt_list(graph, opts));
}

void import_row(const SqlStatement& row, BeamResults& results, const std::string& target) {
  CacheDevice device{row.text(3), row.text(4)};
  Target wanted = parse_valid_target(target.empty() ? default_target(device) : target);
  if (!(cache_device_of(wanted) == device))
    throw Failure("a row is for " + device.device + (device.suffix.empty() ? "" : ":" + device.suffix) + ", not " +
                  wanted.name());
  BeamResult out{.target = wanted.name(), .device = device_name(wanted.name())};
  std::string key = row.text(0);
  if (key.size() != out.graph_key.size())
    throw Failure("a row's key has " + std::to_string(key.size()) + " bytes, not 32");
  std::memcpy(out.graph_key.data(), key.data(), key.size());
  out.beam_width = row.int_column(1), out.estimate = row.int_column(2);
  out.opts = opts_as_text(unpickle_opt_texts(row.text(5)));
  out.result_origin = "tinygrad's cache";
  results.store_result(out);
}

}  // namespace

Result<CacheTransferResult> import_cache(const std::string& cache, BeamResults& results, const std::string& target) {
  return catch_failures([&] {
    CacheTransferResult out;
    SqliteDatabase db(cache, SqliteDatabase::Mode::Read);
    if (!db.has_table(kTable))
      throw Failure(Diag{.message = std::string("the file has no table ") + kTable, .file = cache,
                         .expected = "a cache of tinygrad 0.12.0 that has seen BEAM"});
    SqlStatement row = db.prepare(std::string("SELECT ast, amt, allow_test_size, device, suffix, val FROM ") + kTable);
    while (row.step()) {
      auto done = catch_failures([&] { return import_row(row, results, target), Unit{}; });
      if (done) out.num_rows++;
      else out.skipped_row_texts.push_back(done.diag().message);
    }
    return out;
  });
}

Result<CacheTransferResult> export_cache(BeamResults& results, const std::string& cache, const std::string& target) {
  return catch_failures([&] {
    std::vector<BeamResult> list = results.all_results();
    std::string wanted = target.empty() ? "" : parse_valid_target(target).name();
    auto is_default = [](const BeamResult& r) {
      Target t = parse_valid_target(r.target);
      return parse_valid_target(default_target(cache_device_of(t))).name() == t.name();
    };
    std::ranges::stable_sort(list, {}, is_default);  // the default target replaces the others
    CacheTransferResult out;
    SqliteDatabase db(cache, SqliteDatabase::Mode::Write);
    db.run(std::string("CREATE TABLE IF NOT EXISTS '") + kTable +
           "' (ast blob, amt integer, allow_test_size integer, device text, suffix text, val blob, PRIMARY KEY (ast, "
           "amt, allow_test_size, device, suffix))");
    for (const BeamResult& r : list) {
      if (!wanted.empty() && r.target != wanted) continue;
      CacheDevice device = cache_device_of(parse_valid_target(r.target));
      SqlStatement put = db.prepare(std::string("REPLACE INTO '") + kTable +
                                    "' (ast, amt, allow_test_size, device, suffix, val) VALUES (?, ?, ?, ?, ?, ?)");
      put.bind_blob({reinterpret_cast<const char*>(r.graph_key.data()), r.graph_key.size()})
          .bind_value(r.beam_width)
          .bind_value(r.estimate);
      put.bind_value(device.device).bind_value(device.suffix).bind_blob(pickle_opts_text(r.opts)).step();
      out.num_rows++;
    }
    return out;
  });
}

namespace {

constexpr std::string_view kModule = "tinygrad.codegen.opt";

// The values of OptOps start at 1.
constexpr OptOps kByValue[] = {OptOps::TC,    OptOps::UPCAST,   OptOps::UNROLL,   OptOps::LOCAL, OptOps::THREAD,
                               OptOps::GROUP, OptOps::GROUPTOP, OptOps::NOLOCALS, OptOps::PADTO, OptOps::SWAP};

int64_t opt_op_value(OptOps op) { return 1 + std::ranges::find(kByValue, op) - std::begin(kByValue); }

class OptPickler {
 public:
  std::string pickle_list(std::span<const Opt> opts) {
    out_ = "]";
    memoize();
    if (opts.size() > 1) out_ += '(';
    for (size_t i = 0; i < opts.size(); i++) {
      auto known = std::find_if(opts.begin(), opts.begin() + long(i), [&](const Opt& o) {
        return o.op == opts[i].op && o.axis == opts[i].axis && o.arg == opts[i].arg;
      });
      size_t at = size_t(known - opts.begin());
      if (at < i) opt_memo_indices_.push_back(opt_memo_indices_[at]), append_memo_get(opt_memo_indices_[at]);
      else append_opt(opts[i]);
    }
    if (!opts.empty()) out_ += opts.size() > 1 ? 'e' : 'a';
    out_ += '.';
    constexpr size_t kLeastFrame = 4;
    std::string frame = out_.size() < kLeastFrame ? "" : "\x95" + little_endian(out_.size(), 8);
    return "\x80\x04" + frame + out_;
  }

 private:
  static std::string little_endian(uint64_t value, size_t bytes) {
    std::string out;
    for (size_t i = 0; i < bytes; i++) out += char(value >> 8 * i & 255);
    return out;
  }
  size_t memoize() { return out_ += '\x94', num_memoized_++; }
  void append_memo_get(size_t index) {
    out_ += index < 256 ? "h" + little_endian(index, 1) : "j" + little_endian(index, 4);
  }

  void append_text(const std::string& s) {
    auto [it, is_new] = text_memo_indices_.emplace(s, num_memoized_);
    if (!is_new) return append_memo_get(it->second);
    out_ += "\x8c" + little_endian(s.size(), 1) + s;
    memoize();
  }
  void append_global(const std::string& name) {
    auto known = global_memo_indices_.find(name);
    if (known != global_memo_indices_.end()) return append_memo_get(known->second);
    append_text(std::string(kModule));
    append_text(name);
    out_ += '\x93';
    global_memo_indices_[name] = memoize();
  }
  void append_number(int64_t n) {
    if (n >= 0 && n < 256) out_ += "K" + little_endian(uint64_t(n), 1);
    else if (n >= 0 && n < 65536) out_ += "M" + little_endian(uint64_t(n), 2);
    else if (n >= INT32_MIN && n <= INT32_MAX) out_ += "J" + little_endian(uint64_t(n), 4);
    else throw Failure("an opt has the number " + std::to_string(n) + ", which does not fit 32 bits");
  }
  void arg(Arg a) {
    if (a.is_none()) out_ += 'N';
    else if (a.is_integral()) append_number(a.as_int().int64_or_throw("the arg of an Opt"));
    else if (a.is_tuple() && a.items().size() == 3) {
      for (Arg item : a.items()) arg(item);
      out_ += '\x87';
      memoize();
    } else throw Failure("an opt has the arg " + a.repr());
  }
  void append_opt(const Opt& opt) {
    append_global("Opt");
    out_ += ")\x81";
    opt_memo_indices_.push_back(memoize());
    out_ += '}';
    memoize();
    out_ += '(';
    append_text("op");
    if (auto known = op_memo_indices_.find(opt.op); known != op_memo_indices_.end()) {
      append_memo_get(known->second);
    } else {
      append_global("OptOps");
      append_number(opt_op_value(opt.op));
      out_ += '\x85';
      memoize();
      out_ += 'R';
      op_memo_indices_[opt.op] = memoize();
    }
    append_text("axis");
    if (opt.axis) append_number(*opt.axis);
    else out_ += 'N';
    append_text("arg");
    arg(opt.arg);
    out_ += "ub";
  }

  std::string out_;
  size_t num_memoized_ = 0;
  std::map<std::string, size_t> text_memo_indices_, global_memo_indices_;
  std::map<OptOps, size_t> op_memo_indices_;
  std::vector<size_t> opt_memo_indices_;
};

bool is_opt_name(std::string_view module, std::string_view name) {
  return module == kModule && (name == "Opt" || name == "OptOps");
}

[[noreturn]] void throw_bad_pickle(const std::string& what) {
  throw Failure(Diag{.message = "a pickle: " + what, .expected = "a list of Opts"});
}

Arg read_arg(Graph& graph, const PickleValue& v) {
  if (v.is_none()) return {};
  if (v.kind() == Pickle::Number && v.int_value()) return *v.int_value();
  if (v.kind() != Pickle::Tuple) throw_bad_pickle("an Opt's arg is no number and no tuple");
  std::vector<Arg> items;
  for (size_t i = 0; i < v.size(); i++) {
    if (v[i].kind() != Pickle::Number || !v[i].int_value()) throw_bad_pickle("a tuple of something else than numbers");
    items.push_back(*v[i].int_value());
  }
  return graph.tuple(items);
}

OptOps read_opt_op(const PickleValue& v) {
  if (v.class_name() != "OptOps" || v.size() != 1) throw_bad_pickle("an Opt's op is no OptOps");
  if (v[0].kind() == Pickle::Text) {
    auto op = parse_opt_op(v[0].text());
    if (!op) throw_bad_pickle("there is no OptOps." + std::string(v[0].text()));
    return *op;
  }
  if (v[0].kind() != Pickle::Number) throw_bad_pickle("an Opt's op is no OptOps");
  int64_t n = v[0].int_value().value_or(0);
  if (n < 1 || n > int64_t(std::size(kByValue))) throw_bad_pickle("no OptOps has the value " + std::to_string(n));
  return kByValue[n - 1];
}

Opt read_opt(Graph& graph, const PickleValue& v) {
  if (v.class_name() != "Opt") throw_bad_pickle("the list holds something else than Opts");
  auto op = v.find("op"), axis = v.find("axis"), arg = v.find("arg");
  if (!op || !axis || !arg) throw_bad_pickle("an Opt without op, axis and arg");
  if (!axis->is_none() && (axis->kind() != Pickle::Number || !axis->int_value()))
    throw_bad_pickle("an axis that is no number");
  Opt made{read_opt_op(*op), {}, read_arg(graph, *arg)};
  if (!axis->is_none()) made.axis = *axis->int_value();
  return made;
}

}  // namespace

std::string pickle_opts(std::span<const Opt> opts) { return OptPickler().pickle_list(opts); }

Result<std::vector<Opt>> unpickle_opts(Graph& graph, std::string_view bytes) {
  return catch_failures([&] {
    constexpr size_t kMost = 1 << 20;
    if (bytes.size() > kMost) throw_bad_pickle("it is too long");
    Pickle pickle = Pickle::read(std::string(bytes), is_opt_name, "a list of Opts").value_or_throw();
    PickleValue list = pickle.root();
    if (list.kind() != Pickle::List) throw_bad_pickle("it is no list");
    std::vector<Opt> out;
    for (size_t i = 0; i < list.size(); i++) out.push_back(read_opt(graph, list[i]));
    return out;
  });
}

}  // namespace tgc
