import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { dataFolder, skein } from "./skein.ts";

/** For each shell, a script that prints the shell's completions, one per line. */
const SHELLS = {
  bash: `source "$1"; shift
    t() { COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _skein; printf '%s\\n' "\${COMPREPLY[@]}"; }; t "$@"`,
  zsh: `compdef() {}; compadd() { print -l -- "\${@:2}" }; _files() { print FILES }; source "$1"; shift
    words=("$@"); CURRENT=$#; _skein | grep -- "^$argv[-1]"`,
  fish: `source $argv[1]; complete -C (string join " " -- $argv[2..]) | string replace -r "\\t.*" ""`,
} as const;

const argumentsOf = { bash: ["--norc", "-c"], zsh: ["-f", "-c"], fish: ["-N", "-c"] } as const;

for (const shell of ["bash", "zsh", "fish"] as const) {
  const isThere = spawnSync(shell, ["--version"]).status === 0;
  test.skipIf(!isThere)(`${shell} completes commands, options and their values`, async () => {
    const folder = dataFolder();
    const file = join(folder, "completion");
    const { code, out } = await skein(folder, "completion", shell);
    expect(code).toBe(0);
    writeFileSync(file, out);
    const completed = (...words: readonly string[]): readonly string[] => {
      const name = shell === "fish" ? [] : [shell];
      const args = [...argumentsOf[shell], SHELLS[shell], ...name, file, "skein", ...words];
      const { stdout, stderr } = spawnSync(shell, args, { encoding: "utf8", env: { ...process.env, HOME: folder } });
      expect(stderr).toBe("");
      return stdout.split("\n").filter((line) => line !== "");
    };
    expect(completed("se")).toEqual(["serve", "sessions"]);
    expect(completed("sessions", "l")).toEqual(["list"]);
    expect(completed("sessions", "list", "--sta")).toEqual(["--status"]);
    expect(completed("sessions", "list", "--status", "aw")).toEqual(["awaiting"]);
    expect(completed("run", "-F", "x")).toEqual(["xml"]);
    expect(completed("sql", "exa")).toEqual(["examples"]);
  });
}

test("the error for an unknown shell lists the known shells", async () => {
  expect(await skein(dataFolder(), "completion", "cmd")).toMatchObject({
    code: 2,
    err: expect.stringContaining("bash, zsh, fish"),
  });
});
