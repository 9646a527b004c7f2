#!/bin/sh
# What 'cmake --install' leaves: a program that runs, completion for three shells, and the scenarios.
# Usage: installed.sh CMAKE BUILD
set -eu
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
"$1" --install "$2" --prefix "$prefix" > "$prefix/log"
PATH=$prefix/bin:$PATH
export PATH
ringside --version
ringside run --config "$prefix/share/ringside/scenarios/dp-four-devices.toml" --steps 1 --quiet
for file in bash-completion/completions/ringside zsh/site-functions/_ringside \
  fish/vendor_completions.d/ringside.fish; do
  grep -q ringside "$prefix/share/$file" || {
    echo "no completion in share/$file"
    exit 1
  }
done
