// A minimal SQLite interface. Functions throw Failure.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/support/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tgc {

class Database;

// bind() sets the parameters in order; columns are numbered from 0.
class Statement {
 public:
  Statement& bind(int64_t value);
  Statement& bind(double value);
  Statement& bind(std::string_view text);
  Statement& bind_blob(std::string_view bytes);
  Statement& bind_null();

  bool step();
  int64_t integer(int column) const;
  double real(int column) const;
  std::optional<double> optional_real(int column) const;
  std::string text(int column) const;  // text, or the bytes of a blob

 private:
  friend class Database;
  Statement(Database& database, std::string_view sql);
  void check_status(int code);

  Database& database_;
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> handle_;
  int bound_index_ = 0;
};

class Database {
 public:
  // Read: statements cannot change the file, but SQLite may roll back the transaction of a killed process. Write:
  // creates the file if it is missing.
  enum class Mode : uint8_t { Read, Write };
  Database(const std::string& path, Mode mode);

  Statement prepare(std::string_view sql) { return {*this, sql}; }
  void run(std::string_view sql) { prepare(sql).step(); }
  bool has_table(std::string_view name);
  const std::string& path() const { return path_; }

 private:
  friend class Statement;
  [[noreturn]] void throw_error();

  std::string path_;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> handle_;
};

// The destructor rolls back unless commit() was called.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(&database) { database.run("BEGIN IMMEDIATE"); }
  Transaction(const Transaction&) = delete;
  ~Transaction() {
    if (database_) (void)catch_failures([&] { return database_->run("ROLLBACK"), Unit{}; });
  }
  void commit() { std::exchange(database_, nullptr)->run("COMMIT"); }

 private:
  Database* database_;
};

}  // namespace tgc
