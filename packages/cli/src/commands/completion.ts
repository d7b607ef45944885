import { type Command, type Group, type Option, defineCommand } from "../terminal/command.ts";
import { EXIT, UsageError } from "../terminal/exit-codes.ts";
import { completionScript, type Node } from "../terminal/completion-script.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

/** `skein completion`: prints a script that completes the commands of `group`. */
export function completionOf(group: () => Group): Command {
  return defineCommand({
    name: "completion",
    words: "SHELL",
    summary: "Print a script that completes commands and options in bash, zsh or fish.",
    examples: [
      ['eval "$(skein completion bash)"', "Put this line into ~/.bashrc"],
      ['eval "$(skein completion zsh)"', "Put this line into ~/.zshrc, after compinit"],
      ["skein completion fish > ~/.config/fish/completions/skein.fish", "Run this once"],
    ],
    async run({ words: [word = ""], screen }) {
      const shell = SHELLS.find((name): name is Shell => name === word);
      if (!shell) throw new UsageError(`"${word}" is not a known shell. Expected one of: ${SHELLS.join(", ")}.`);
      screen.out(completionScript(shell, await nodesOf(group())));
      return EXIT.completed;
    },
  });
}

/** Returns every group and command with the words that can follow it. */
async function nodesOf(group: Group): Promise<readonly Node[]> {
  const children = await Promise.all(
    group.commands.map(async (entry) => ({
      word: entry.name.split(" ").at(-1) ?? "",
      found: "load" in entry ? await entry.load() : entry,
      summary: entry.summary,
    })),
  );
  const own: Node = {
    path: group.name,
    words: children.map(({ word, summary, found }) => ({ word, about: summary ?? found.summary })),
    options: [],
  };
  const below = await Promise.all(
    children.map(({ found }) => ("commands" in found ? nodesOf(found) : Promise.resolve([nodeOf(found)]))),
  );
  return [own, ...below.flat()];
}

function nodeOf({ name, options = {}, forms = [] }: Command): Node {
  // Only a form with a fixed first word, such as `examples` or `export`, gives a word. Other forms begin with a
  // placeholder.
  const words = forms.flatMap(([form, about]) => {
    const [word = ""] = form.split(" ");
    return /^[a-z]+$/.test(word) ? [{ word, about }] : [];
  });
  return {
    path: name,
    words: name === "completion" ? SHELLS.map((word) => ({ word, about: "" })) : words,
    options: [
      ...Object.entries<Option>(options).map(([option, { about, takes, kind, isOn, short }]) => ({
        name: isOn ? `no-${option}` : option,
        about,
        short,
        takesValue: takes !== undefined,
        choices: kind?.choices ?? [],
      })),
      { name: "help", about: "Show the help", short: "h", takesValue: false, choices: [] },
    ],
  };
}
