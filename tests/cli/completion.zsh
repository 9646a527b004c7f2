# What a Tab behind LINE makes of it in an interactive zsh that has sourced `ringside completion zsh`,
# or has a DIRECTORY in fpath with it as _ringside.
# Usage: zsh -f completion.zsh LINE [DIRECTORY]
zmodload zsh/zpty
zpty shell 'env TERM=dumb zsh -f -i'
zpty -w shell "PS1='> '; fpath=($2 \$fpath); autoload -Uz compinit; compinit -u -D"
[[ -n $2 ]] || zpty -w shell "source <(ringside completion zsh)"
# A key that tells the line; the quotes keep the echo of this from being taken for the answer.
zpty -w shell "show() { print -r -- \"LINE=\$BUFFER=\"; }; zle -N show; bindkey '^X' show"
zpty -w shell "print rea''dy"
zpty -r -m shell answer '*ready*'
zpty -n -w shell "$1"$'\t\x18'
zpty -r -m shell answer '*LINE=*=*'
print -r -- "${${answer##*LINE=}%%=*}"
zpty -d shell
