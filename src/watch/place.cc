#include "watch/place.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <cerrno>
#include <csignal>
#include <unordered_set>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/fd.h"
#include "base/log.h"
#include "base/utf8.h"
#include "model/glob.h"

namespace eider::watch {

Place::Place(model::ExternalAsset asset, const std::string& root)
    : asset_(std::move(asset)),
      path_(asset_.watch.starts_with('/') ? asset_.watch : root + "/" + asset_.watch),
      settling_(asset_.settle) {}

bool Place::is_meant(const std::string& file) {
  if (!model::file_matches(asset_.files, file)) return false;
  if (is_utf8(file)) return true;
  if (!std::exchange(said_not_utf8_, true)) {
    log::warning(fmt::format("{}: the name of the file {} is not valid UTF-8: such files are left out", asset_.name,
                             made_utf8(path_ + "/" + file)));
  }
  return false;
}

void Place::created(const std::string& file, Micros now) {
  // A program that writes it closes it, and then it has landed. A link to a file that is whole is never closed.
  if (is_meant(file) && identity_of(file) && writer_of(file) == Writer::no) settling_.landed(file, now);
}

void Place::landed(const std::string& file, Micros now) {
  if (is_meant(file)) settling_.landed(file, now);
}

void Place::written(const std::string& file) { settling_.written(file); }

void Place::gone(const std::string& file) {
  settling_.gone(file);
  told_.erase(file);
}

void Place::forget() {
  settling_ = Settling(asset_.settle);
  told_.clear();
}

Result<void> Place::scan(Micros now) {
  DIR* folder = ::opendir(path_.c_str());
  if (folder == nullptr) return io_error(path_, errno);
  std::unordered_set<std::string> there;
  while (const dirent* entry = ::readdir(folder)) {
    if (is_meant(entry->d_name)) there.insert(entry->d_name);
  }
  ::closedir(folder);
  std::erase_if(told_, [&](const auto& told) { return !there.contains(told.first); });
  settling_ = Settling(asset_.settle);
  for (const std::string& file : there) settling_.landed(file, now);
  return {};
}

std::optional<Place::Identity> Place::identity_of(const std::string& file) const {
  struct stat info {};
  if (::lstat((path_ + "/" + file).c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  constexpr std::int64_t second = 1'000'000'000;
  return Identity{info.st_ino, info.st_size, info.st_mtim.tv_sec * second + info.st_mtim.tv_nsec};
}

/// The kernel grants a read lease on a file only while nobody has it open to write. Not known: the file is another
/// user's, or its file system has no leases.
Place::Writer Place::writer_of(const std::string& file) const {
  const UniqueFd opened(
      ::open((path_ + "/" + file).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  // Who opens it to write meanwhile breaks the lease, and we are told with a signal: one that is ignored by default.
  if (!opened || ::fcntl(opened.get(), F_SETSIG, SIGURG) != 0) return Writer::unknown;
  if (::fcntl(opened.get(), F_SETLEASE, F_RDLCK) == 0) {
    ::fcntl(opened.get(), F_SETLEASE, F_UNLCK);
    return Writer::no;
  }
  return errno == EAGAIN ? Writer::yes : Writer::unknown;
}

std::vector<Place::Whole> Place::take(Micros now, std::size_t limit) {
  std::vector<Whole> out;
  for (std::string& file : settling_.take(now, limit)) {
    // Whoever writes it still will close it, and that is told.
    const auto identity = identity_of(file);
    if (!identity || writer_of(file) == Writer::yes) continue;
    const auto [told, is_new] = told_.try_emplace(file, *identity);
    if (!is_new && std::exchange(told->second, *identity) == *identity) continue;
    out.push_back({std::move(file), *identity});
  }
  return out;
}

void Place::put_back(const Whole& whole, Micros at) {
  const auto told = told_.find(whole.file);
  // Else there is a newer one, or none.
  if (told == told_.end() || told->second != whole.identity) return;
  told_.erase(told);
  settling_.landed(whole.file, at - asset_.settle);
}

engine::Materialize Place::command_for(const Whole& whole) const {
  const std::string file = asset_.watch + "/" + whole.file;
  engine::Materialize command;
  command.asset = asset_.name;
  command.metadata = boost::json::serialize(boost::json::object{{"file", file}, {"bytes", whole.identity.size_bytes}});
  command.bytes = whole.identity.size_bytes;
  command.idempotency_key = fmt::format("file {} {} {} {}", file, whole.identity.inode, whole.identity.size_bytes,
                                        whole.identity.modified_ns);
  command.source = model::Source::watched;
  command.asked_by = asset_.watch;
  return command;
}

}  // namespace eider::watch
