#include "lib/beam/database.h"

#include <sqlite3.h>

namespace tgc {

SqliteDatabase::SqliteDatabase(const std::string& path, Mode mode) : path_(path), handle_(nullptr, sqlite3_close) {
  sqlite3* opened = nullptr;
  // request writing for Mode::Read, too: SQLite falls back to reading if the file is not writable
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | (mode == Mode::Write ? SQLITE_OPEN_CREATE : 0);
  int code = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
  handle_.reset(opened);
  if (code != SQLITE_OK) throw_error();
  sqlite3_busy_timeout(opened, 10'000);  // milliseconds
  sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, 1 << 26);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  if (mode == Mode::Read) run("PRAGMA query_only = ON");
}

void SqliteDatabase::throw_error() {
  throw Failure(Diag{.message = std::string("SQLite: ") + (handle_ ? sqlite3_errmsg(handle_.get()) : "out of memory"),
                     .file = path_});
}

bool SqliteDatabase::has_table(std::string_view name) {
  if (!prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").bind_value(name).step()) return false;
  // a generated column would evaluate an expression that the file contains
  if (prepare("SELECT 1 FROM pragma_table_xinfo(?) WHERE hidden != 0").bind_value(name).step())
    throw Failure(Diag{.message = "the table '" + std::string(name) + "' has generated columns", .file = path_});
  return true;
}

SqlStatement::SqlStatement(SqliteDatabase& database, std::string_view sql)
    : database_(database), handle_(nullptr, sqlite3_finalize) {
  sqlite3_stmt* made = nullptr;
  check_status(sqlite3_prepare_v2(database.handle_.get(), sql.data(), int(sql.size()), &made, nullptr));
  handle_.reset(made);
}

void SqlStatement::check_status(int code) {
  if (code != SQLITE_OK) database_.throw_error();
}

SqlStatement& SqlStatement::bind_value(int64_t value) {
  check_status(sqlite3_bind_int64(handle_.get(), ++bound_index_, value));
  return *this;
}
SqlStatement& SqlStatement::bind_value(double value) {
  check_status(sqlite3_bind_double(handle_.get(), ++bound_index_, value));
  return *this;
}
SqlStatement& SqlStatement::bind_value(std::string_view text) {
  check_status(sqlite3_bind_text(handle_.get(), ++bound_index_, text.data(), int(text.size()), SQLITE_TRANSIENT));
  return *this;
}
SqlStatement& SqlStatement::bind_blob(std::string_view bytes) {
  check_status(sqlite3_bind_blob(handle_.get(), ++bound_index_, bytes.data(), int(bytes.size()), SQLITE_TRANSIENT));
  return *this;
}
SqlStatement& SqlStatement::bind_null() {
  check_status(sqlite3_bind_null(handle_.get(), ++bound_index_));
  return *this;
}

bool SqlStatement::step() {
  int code = sqlite3_step(handle_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) database_.throw_error();
  return code == SQLITE_ROW;
}

int64_t SqlStatement::int_column(int column) const { return sqlite3_column_int64(handle_.get(), column); }
double SqlStatement::real_column(int column) const { return sqlite3_column_double(handle_.get(), column); }
std::optional<double> SqlStatement::optional_real_column(int column) const {
  if (sqlite3_column_type(handle_.get(), column) == SQLITE_NULL) return std::nullopt;
  return real_column(column);
}
std::string SqlStatement::text(int column) const {
  auto* bytes = static_cast<const char*>(sqlite3_column_blob(handle_.get(), column));
  return bytes ? std::string(bytes, size_t(sqlite3_column_bytes(handle_.get(), column))) : std::string();
}

}  // namespace tgc
