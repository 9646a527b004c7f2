#!/usr/bin/env bash
# From a fresh clone to the main job or the tests, in one command. `./quickstart.sh --help` has
# the words for users. For who reads on: four steps (packages, configure, build, run), each of
# which does nothing when it has nothing to do, so that a second run is quick and safe.
#
# Environment, for CI: RINGSIDE_CMAKE_ARGS holds further arguments of the configuration.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build="$root/build/quickstart"
log="$root/build/quickstart.log"
install=yes

usage() {
  cat <<'EOF'
Usage: ./quickstart.sh demo [OPTION...]   train on the built-in digits and draw every step
       ./quickstart.sh test               build and run the tests
       ./quickstart.sh packages           print the packages that are needed, and install nothing

Installs what is missing with apt-get (as root, or with sudo), configures and builds into
build/quickstart, and runs. Nothing but the package manager uses the network. It may be run any
number of times. Further options of 'demo' are given to 'ringside demo'.

  --no-install   before the command: go on with what is installed, on any system
  --help         this text

Known systems: Debian 12 and 13, Ubuntu 24.04. CUDA, NCCL and MPI are used if they are found;
nothing here needs them.
EOF
}

# --- what is needed, by role -------------------------------------------------------------------

roles=(
  "C++20 compiler: GCC 12 or Clang 14|g++"
  "CMake 3.25 or later|cmake"
  "Ninja|ninja-build"
  "fmt: text formatting|libfmt-dev"
  "nlohmann-json: traces, --json|nlohmann-json3-dev"
  "toml++: scenario files|libtomlplusplus-dev"
  "Boost.Program_options: the command line|libboost-program-options-dev"
  "zlib: compressed data sets|zlib1g-dev"
  "OpenBLAS: CPU matrix product (optional: else any CBLAS, else own loops)|libopenblas-pthread-dev"
  "Graphviz's library: pictures as SVG and PNG (optional: else DOT text)|libgraphviz-dev"
  "a sans-serif font for the pictures (optional)|fonts-liberation"
)
test_roles=(
  "GoogleTest: the tests|libgtest-dev"
  "GoogleMock: its matchers|libgmock-dev"
)

print_packages() {
  local role
  for role in "${roles[@]}" "${test_roles[@]}"; do
    printf '  %-30s %s\n' "${role#*|}" "${role%|*}"
  done
}

# --- saying what happens -----------------------------------------------------------------------

step_number=0
step() {
  step_number=$((step_number + 1))
  printf '[%d/4] %s\n' "$step_number" "$1"
}

fail() {  # text, exit status
  printf 'quickstart: error: %s\n' "$1" >&2
  exit "${2:-1}"
}

# Shows a tool's output as progress: one moving line on a terminal, a line now and then elsewhere.
show_progress() {
  local line last=-1 tenth shown=""
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] || $line =~ ^\ *([0-9]+)/([0-9]+)\ Test ]]; then
      tenth=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
      shown="${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
    elif [[ $line =~ ^(Get:[0-9]+|Unpacking|Setting\ up)\ .* ]]; then
      tenth=$last
      shown=${line:0:70}
    else
      continue
    fi
    if [ -t 1 ]; then
      printf '\r      %-72s' "$shown"
    elif [ "$tenth" != "$last" ]; then
      printf '      %s\n' "$shown"
    fi
    last=$tenth
  done
  if [ -t 1 ] && [ -n "$shown" ]; then printf '\r%-78s\r' ""; fi
}

# Runs a command with its output in the log; on failure shows the log's end and stops.
logged() {
  printf '\n$ %s\n' "$*" >>"$log"
  if ! "$@" 2>&1 </dev/null | tee -a "$log" | show_progress; then
    printf '\n--- the last lines of %s ---\n' "$log" >&2
    tail -n 30 "$log" >&2
    printf -- '---\n' >&2
    fail "failed: $*"
  fi
}

# --- step 1: packages --------------------------------------------------------------------------

# Sets 'system' to its name, and 'known' to yes if its package names are known to fit.
identify_system() {
  system="this system" known=no
  [ -r /etc/os-release ] || return 0
  local id version
  id=$(. /etc/os-release && printf '%s' "${ID:-}")
  version=$(. /etc/os-release && printf '%s' "${VERSION_ID:-}")
  system=$(. /etc/os-release && printf '%s' "${PRETTY_NAME:-$id}")
  case "$id" in
    # Debian's testing and unstable have no number.
    debian) if [ -z "$version" ] || [ "${version%%.*}" -ge 12 ]; then known=yes; fi ;;
    ubuntu) if [ "${version%%.*}" -ge 24 ]; then known=yes; fi ;;
  esac
  command -v apt-get >/dev/null && command -v dpkg-query >/dev/null || known=no
}

is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

install_packages() {
  local role package missing=() sudo=()
  identify_system
  if [ "$install" = no ]; then
    step "Packages: not looked at (--no-install)"
    return
  fi
  if [ "$known" = no ]; then
    {
      echo "quickstart: $system is not one whose package names are known here."
      echo "Install these (the names are Debian's), then run: $0 --no-install $command"
      print_packages
    } >&2
    exit 2
  fi
  for role in "$@"; do
    package=${role#*|}
    is_installed "$package" || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    step "Packages: all $# are installed"
    return
  fi
  step "Packages: installing ${#missing[@]} of $# with apt-get: ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      fail "packages are missing, and there is neither root nor sudo. As root, run:
  apt-get install --no-install-recommends ${missing[*]}" 2
    fi
    if [ ! -t 0 ] && ! sudo -n true 2>/dev/null; then
      fail "packages are missing, and sudo needs a password but there is no terminal. Run:
  sudo apt-get install --no-install-recommends ${missing[*]}" 2
    fi
    echo "      sudo is used for apt-get alone"
    sudo -v || fail "sudo was refused; packages are missing: ${missing[*]}" 2
    sudo=(sudo)
  fi
  local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a
             apt-get -y -o DPkg::Lock::Timeout=300)
  printf '\n$ apt-get update\n' >>"$log"
  if ! "${apt[@]}" update >>"$log" 2>&1 </dev/null; then
    echo "      'apt-get update' failed (see $log); going on with the lists that are there"
  fi
  logged "${apt[@]}" install --no-install-recommends "${missing[@]}"
}

# --- steps 2 and 3: configure and build --------------------------------------------------------

# As many jobs as cores, but one per 1.5 GB of free memory: a large source takes about that.
count_jobs() {
  local cores memory
  cores=$(nproc 2>/dev/null || echo 1)
  memory=$(awk '/^MemAvailable:/ { print int($2 / 1500000) }' /proc/meminfo 2>/dev/null || true)
  if [ -n "$memory" ] && [ "$memory" -lt "$cores" ]; then cores=$memory; fi
  if [ "$cores" -lt 1 ]; then cores=1; fi
  echo "$cores"
}

configure() {  # ON or OFF: with the tests?
  step "Configure: the release build in build/quickstart, tests $1"
  local program fresh=() more=()
  for program in cmake ninja; do
    command -v "$program" >/dev/null || fail "$program is not installed; './quickstart.sh packages' lists what is needed" 2
  done
  # A folder that was moved or copied with its build must not be built where it once lay.
  if [ -f "$build/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
    fresh=(--fresh)
  fi
  read -r -a more <<<"${RINGSIDE_CMAKE_ARGS:-}"
  # A compiler newer than ours may warn of something new: that must not stop a user.
  (cd "$root" && logged cmake --preset release -B "$build" "${fresh[@]}" -DRINGSIDE_WERROR=OFF \
    "-DRINGSIDE_BUILD_TESTS=$1" "${more[@]}")
  sed -n '/^-- Ringside /,/^-- $/s/^--\( ..*\)$/     \1/p' "$log"
}

build() {  # target
  step "Build: $(count_jobs) at a time; the first time takes some minutes"
  logged cmake --build "$build" --target "$1" --parallel "$(count_jobs)"
}

# --- the two commands --------------------------------------------------------------------------

demo() {
  install_packages "${roles[@]}"
  configure OFF
  build ringside
  step "Run: ringside demo${*:+ $*}"
  "$build/ringside" demo "$@"
  [ $# -gt 0 ] || printf "\nThe program is %s; its --help lists the other commands.\n" "$build/ringside"
}

run_tests() {
  install_packages "${roles[@]}" "${test_roles[@]}"
  configure ON
  build all
  step "Run: ctest"
  if [ -t 1 ]; then
    logged ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$(nproc)"
    tail -n 8 "$log" | grep -E 'tests passed|Total Test time'
  else
    ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$(nproc)" 2>&1 | tee -a "$log"
  fi
}

if [ "${1:-}" = --no-install ]; then
  install=no
  shift
fi
command=${1:-}
[ $# -eq 0 ] || shift

case "$command" in
  demo | test)
    if ! { mkdir -p "$root/build" && : >"$log"; } 2>/dev/null; then
      fail "cannot write into $root/build"
    fi
    if [ "$command" = demo ]; then demo "$@"; else run_tests; fi
    ;;
  packages)
    echo "Ringside needs (the names are Debian's and Ubuntu's):"
    print_packages
    ;;
  --help | -h | help) usage ;;
  "")
    usage >&2
    exit 2
    ;;
  *)
    echo "quickstart: error: unknown command '$command'" >&2
    usage >&2
    exit 2
    ;;
esac
