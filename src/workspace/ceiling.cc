#include "workspace/ceiling.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/fd.h"
#include "workspace/assemble.h"
#include "workspace/keys.h"

namespace eider::workspace {
namespace {

constexpr std::size_t kMostBytes = 1024 * 1024;

Error problem(ErrorCode code, std::string_view what) { return Error{code, std::string(what)}; }

Result<std::string> read_guarded(const std::string& file) {
  const UniqueFd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!opened) {
    const int why = errno;
    return problem(why == ENOENT || why == ENOTDIR ? ErrorCode::not_found : ErrorCode::io,
                   fmt::format("can't be read: {}", std::strerror(why)));
  }
  struct stat about {};
  if (::fstat(opened.get(), &about) != 0) return problem(ErrorCode::io, "can't be looked at");
  if (!S_ISREG(about.st_mode)) return problem(ErrorCode::invalid, "is not a plain file");
  if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return problem(ErrorCode::invalid, fmt::format("may be written by others than its owner, so it bounds nobody; "
                                                   "`chmod go-w {}`",
                                                   file));
  }
  if (static_cast<std::size_t>(about.st_size) > kMostBytes) return problem(ErrorCode::refused, "is larger than 1 MiB");
  std::string text(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t part = ::read(opened.get(), text.data() + got, text.size() - got);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) break;
    got += static_cast<std::size_t>(part);
  }
  text.resize(got);
  return text;
}

}  // namespace

std::optional<Ceiling> load_ceiling(const std::string& asked, const Environment& environment,
                                    std::vector<Diagnostic>& found) {
  Ceiling ceiling;
  const std::string named = asked.empty() ? environment("EIDER_CEILING").value_or("") : asked;
  const std::string file = named.empty() ? default_ceiling_file : named;
  const auto text = read_guarded(file);
  if (!text && text.error().code == ErrorCode::not_found && named.empty()) return ceiling;
  ceiling.file = file;
  Complaints complaints(file, text ? std::string_view(*text) : std::string_view());
  if (!text) {
    complaints.add(Severity::error, {}, "", text.error().message);
  } else {
    auto parsed = YamlTree::parse(*text);
    if (const auto* tree = std::get_if<YamlTree>(&parsed)) {
      Reader(environment, complaints).read(ceiling_section(), tree->root(), &ceiling);
    } else {
      auto& wrong = std::get<YamlProblem>(parsed);
      complaints.add(Severity::error, wrong.mark, "", std::move(wrong.message));
    }
  }
  const bool good = !complaints.has_errors();
  const std::vector<Diagnostic> said = complaints.take();
  found.insert(found.end(), said.begin(), said.end());
  return good ? std::optional(std::move(ceiling)) : std::nullopt;
}

void apply_ceiling(const Ceiling& ceiling, YamlValue root, model::Settings& settings, Complaints& complaints) {
  const auto over = [&](const char* key, auto asked, auto most) {
    complaints.add(Severity::error, locate(root, key), key,
                   fmt::format("eider.yaml asks for {}, and {} allows {} at most", asked, ceiling.file, most));
  };
  if (ceiling.max_workers && settings.max_workers > *ceiling.max_workers) {
    const YamlValue workers = root.find("workers");
    // Whoever does not say how many asks for none of them in particular.
    if (workers && workers.find("max")) over("workers.max", settings.max_workers, *ceiling.max_workers);
    settings.max_workers = *ceiling.max_workers;
  }
  const auto bound = [&](const char* key, std::optional<std::int64_t>& asked, std::optional<std::int64_t> most) {
    if (!most) return;
    if (asked && *asked > *most) over(key, fmt::format("{} bytes", *asked), fmt::format("{} bytes", *most));
    asked = std::min(asked.value_or(*most), *most);
  };
  bound("resources.memory", settings.memory_bytes, ceiling.memory_bytes);
  bound("resources.temp", settings.temp_bytes, ceiling.temp_bytes);
}

}  // namespace eider::workspace
