# shellcheck shell=bash
# What ./run says: one line a step; one sentence when something fails.

if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
  bold=$'\e[1;36m' red=$'\e[1;31m' plain=$'\e[0m'
else
  bold='' red='' plain=''
fi

step() { printf '%s==>%s %s\n' "$bold" "$plain" "$*"; }

# fail SENTENCE: says what failed and what to do, and ends ./run.
fail() {
  printf '%s./run:%s %s\n' "$red" "$plain" "$*" >&2
  exit 1
}

misuse() {
  printf "./run: %s; './run help' lists what there is.\n" "$*" >&2
  exit 2
}

# logged NAME SENTENCE COMMAND…: runs COMMAND with its output in build/log/NAME.log. When it fails, shows the end
# of that log and ends with SENTENCE.
logged() {
  local log=build/log/$1.log sentence=$2
  shift 2
  mkdir -p build/log
  if ! "$@" >"$log" 2>&1 </dev/null; then
    tail -n 15 "$log" | sed 's/^/    /' >&2
    fail "$sentence (log: $log)"
  fi
}

have() { command -v "$1" >/dev/null 2>&1; }
