/** A command or a group, with the words and options that a person can type after it. */
export interface Node {
  /** The name without `skein`, such as `sessions list`. The name of `skein` is empty. */
  readonly path: string;
  readonly words: readonly { readonly word: string; readonly about: string }[];
  readonly options: readonly {
    readonly name: string;
    readonly short?: string | undefined;
    readonly about: string;
    readonly takesValue: boolean;
    readonly choices: readonly string[];
  }[];
}

/** Makes a completion script for a shell. The script has all words and options, so completion starts no process. */
export function completionScript(shell: "bash" | "zsh" | "fish", nodes: readonly Node[]): string {
  switch (shell) {
    case "bash":
      return bash(nodes);
    case "zsh":
      return zsh(nodes);
    case "fish":
      return fish(nodes);
  }
}

/** Returns functions for bash and zsh that print the words after a path and the values of an option. */
function tables(nodes: readonly Node[]): string {
  const after = nodes.map(({ path, words, options }) => {
    const all = [...words.map(({ word }) => word), ...options.map(({ name }) => `--${name}`)];
    return `    ${quoted(path)}) echo ${quoted(all.join(" "))} ;;`;
  });
  const values = nodes.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map(({ name, short, choices }) => {
        const names = [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];
        return `    ${names.map((one) => quoted(`${path} ${one}`)).join("|")}) echo ${quoted(choices.length === 0 ? FILES : choices.join(" "))} ;;`;
      }),
  );
  const groups = nodes.filter(({ path, options }) => path !== "" && options.length === 0).map(({ path }) => path);
  return `_skein_after() {
  case "$1" in
${after.join("\n")}
  esac
}
_skein_value() {
  case "$1" in
${values.join("\n")}
  esac
}
_skein_path() {
  case "$1" in
    ${groups.map(quoted).join("|")}) echo "$1\${2:+ $2}" ;;
    *) echo "$1" ;;
  esac
}
`;
}

/** Marks options that have no fixed list of values. For these options, the shell completes file names. */
const FILES = "=";

function bash(nodes: readonly Node[]): string {
  return `# bash completion of skein: eval "$(skein completion bash)"
${tables(nodes)}_skein() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" path="" values
  if [ "$COMP_CWORD" -gt 1 ]; then
    path="$(_skein_path "\${COMP_WORDS[1]}" "$([ "$COMP_CWORD" -gt 2 ] && echo "\${COMP_WORDS[2]}")")"
  fi
  values="$(_skein_value "$path $prev")"
  COMPREPLY=()
  [ "$values" = "${FILES}" ] && return
  COMPREPLY=($(compgen -W "\${values:-$(_skein_after "$path")}" -- "$cur"))
}
complete -o default -F _skein skein
`;
}

function zsh(nodes: readonly Node[]): string {
  return `#compdef skein
# zsh completion of skein: eval "$(skein completion zsh)"
${tables(nodes)}_skein() {
  local where="" values
  if (( CURRENT > 2 )); then
    where="$(_skein_path "\${words[2]}" "$( (( CURRENT > 3 )) && echo "\${words[3]}")")"
  fi
  values="$(_skein_value "$where \${words[CURRENT-1]}")"
  if [[ "$values" == "${FILES}" ]]; then _files; return; fi
  compadd -- \${=values:-$(_skein_after "$where")} || _files
}
compdef _skein skein
`;
}

function fish(nodes: readonly Node[]): string {
  const groups = nodes.filter(({ path, options }) => path !== "" && options.length === 0).map(({ path }) => path);
  const lines = nodes.flatMap(({ path, words, options }) => {
    const when = `-n ${quoted(`test (__skein_path) = ${quoted(path)}`)}`;
    return [
      ...words.map(({ word, about }) => `complete -c skein ${when} -f -a ${quoted(word)} -d ${quoted(about)}`),
      ...options.map(({ name, short, about, takesValue, choices }) =>
        [
          `complete -c skein ${when} -l ${name}`,
          ...(short === undefined ? [] : [`-s ${short}`]),
          ...(takesValue ? [choices.length === 0 ? "-r" : `-x -a ${quoted(choices.join(" "))}`] : []),
          `-d ${quoted(about)}`,
        ].join(" "),
      ),
    ];
  });
  return `# fish completion of skein: skein completion fish > ~/.config/fish/completions/skein.fish
function __skein_path
    set -l words (commandline -opc)
    set -l first $words[2]
    if contains -- "$first" ${groups.join(" ")}
        echo (string join " " -- $first $words[3])
    else
        echo "$first"
    end
end
${lines.join("\n")}
`;
}

/** Quotes a word for bash, zsh and fish. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
