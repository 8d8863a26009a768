# shellcheck shell=bash
# What a build needs from outside: Debian packages, and files out of npm packages. Nothing is done twice.

prepare() {
  install_packages
  fetch_duckdb
}

# The packages of packaging/apt.txt that are not installed. A node and npm from elsewhere conflict with Debian's
# and are as good, so they stay.
missing_packages() {
  local wanted installed
  wanted=$(sed 's/#.*//' packaging/apt.txt | xargs -n1)
  if have node && have npm; then wanted=$(grep -vxE 'nodejs|npm' <<<"$wanted"); fi
  # shellcheck disable=SC2086,SC2016
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^installed //p' || true)
  grep -vxFf <(printf '%s\n' "$installed") <<<"$wanted" || true
}

install_packages() {
  local missing
  if ! have dpkg-query || ! have apt-get; then
    fail "this machine has no apt-get: use Debian 12, or a container of it; packaging/apt.txt lists what is needed."
  fi
  missing=$(missing_packages | xargs)
  [[ -n $missing ]] || return 0
  local as_root=()
  if [[ $(id -u) -ne 0 ]]; then
    have sudo || fail "Debian packages are missing and there is no sudo: as root, run: apt-get install $missing"
    as_root=(sudo)
  fi
  step "Installing Debian packages: $missing"
  logged apt-update "apt-get update failed: check the network and /etc/apt, then start ./run again" \
    "${as_root[@]}" apt-get update
  # --no-remove: a package that conflicts with one of the machine's own is reported, and nothing is taken away.
  # shellcheck disable=SC2086
  logged apt-install "apt-get could not install the packages: check the network and that this is Debian 12, then start ./run again" \
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-remove --no-install-recommends $missing
}

fetch_duckdb() {
  fetch_npm "DuckDB" third_party/duckdb build/duckdb \
    @duckdb/node-bindings-linux-x64/libduckdb.so duckdb/src/duckdb/src/include/duckdb.h
}

fetch_flights() {
  fetch_npm "the flights data" examples/flights examples/flights/data \
    vega-datasets/data/flights-3m.parquet vega-datasets/data/airports.csv
}

# fetch_npm WHAT FOLDER DESTINATION FILE…: installs the locked packages of FOLDER in a scratch folder, runs none of
# their scripts, and keeps each FILE of node_modules in DESTINATION. The lock's hashes guard the packages, and
# FOLDER/SHA256SUMS the files.
fetch_npm() {
  local what=$1 folder=$2 destination=$3 scratch file
  shift 3
  ! sums_match "$folder" "$destination" || return 0
  step "Fetching $what through npm"
  have npm || fail "npm is missing: install the packages nodejs and npm, then start ./run again."
  scratch=build/fetch/$(basename "$destination")
  rm -rf "$scratch"
  mkdir -p "$scratch/kept" "$destination"
  cp "$folder"/{package.json,package-lock.json,.npmrc} "$scratch"
  [[ ! -d $folder/nothing ]] || cp -r "$folder/nothing" "$scratch"
  logged "npm-$(basename "$folder")" "npm could not fetch $what: check the network and npm's registry setting, then start ./run again" \
    npm ci --prefix "$scratch" --ignore-scripts --omit=dev --no-audit --no-fund --prefer-offline --fetch-retry-mintimeout=1000
  for file in "$@"; do mv "$scratch/node_modules/$file" "$scratch/kept/"; done
  sums_match "$folder" "$scratch/kept" ||
    fail "$what is not what $folder/SHA256SUMS says: someone changed the lock or the sums; compare them with the repository's."
  mv "$scratch"/kept/* "$destination/"
  rm -rf "$scratch"
}

sums_match() { (sums=$PWD/$1/SHA256SUMS && cd "$2" 2>/dev/null && sha256sum --check --status "$sums" 2>/dev/null); }
