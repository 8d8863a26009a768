#include "worker/duckdb/session.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fstream>

#include <fmt/format.h>
#include <rapidcheck/gtest.h>

#include "worker/duckdb/instance.h"
#include "worker/duckdb/test_support.h"

extern char** environ;

namespace eider::worker::duck {
namespace {

// ---- another process ---------------------------------------------------------------------------------------------

/// Runs as a process of its own, started by OtherProcess: opens the file $EIDER_TEST_FILE, writes `r` (ready) or `h`
/// (held) to standard output's pipe, runs $EIDER_TEST_SQL if there is one, and waits for the end of standard input.
/// With $EIDER_TEST_FILE_BYTES a signal kills it when it writes a file beyond that size.
TEST(OtherProcessHelper, DISABLED_main) {
  const char* file = std::getenv("EIDER_TEST_FILE");
  const char* sql = std::getenv("EIDER_TEST_SQL");
  ASSERT_TRUE(file && sql);
  auto session = Session::open(library_path());
  ASSERT_TRUE(session.ok());
  if (const char* bytes = std::getenv("EIDER_TEST_FILE_BYTES")) {
    const rlimit limit{std::stoul(bytes), RLIM_INFINITY};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_DFL);
  }
  auto connected = (*session)->connect(DatabaseFile{file}, {});
  ASSERT_TRUE(connected.ok()) << connected.error().message;
  const auto say = [](char c) { ASSERT_EQ(write(101, &c, 1), 1); };
  if (connected->held) return say('h');
  if (*sql == '\0') say('r');
  ScriptRequest request;
  request.sql = sql;
  request.run_id = "run-1";
  request.step_id = "build";
  if (*sql != '\0') (void)connected->connection->run(request, [&](std::string_view) { say('r'); });
  char byte = 0;
  (void)!read(100, &byte, 1);
}

class OtherProcess {
 public:
  OtherProcess(const std::string& file, const std::string& sql, std::optional<std::size_t> file_bytes = {}) {
    int in[2], out[2];
    EXPECT_EQ(pipe2(in, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 100);
    posix_spawn_file_actions_adddup2(&actions, out[1], 101);
    std::vector<std::string> texts{"EIDER_TEST_FILE=" + file, "EIDER_TEST_SQL=" + sql};
    if (file_bytes) texts.push_back(fmt::format("EIDER_TEST_FILE_BYTES={}", *file_bytes));
    std::vector<char*> environment;
    for (std::string& text : texts) environment.push_back(text.data());
    for (char** entry = environ; *entry; ++entry) environment.push_back(*entry);
    environment.push_back(nullptr);
    std::string program = "/proc/self/exe", all = "--gtest_also_run_disabled_tests",
                filter = "--gtest_filter=OtherProcessHelper.*", brief = "--gtest_brief=1";
    char* arguments[] = {program.data(), all.data(), filter.data(), brief.data(), nullptr};
    EXPECT_EQ(posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environment.data()), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    to_ = in[1];
    from_ = out[0];
  }
  ~OtherProcess() {
    if (to_ >= 0) finish();
  }
  /// What it said: `r`, `h`, or `e` when it ended without a word.
  char hear() const {
    char said = 'e';
    if (read(from_, &said, 1) != 1) said = 'e';
    return said;
  }
  void kill_now() {
    kill(pid_, SIGKILL);
    finish();
  }
  void finish() {
    close(std::exchange(to_, -1));
    close(from_);
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
};

// ---- library -----------------------------------------------------------------------------------------------------

TEST(Library, says_what_is_missing) {
  const auto absent = Session::open("/nowhere/libduckdb.so");
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, ErrorCode::not_found);
  EXPECT_NE(absent.error().message.find("/nowhere/libduckdb.so"), std::string::npos);
  const auto no_library = Session::open("/proc/self/cmdline");
  ASSERT_FALSE(no_library.ok());
  EXPECT_EQ(no_library.error().code, ErrorCode::invalid);
}

TEST(Library, says_which_function_is_missing) {
  const auto other = Session::open("libc.so.6");
  ASSERT_FALSE(other.ok());
  const auto zlib = Session::open("/lib/x86_64-linux-gnu/libm.so.6");
  ASSERT_FALSE(zlib.ok());
  EXPECT_NE(zlib.error().message.find("duckdb_open_ext"), std::string::npos) << zlib.error().message;
}

// ---- settings and facts ------------------------------------------------------------------------------------------

class SessionTest : public DuckdbTest {};

TEST_F(SessionTest, applies_the_runs_settings) {
  open_session({.threads = 1,
                .memory_bytes = 100 << 20,
                .temp_bytes = 50 << 20,
                .temp_folder = folder_ + "/te'mp",
                .workspace_folder = "",
                .time_zone = "Europe/Brussels"});
  auto connection = connect();
  EXPECT_EQ(value(*connection, "select current_setting('threads')"), "1");
  EXPECT_EQ(value(*connection, "select current_setting('memory_limit')"), "100.0 MiB");
  EXPECT_EQ(value(*connection, "select current_setting('max_temp_directory_size')"), "50.0 MiB");
  EXPECT_EQ(value(*connection, "select right(current_setting('temp_directory'), 6)"), "/te'mp");
  EXPECT_EQ(value(*connection, "select '2026-07-01T00:00:00Z'::timestamptz"), "2026-07-01 02:00:00+02");
}

TEST_F(SessionTest, refuses_settings_that_duckdb_does_not_know) {
  auto opened = Session::open(library_path());
  ASSERT_TRUE(opened.ok());
  SessionOptions options;
  options.time_zone = "Mars/Base'";
  const auto configured = (*opened)->configure(options);
  ASSERT_FALSE(configured.ok());
  EXPECT_NE(configured.error().message.find("Mars/Base"), std::string::npos) << configured.error().message;
}

TEST_F(SessionTest, time_is_utc_and_nothing_is_downloaded_by_default) {
  auto connection = connect();
  EXPECT_EQ(value(*connection, "select current_setting('TimeZone')"), "UTC");
  EXPECT_EQ(value(*connection, "select current_setting('autoinstall_known_extensions')"), "false");
  EXPECT_EQ(value(*connection, "select current_setting('autoload_known_extensions')"), "false");
  EXPECT_EQ(value(*connection, "select current_setting('allow_persistent_secrets')"), "false");
  const auto outcome = run(*connection, script("select 1;\n/* x */ install httpfs"));
  EXPECT_EQ(outcome.kind, ScriptOutcome::Kind::failed);
  EXPECT_NE(outcome.error.find("sql/build.sql:2: INSTALL is refused"), std::string::npos) << outcome.error;
  EXPECT_NE(run(*connection, script("Force /* x */ Install httpfs")).error.find("INSTALL is refused"),
            std::string::npos);
  ScriptRequest checkpoint = script("FORCE CHECKPOINT");
  checkpoint.transactional = false;
  EXPECT_EQ(run(*connection, checkpoint).error, "");
}

TEST_F(SessionTest, facts_are_typed_variables) {
  const Facts facts{{"scheduled_for", "2026-03-29T01:00:00.5Z"},
                    {"params", R"({"a": [1, "x"]})"},
                    {"partition", "2026-03-29"},
                    {"scheduled_until", std::nullopt},
                    {"odd \" name", "1"}};
  auto connection = connect(std::nullopt, facts);
  EXPECT_EQ(value(*connection, "select getvariable('scheduled_for')"), "2026-03-29 01:00:00.5+00");
  EXPECT_EQ(value(*connection, "select typeof(getvariable('scheduled_for'))"), "TIMESTAMP WITH TIME ZONE");
  EXPECT_EQ(value(*connection, "select getvariable('params')->>'$.a[1]'"), "x");
  EXPECT_EQ(value(*connection, "select typeof(getvariable('partition'))"), "VARCHAR");
  EXPECT_EQ(value(*connection, "select getvariable('scheduled_until') is null"), "true");
  EXPECT_EQ(value(*connection, "select getvariable('nothing')"), "NULL");
  EXPECT_EQ(value(*connection, "select getvariable('odd \" name')"), "1");
}

TEST_F(SessionTest, AFactThatARunHasNotIsANullOfItsType) {
  // The first connection is made before the run is known, the second is not.
  const auto first = connect(std::nullopt, {{"scheduled_for", std::nullopt}, {"partition", std::nullopt}});
  const auto second = connect(std::nullopt, {{"scheduled_for", std::nullopt}, {"partition", std::nullopt}});
  for (const auto* connection : {&first, &second}) {
    EXPECT_EQ(value(**connection, "select typeof(getvariable('scheduled_for'))"), "TIMESTAMP WITH TIME ZONE");
    EXPECT_EQ(value(**connection, "select getvariable('scheduled_for')"), "NULL");
    EXPECT_EQ(value(**connection, "select typeof(getvariable('partition'))"), "VARCHAR");
    EXPECT_EQ(value(**connection, "select getvariable('partition')"), "NULL");
  }
}

// What the last run was told is likely, and no more: each run has its own facts and no other.
TEST_F(SessionTest, FactsThatAreLikelyAreThoseOfTheRunOnly) {
  const Facts before{{"pipeline", "a"},   {"trigger", "schedule"}, {"step", "one"},           {"facts", "{}"},
                     {"attempt", "1"},    {"trigger_id", "a/s"},   {"params", R"({"k": 1})"}, {"partition", "x"},
                     {"workspace", "/w"}, {"out_file", "/w/out"},  {"run_id", "run-1"}};
  (void)connect(std::nullopt, before);
  const Facts usual = session_->usual_facts();
  for (const char* own : {"params", "partition", "out_file", "run_id"}) EXPECT_FALSE(usual.contains(own)) << own;
  EXPECT_EQ(usual.at("pipeline"), "a");
  const Facts now{{"pipeline", "b"}, {"trigger", std::nullopt}, {"step", "one"}, {"facts", R"({"n": 2})"}};
  auto opened = Session::open(library_path(), usual);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  auto connected = (*opened)->connect(std::nullopt, now);
  ASSERT_TRUE(connected.ok()) << connected.error().message;
  Connection& connection = *connected->connection;
  EXPECT_EQ(value(connection, "select getvariable('pipeline')"), "b");
  EXPECT_EQ(value(connection, "select getvariable('step')"), "one");
  EXPECT_EQ(value(connection, "select getvariable('facts')->>'n'"), "2");
  for (const char* none :
       {"trigger", "trigger_id", "attempt", "workspace", "params", "partition", "run_id", "out_file"}) {
    EXPECT_EQ(value(connection, fmt::format("select getvariable('{}')", none)), "NULL") << none;
  }
  EXPECT_EQ(value(connection, "select typeof(getvariable('trigger'))"), "VARCHAR");
}

TEST_F(SessionTest, hostile_values_stay_values) {
  const std::vector<std::string> hostile{"'; DROP TABLE x; --",     "\"", "a\nb\r\n", "$1", "\\", "ünï", "",
                                         std::string(1 << 20, '\'')};
  for (const std::string& text : hostile) {
    auto connection = connect(std::nullopt, {{"partition", text}});
    ASSERT_TRUE(connection);
    EXPECT_EQ(value(*connection, "select length(getvariable('partition'))"),
              std::to_string(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; })));
    EXPECT_EQ(value(*connection, "select md5(getvariable('partition')) = md5(" + quote_literal(text) + ") as same"),
              "true");
  }
}

TEST_F(SessionTest, bad_facts_are_refused_with_their_name) {
  const std::vector<std::pair<Facts, std::string>> cases{
      {{{"partition", std::string("a\0b", 3)}}, "NUL"},
      {{{std::string("a\0b", 3), "x"}}, "NUL"},
      {{{"scheduled_for", "yesterday"}}, "scheduled_for"},
      {{{"params", "{no json"}}, "params"},
      {{{"partition", "\xff\xfe"}}, "UTF-8"},
  };
  for (const auto& [facts, word] : cases) {
    const auto connected = session_->connect(std::nullopt, facts);
    ASSERT_FALSE(connected.ok()) << word;
    EXPECT_EQ(connected.error().code, ErrorCode::invalid);
    EXPECT_NE(connected.error().message.find(word), std::string::npos) << connected.error().message;
  }
}

TEST_F(SessionTest, a_quoted_literal_is_the_text_again) {
  auto connection = connect();
  rc::check("quote_literal", [&] {
    const auto bytes = *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
    RC_ASSERT(value(
                  *connection, "select " + quote_literal(bytes) + " = '" + [&] {
                    std::string doubled;
                    for (const char c : bytes) doubled += c == '\'' ? "''" : std::string(1, c);
                    return doubled;
                  }() + "'") == "true");
    RC_ASSERT(value(*connection, "select length(" + quote_literal(bytes) + ")") == std::to_string(bytes.size()));
  });
}

TEST_F(SessionTest, steps_of_a_run_share_memory_and_the_next_run_does_not) {
  auto first = connect(), second = connect();
  EXPECT_EQ(run(*first, script("create table t as select 7 i")).error, "");
  EXPECT_EQ(value(*second, "select i from t"), "7");
  first.reset();
  second.reset();
  open_session({});
  auto other = connect();
  EXPECT_EQ(run(*other, script("from t")).kind, ScriptOutcome::Kind::failed);
}

// ---- the DuckDB file ---------------------------------------------------------------------------------------------

TEST_F(SessionTest, attaches_a_file_for_the_time_of_a_step) {
  const DatabaseFile file{"ware'house \"1\".duckdb"};
  const std::string path = folder_ + "/" + file.path;
  auto connection = connect(file);
  EXPECT_EQ(value(*connection, "select current_catalog()"), "ware'house \"1\"");
  EXPECT_EQ(run(*connection, script("create table t as select 7 i")).error, "");
  EXPECT_EQ(OtherProcess(path, "").hear(), 'h');
  auto beside = connect(file);
  connection.reset();
  EXPECT_EQ(OtherProcess(path, "").hear(), 'h') << "another step still uses it";
  beside.reset();
  EXPECT_FALSE(std::filesystem::exists(path + ".wal"));
  EXPECT_EQ(OtherProcess(path, "").hear(), 'r');
  EXPECT_EQ(value(*connect(file), "select i from t"), "7");
}

TEST_F(SessionTest, says_who_holds_the_file) {
  const std::string path = folder_ + "/a.duckdb";
  OtherProcess other(path, "");
  ASSERT_EQ(other.hear(), 'r');
  for (const bool read_only : {false, true}) {
    const auto connected = session_->connect(DatabaseFile{path, read_only}, {});
    ASSERT_TRUE(connected.ok()) << connected.error().message;
    ASSERT_TRUE(connected->held);
    EXPECT_EQ(connected->held->path, path);
    EXPECT_EQ(connected->held->holder_pid, other.pid());
    EXPECT_FALSE(connected->connection);
  }
  other.finish();
  EXPECT_TRUE(connect(DatabaseFile{path}));
}

TEST_F(SessionTest, read_only_reads_beside_others_and_refuses_writes) {
  const std::string path = folder_ + "/a.duckdb";
  EXPECT_EQ(run(*connect(DatabaseFile{path}), script("create table t as select 7 i")).error, "");
  auto reader = connect(DatabaseFile{path, true});
  auto other = Session::open(library_path());
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(value(*reader, "select i from t"), "7");
  EXPECT_EQ(run(*reader, script("select 1", "run-2")).kind, ScriptOutcome::Kind::succeeded);
  const auto outcome = run(*reader, script("insert into t values (8)"));
  EXPECT_EQ(outcome.kind, ScriptOutcome::Kind::failed);
  EXPECT_NE(outcome.error.find("read-only"), std::string::npos) << outcome.error;
  EXPECT_FALSE(session_->connect(DatabaseFile{path, false}, {}).ok()) << "one mode a run";
}

TEST_F(SessionTest, bad_files_get_a_clear_error) {
  EXPECT_FALSE(session_->connect(DatabaseFile{"absent.duckdb", true}, {}).ok());
  EXPECT_FALSE(session_->connect(DatabaseFile{"no/such/folder/a.duckdb", true}, {}).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/no"));
  for (const bool read_only : {false, true}) {
    const auto asking = session_->connect(DatabaseFile{"what?.duckdb", read_only}, {});
    ASSERT_FALSE(asking.ok());
    EXPECT_NE(asking.error().message.find("what?.duckdb: DuckDB takes"), std::string::npos) << asking.error().message;
  }
  std::FILE* text = std::fopen((folder_ + "/text.duckdb").c_str(), "w");
  std::fputs("this is a text file, longer than the header of a DuckDB file would be", text);
  std::fclose(text);
  const auto connected = session_->connect(DatabaseFile{"text.duckdb"}, {});
  ASSERT_FALSE(connected.ok());
  EXPECT_NE(connected.error().message.find("text.duckdb"), std::string::npos) << connected.error().message;
  const auto in_no_folder = session_->connect(DatabaseFile{"text.duckdb/folder/a.duckdb"}, {});
  ASSERT_FALSE(in_no_folder.ok());
  EXPECT_NE(in_no_folder.error().message.find("Not a directory"), std::string::npos) << in_no_folder.error().message;
}

TEST_F(SessionTest, a_file_is_made_with_the_folders_above_it) {
  EXPECT_EQ(run(*connect(DatabaseFile{"no/such/folder/a.duckdb"}), script("create table t as select 7 i")).error, "");
  EXPECT_EQ(value(*connect(DatabaseFile{"no/such/folder/a.duckdb"}), "select i from t"), "7");
  EXPECT_EQ(names_in("no/such/folder"), std::vector<std::string>{"a.duckdb"});
  std::ofstream(folder_ + "/plain") << "x";
  const auto below = session_->connect(DatabaseFile{"plain/a.duckdb"}, {});
  ASSERT_FALSE(below.ok());
  EXPECT_NE(below.error().message.find("plain/a.duckdb"), std::string::npos) << below.error().message;
}

TEST_F(SessionTest, a_process_killed_while_it_makes_a_file_leaves_none_that_is_torn) {
  for (const std::size_t bytes : {0, 4096, 8192, 12288, 100'000}) {
    std::filesystem::create_directory(folder_ + "/d");
    const std::string path = folder_ + "/d/a.duckdb";
    OtherProcess other(path, "", bytes);
    EXPECT_EQ(other.hear(), 'e') << bytes;
    other.finish();
    EXPECT_FALSE(std::filesystem::exists(path)) << bytes;
    EXPECT_EQ(run(*connect(DatabaseFile{path}), script("create table t as select 7 i")).error, "") << bytes;
    EXPECT_EQ(names_in("d"), std::vector<std::string>{"a.duckdb"}) << "what it left is gone";
    std::filesystem::remove_all(folder_ + "/d");
  }
}

TEST_F(SessionTest, a_new_file_takes_nobodys_place_and_no_log_of_another) {
  // A link to a file that is not there yet.
  std::filesystem::create_directory(folder_ + "/big");
  std::filesystem::create_symlink("big/a.duckdb", folder_ + "/a.duckdb");
  EXPECT_EQ(run(*connect(DatabaseFile{"a.duckdb"}), script("create table t as select 7 i")).error, "");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ + "/a.duckdb"));
  EXPECT_EQ(names_in("big"), std::vector<std::string>{"a.duckdb"});
  EXPECT_EQ(value(*connect(DatabaseFile{"a.duckdb"}), "select i from t"), "7");
  // A log that lies there without its file, and what a live process makes.
  std::ofstream(folder_ + "/big/b.duckdb.wal") << "left by somebody";
  const std::string others = fmt::format(".b.duckdb.{}.new", ::getppid());
  std::ofstream(folder_ + "/big/" + others) << "half";
  EXPECT_EQ(run(*connect(DatabaseFile{"big/b.duckdb"}), script("create table t as select 8 i")).error, "");
  EXPECT_EQ(value(*connect(DatabaseFile{"big/b.duckdb"}), "select i from t"), "8");
  EXPECT_EQ(names_in("big"), (std::vector<std::string>{others, "a.duckdb", "b.duckdb"}));
}

TEST_F(SessionTest, catalogs_of_reserved_or_equal_names_differ) {
  EXPECT_EQ(value(*connect(DatabaseFile{"memory.duckdb"}), "select current_catalog()"), "memory_db");
  std::filesystem::create_directory(folder_ + "/b");
  auto first = connect(DatabaseFile{"a.duckdb"}), second = connect(DatabaseFile{"b/a.duckdb"});
  EXPECT_EQ(value(*first, "select current_catalog()"), "a");
  EXPECT_EQ(value(*second, "select current_catalog()"), "a_2");
}

TEST_F(SessionTest, a_killed_step_leaves_neither_rows_nor_receipt) {
  const std::string path = folder_ + "/a.duckdb";
  EXPECT_EQ(run(*connect(DatabaseFile{path}), script("create table t (i int)", "run-0")).error, "");
  const std::string endless =
      "insert into t values (1); select count(*) from range(1000000000000) where hash(range) = 1";
  OtherProcess other(path, endless);
  ASSERT_EQ(other.hear(), 'r') << "the row is inserted";
  other.kill_now();
  auto connection = connect(DatabaseFile{path});
  EXPECT_EQ(value(*connection, "select count(*) from t"), "0");
  EXPECT_EQ(value(*connection, "select count(*) from _eider_receipts where run_id = 'run-1'"), "0");
  EXPECT_EQ(run(*connection, script("insert into t values (1)")).kind, ScriptOutcome::Kind::succeeded);
}

}  // namespace
}  // namespace eider::worker::duck
