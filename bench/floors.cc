#include "bench/floors.h"

#include <fcntl.h>
#include <spawn.h>
#include <sqlite3.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "base/check.h"

extern "C" char** environ;

namespace eider::bench {
namespace {

std::int64_t read_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

/// Milliseconds since `due` on the wall clock.
double late(Instant due) { return static_cast<double>(read_ns(CLOCK_REALTIME) - to_us(due) * 1000) / 1e6; }

pid_t start_true() {
  static char program[] = "/bin/true";
  char* argv[] = {program, nullptr};
  pid_t pid = 0;
  EIDER_CHECK(posix_spawn(&pid, program, nullptr, nullptr, argv, environ) == 0, "/bin/true can be started");
  return pid;
}

}  // namespace

double monotonic_ms() { return static_cast<double>(read_ns(CLOCK_MONOTONIC)) / 1e6; }

BareTimer::BareTimer() : fd_(timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC)) { EIDER_CHECK(fd_ >= 0, "timerfd_create"); }
BareTimer::~BareTimer() { close(fd_); }

double BareTimer::wait(Instant at) const {
  itimerspec when{};
  when.it_value.tv_sec = to_us(at) / 1'000'000;
  when.it_value.tv_nsec = to_us(at) % 1'000'000 * 1000;
  timerfd_settime(fd_, TFD_TIMER_ABSTIME, &when, nullptr);
  std::uint64_t fired = 0;
  while (read(fd_, &fired, sizeof fired) < 0 && errno == EINTR) {
  }
  return late(at);
}

Result<std::unique_ptr<BareStore>> BareStore::open(const std::string& folder) {
  // As in the server (store/sqlite/connection.cc). It holds for the whole process, which measures the store as well,
  // and only where no connection was opened before.
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  std::unique_ptr<BareStore> store(new BareStore);
  store->path_ = folder + "/floor.db";
  for (const char* end : {"", "-wal", "-shm"}) std::remove((store->path_ + end).c_str());
  const bool ready =
      sqlite3_open(store->path_.c_str(), &store->db_) == SQLITE_OK &&
      sqlite3_exec(
          store->db_,
          "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE rows (n INTEGER PRIMARY KEY, text TEXT)",
          nullptr, nullptr, nullptr) == SQLITE_OK &&
      sqlite3_prepare_v2(store->db_, "INSERT INTO rows (text) VALUES ('one row of a bare store')", -1, &store->insert_,
                         nullptr) == SQLITE_OK;
  if (!ready) return Error{ErrorCode::io, store->path_ + ": " + sqlite3_errmsg(store->db_)};
  return store;
}

BareStore::~BareStore() {
  sqlite3_finalize(insert_);
  sqlite3_close(db_);
  for (const char* end : {"", "-wal", "-shm"}) std::remove((path_ + end).c_str());
}

double BareStore::commit() {
  const double from = monotonic_ms();
  EIDER_CHECK(sqlite3_step(insert_) == SQLITE_DONE, "a bare commit");
  sqlite3_reset(insert_);
  return monotonic_ms() - from;
}

double BareStore::commits_per_second(double seconds) {
  const double from = monotonic_ms();
  int count = 0;
  while (monotonic_ms() - from < seconds * 1000) {
    commit();
    ++count;
  }
  return count / (monotonic_ms() - from) * 1000;
}

double bare_spawn() {
  const double from = monotonic_ms();
  const pid_t pid = start_true();
  const double took = monotonic_ms() - from;
  waitpid(pid, nullptr, 0);
  return took;
}

double spawns_per_second(int at_once, double seconds) {
  const double from = monotonic_ms();
  std::vector<int> counts(static_cast<std::size_t>(at_once));
  {
    std::vector<std::jthread> threads;
    threads.reserve(counts.size());
    for (int& count : counts) {
      threads.emplace_back([&count, from, seconds] {
        for (; monotonic_ms() - from < seconds * 1000; ++count) waitpid(start_true(), nullptr, 0);
      });
    }
  }
  double sum = 0;
  for (const int count : counts) sum += count;
  return sum / (monotonic_ms() - from) * 1000;
}

std::vector<double> sync_times(const std::string& folder, int count) {
  const std::string path = folder + "/sync.tmp";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  EIDER_CHECK(fd >= 0, "a file in the scratch folder can be made");
  const std::string page(4096, 'x');
  std::vector<double> out;
  for (int i = 0; i < count; ++i) {
    EIDER_CHECK(pwrite(fd, page.data(), page.size(), 0) == 4096, "a page can be written");
    const double from = monotonic_ms();
    fdatasync(fd);
    out.push_back(monotonic_ms() - from);
  }
  close(fd);
  std::remove(path.c_str());
  return out;
}

FloorTimes floor_times(BareStore& store, Instant from, Instant to, Micros every) {
  const BareTimer timer;
  FloorTimes out;
  for (Instant at = from; at < to;) {
    out.timer.push_back(timer.wait(at));
    store.commit();
    out.commit.push_back(late(at));
    const pid_t pid = start_true();
    out.started.push_back(late(at));
    waitpid(pid, nullptr, 0);
    // An instant that has passed meanwhile is left out: the floor is what each costs, not what a queue of them costs.
    do at += every;
    while (late(at) > 0);
  }
  return out;
}

}  // namespace eider::bench
