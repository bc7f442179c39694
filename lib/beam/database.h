// A minimal SQLite interface. Functions throw Failure on errors.
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

class SqliteDatabase;

// The bind functions set the parameters in order; columns are numbered from 0.
class SqlStatement {
 public:
  SqlStatement& bind_value(int64_t value);
  SqlStatement& bind_value(double value);
  SqlStatement& bind_value(std::string_view text);
  SqlStatement& bind_blob(std::string_view bytes);
  SqlStatement& bind_null();

  bool step();
  int64_t int_column(int column) const;
  double real_column(int column) const;
  std::optional<double> optional_real_column(int column) const;
  std::string text(int column) const;  // returns text, or the bytes of a blob

 private:
  friend class SqliteDatabase;
  SqlStatement(SqliteDatabase& database, std::string_view sql);
  void check_status(int code);

  SqliteDatabase& database_;
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> handle_;
  int bound_index_ = 0;
};

class SqliteDatabase {
 public:
  // Read: statements cannot change the file, but SQLite may roll back the transaction of a killed process. Write:
  // creates the file if it is missing.
  enum class Mode : uint8_t { Read, Write };
  SqliteDatabase(const std::string& path, Mode mode);

  SqlStatement prepare(std::string_view sql) { return {*this, sql}; }
  void run(std::string_view sql) { prepare(sql).step(); }
  bool has_table(std::string_view name);
  const std::string& path() const { return path_; }

 private:
  friend class SqlStatement;
  [[noreturn]] void throw_error();

  std::string path_;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> handle_;
};

// The destructor rolls back unless commit() was called.
class SqlTransaction {
 public:
  explicit SqlTransaction(SqliteDatabase& database) : database_(&database) { database.run("BEGIN IMMEDIATE"); }
  SqlTransaction(const SqlTransaction&) = delete;
  ~SqlTransaction() {
    if (database_) (void)catch_failures([&] { return database_->run("ROLLBACK"), Unit{}; });
  }
  void commit() { std::exchange(database_, nullptr)->run("COMMIT"); }

 private:
  SqliteDatabase* database_;
};

}  // namespace tgc
