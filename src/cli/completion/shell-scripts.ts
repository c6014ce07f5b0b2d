/** Shells with completion. */
export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/**
 * Scripts that let a shell complete our command lines. They run the program that the operator typed with
 * `__complete SHELL WORD...`, so that they work for any installation. It prints `files`, `directories` or
 * `none`, which the shell completes itself, and then lines of a candidate, a tab and its description.
 */
export const shellScripts: Readonly<Record<Shell, string>> = {
  bash: `# bash completion for bosh-kubernetes
_bosh_kubernetes() {
  local rest=\${COMP_LINE:0:COMP_POINT} words=() replaced='' blanks paths line index
  # Bash also splits words at characters such as = and :, but replaces only what follows the last of them.
  for ((index = 0; index <= COMP_CWORD; index++)); do
    blanks=\${rest%%[![:space:]]*}
    rest=\${rest#"$blanks"}
    replaced=\${COMP_WORDS[index]}
    ((index == COMP_CWORD)) && replaced=$rest
    rest=\${rest#"$replaced"}
    if ((index == 0)) || [[ -n $blanks ]]; then words+=("$replaced"); else words[-1]+=$replaced; fi
  done
  [[ $replaced == [=:]* ]] && replaced=\${replaced#[=:]}
  local current=\${words[-1]} program=\${words[0]/#\\~/$HOME}
  local before=\${current%"$replaced"}
  COMPREPLY=()
  {
    read -r paths
    while IFS=$'\\t' read -r line _; do
      line=\${line#"$before"}
      # Bash itself quotes only paths.
      [[ $paths == paths ]] || printf -v line %q "$line"
      COMPREPLY+=("$line")
    done
  } < <("$program" __complete bash "\${words[@]:1}" 2>/dev/null)
  case $paths in
    paths) compopt -o filenames 2>/dev/null ;;
    files | directories)
      compopt -o filenames 2>/dev/null
      local kind=-f
      [[ $paths == directories ]] && kind=-d
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$kind" -- "$replaced")
      ;;
  esac
  [[ \${#COMPREPLY[@]} == 1 && \${COMPREPLY[0]} == *[=:] ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _bosh_kubernetes bosh-kubernetes bosh-kubernetes.mjs
`,
  zsh: `#compdef bosh-kubernetes bosh-kubernetes.mjs
_bosh_kubernetes() {
  local paths line word description
  local -a lines candidates shown
  local program=\${(Q)words[1]/#\\~/$HOME}
  lines=("\${(@f)$("$program" __complete zsh "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)}")
  paths=\${lines[1]}
  for line in "\${(@)lines[2,-1]}"; do
    word=\${line%%$'\\t'*}
    description=\${line#*$'\\t'}
    candidates+=("$word")
    shown+=("$word\${description:+  -- $description}")
  done
  if ((\${#candidates})); then
    if [[ \${#candidates} == 1 && \${candidates[1]} == *[=:] ]]; then
      compadd -l -S '' -d shown -- "\${candidates[@]}"
    else
      compadd -l -d shown -- "\${candidates[@]}"
    fi
  fi
  case $paths in
    files | directories)
      # In --flag=FILE and NAME=FILE, the file begins after the sign.
      compset -P '*='
      if [[ $paths == files ]]; then _files; else _files -/; fi
      ;;
  esac
}
# A file in fpath is this function itself.
if [[ \${funcstack[1]} == _bosh-kubernetes ]]; then
  _bosh_kubernetes "$@"
else
  compdef _bosh_kubernetes bosh-kubernetes bosh-kubernetes.mjs
fi
`,
  fish: `# fish completion for bosh-kubernetes
function __bosh_kubernetes_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~' $HOME -- $words[1])
    set -l lines ($program __complete fish $words[2..] (string unescape -- $current; or echo $current) 2>/dev/null)
    set -l before (string match -r -- '^.*=' $current)
    switch "$lines[1]"
        case files
            for path in (__fish_complete_path (string replace -- "$before" '' $current))
                echo -- "$before"$path
            end
        case directories
            for path in (__fish_complete_directories (string replace -- "$before" '' $current) '')
                echo -- "$before"$path
            end
    end
    if set -q lines[2]
        printf '%s\\n' $lines[2..]
    end
end
complete -c bosh-kubernetes -f -a '(__bosh_kubernetes_complete)'
complete -c bosh-kubernetes.mjs -f -a '(__bosh_kubernetes_complete)'
`,
};
