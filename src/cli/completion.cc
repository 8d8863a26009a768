// Shell completion: the scripts, and the hidden verb that they call for every word.
#include <algorithm>

#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/fields.h"
#include "cli/session.h"
#include "cli/text.h"

namespace eider::cli {
namespace {

constexpr const char* kBash = R"(# eider completion for bash: source <(eider completion bash)
_eider() {
  local IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[0]}" __complete bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _eider eider
)";

constexpr const char* kZsh = R"(#compdef eider
# eider completion for zsh: eider completion zsh > a file named _eider in a folder of $fpath
_eider() {
  local -a found
  found=("${(@f)$("${words[1]}" __complete zsh "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then
    compadd -a found
  else
    _files
  fi
}
if [[ "${funcstack[1]}" == "_eider" ]]; then
  _eider "$@"
else
  compdef _eider eider
fi
)";

constexpr const char* kFish =
    R"(# eider completion for fish: eider completion fish > ~/.config/fish/completions/eider.fish
function __eider_complete
    set -l words (commandline -opc) (commandline -ct)
    $words[1] __complete fish $words[2..-1] 2>/dev/null
end
complete -c eider -f -a '(__eider_complete)'
complete -c eider -s w -l workspace -r -a '(__fish_complete_directories)'
)";

constexpr std::size_t kIdsOffered = 50;

/// The names that a list of the API holds; none when it cannot be read: a completion says nothing of errors.
std::vector<std::string> names_from(Session& session, const Completion& wanted, const api::Request& request,
                                    const char* name) {
  std::string asked = wanted.workspace;
  if (asked.empty()) asked = session.around.environment("EIDER_WORKSPACE");
  const auto workspace = find_workspace(asked, session.around.folder);
  if (!workspace) return {};
  Backend backend(*workspace, session.around.clock, Backend::Mode::server_or_files);
  const auto body = backend.fetch(request);
  const auto value = body ? parse_answer(*body) : Result<boost::json::value>(body.error());
  std::vector<std::string> out;
  if (!value) return out;
  for (const boost::json::value& item : list_of(*value, "items")) out.push_back(text_of(item, name));
  return out;
}

std::vector<std::string> values_of(Session& session, const Completion& wanted) {
  const std::string& kind = wanted.kind;
  const std::map<std::string, std::string> few{{"limit", std::to_string(kIdsOffered)}};
  if (kind == "PIPELINE") return names_from(session, wanted, get("/api/v1/pipelines"), "name");
  if (kind == "SCHEDULE") return names_from(session, wanted, get("/api/v1/schedules"), "key");
  if (kind == "ID") {
    auto all = names_from(session, wanted, get("/api/v1/pipelines"), "name");
    for (std::string& id : names_from(session, wanted, get("/api/v1/runs", few), "id")) all.push_back(std::move(id));
    return all;
  }
  if (kind == "RUN") return names_from(session, wanted, get("/api/v1/runs", few), "id");
  if (kind == "ASSET") return names_from(session, wanted, get("/api/v1/assets"), "name");
  if (kind == "TRIGGER") return names_from(session, wanted, get("/api/v1/triggers"), "key");
  if (kind == "MATERIALIZATION") return names_from(session, wanted, get("/api/v1/materializations", few), "id");
  if (kind == "DELIVERY") return names_from(session, wanted, get("/api/v1/deliveries", few), "id");
  if (kind == "STATE" && wanted.verb.starts_with("eider deliveries"))
    return {"pending", "claimed", "delivered", "failed", "skipped"};
  if (kind == "STATE") return {"queued", "running", "succeeded", "failed", "cancelled"};
  if (kind == "DECISION") return {"run", "skipped", "missed", "coalesced", "excluded", "paused"};
  if (kind == "WHEN") return {"auto", "always", "never"};
  if (kind == "SHELL") return {"bash", "zsh", "fish"};
  if (kind == "OF") return {"pipeline", "workspace"};
  return {};
}

/// Bash makes three words of `--pipeline=flights`.
std::vector<std::string> joined_at_equals(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  bool join = false;
  for (const std::string& word : words) {
    if (word == "=" && !out.empty() && out.back().starts_with("--")) {
      out.back() += '=';
      join = true;
    } else if (join) {
      out.back() += word;
      join = false;
    } else {
      out.push_back(word);
    }
  }
  return out;
}

}  // namespace

int completion(Session& session) {
  const std::string& shell = session.options.target;
  session.out().print(shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish);
  return exit_done;
}

/// `eider __complete SHELL WORD…`, the last word being the one at the cursor. One candidate a line.
int complete(Session& session) {
  const std::vector<std::string>& words = session.options.words;
  if (words.size() < 2) return exit_done;
  const bool bash = words[0] == "bash";
  std::vector<std::string> line(words.begin() + 1, words.end());
  if (bash) line = joined_at_equals(line);
  const Completion wanted = complete_arguments(line);
  for (const std::string& word : wanted.words) session.out().line(word);
  for (const std::string& value : values_of(session, wanted)) {
    // A name that would need quotes, or steers a terminal, is no name of ours.
    if (!value.starts_with(wanted.typed) || value != safe(value) || value.find(' ') != std::string::npos) continue;
    session.out().line(bash ? value : wanted.before + value);
  }
  return exit_done;
}

}  // namespace eider::cli
