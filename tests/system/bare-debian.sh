#!/bin/bash
# Tries ./quickstart.sh as a new user would, on a Debian that has git and a shell and nothing else.
#
#   tests/system/bare-debian.sh [SUITE [FOLDER]]     as root; SUITE: bookworm (default), trixie
#
# Makes the system with debootstrap in FOLDER (default: a new one under /var/tmp, removed at the
# end; a given one is kept and used again as it is), puts a clone of HEAD into it, and in a chroot:
#   1. runs the demo as a user without sudo: it must say what is missing and end with status 2;
#   2. runs the demo as root, which installs, builds and runs;
#   3. runs it again without network: it must have nothing to install or build;
#   4. runs the tests.
# The mirror and the way to it are taken from this machine's own apt. Not part of ctest: it needs
# root, the network and some minutes.
set -euo pipefail

suite=${1:-bookworm}
repository=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" -eq 0 ] || { echo "bare-debian: run as root" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "bare-debian: apt-get install debootstrap" >&2; exit 2; }
# indextargets knows the mirror whatever form the sources are written in.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' | head -n 1)
[ -n "$mirror" ] || { echo "bare-debian: apt has no source; run apt-get update" >&2; exit 2; }

if [ -n "${2:-}" ]; then
  target=$2
  mkdir -p "$target"
else
  target=$(mktemp -d /var/tmp/ringside-bare.XXXXXX)
  chmod 755 "$target"  # the root directory of every user in there
fi
mounted=no
cleanup() {
  [ "$mounted" = no ] || umount "$target/proc" || true
  [ -n "${2:-}" ] || rm -rf --one-file-system "$target"
}
trap 'cleanup "$@"' EXIT

echo "== $suite in $target"
if [ ! -e "$target/etc/debian_version" ]; then
  include=git
  case "$mirror" in https:*) include=git,ca-certificates ;; esac
  debootstrap --variant=minbase --include="$include" "$suite" "$target" "$mirror" >"$target.log" 2>&1 || {
    tail -n 20 "$target.log" >&2
    exit 1
  }
  rm -f "$target.log"
  echo "deb $mirror $suite main" >"$target/etc/apt/sources.list"
  apt-config dump | grep '^Acquire::' >"$target/etc/apt/apt.conf.d/99host" || true
  cp /etc/resolv.conf /etc/hosts "$target/etc/" 2>/dev/null || true
fi
mount -t proc proc "$target/proc" && mounted=yes || echo "== /proc cannot be mounted; going on without"

rm -rf "$target/home/user"
mkdir -p "$target/home/user"
git clone --quiet --no-hardlinks "$repository" "$target/home/user/ringside"
chroot "$target" /bin/sh -c 'id user >/dev/null 2>&1 || useradd -d /home/user user; chown -R user: /home/user'

inside() {  # command line, run in the clone by a login with nothing of this machine's environment
  chroot "$target" env -i HOME=/root TERM="${TERM:-dumb}" LC_ALL=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    bash -c "cd /home/user/ringside && $1" </dev/null
}

echo "== 1. a user without sudo and without packages"
if ! inside 'dpkg-query -W cmake >/dev/null 2>&1'; then
  status=0
  inside 'su user -c "./quickstart.sh demo"' || status=$?
  [ "$status" -eq 2 ] || { echo "bare-debian: expected status 2, got $status" >&2; exit 1; }
else
  echo "(left out: $target has the packages already)"
fi

echo "== 2. the demo, as root"
time inside './quickstart.sh demo'

echo "== 3. again, without network"
offline=()
if unshare -n true 2>/dev/null; then offline=(unshare -n); fi
second=$(
  export -f inside
  export target
  "${offline[@]}" bash -c 'inside "./quickstart.sh demo"'
)
grep -q 'all [0-9]* are installed' <<<"$second" || { echo "$second"; echo "bare-debian: the second run installs" >&2; exit 1; }
if grep -qE '^ +[0-9]+ of [0-9]+$' <<<"$second"; then echo "$second"; echo "bare-debian: the second run builds" >&2; exit 1; fi

echo "== 4. the tests, as root"
time inside './quickstart.sh test'
echo "== bare $suite: all is well"
