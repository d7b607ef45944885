/** A stub in place of Claude Code: it records how it was started, and then runs a script of the test. */
import { chmod, mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The arguments and the environment of one start of the stub. */
interface Start {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

export interface Stub {
  readonly executable: string;
  starts(): Promise<readonly Start[]>;
}

/** `then` is a bash script that runs after the start is recorded. */
export async function createStub(folder: string, then = "cat >/dev/null"): Promise<Stub> {
  const record = join(folder, "starts");
  const executable = join(folder, "claude-stub");
  await mkdir(record, { recursive: true });
  const program = `#!/bin/bash
start=$(mktemp -d ${record}/.XXXXXXXX)
printf '%s\\0' "$@" >"$start/argv"
cat /proc/self/environ >"$start/env"
pwd >"$start/cwd"
mv "$start" "${record}/\${start##*/.}"
${then}
`;
  await writeFile(executable, program);
  await chmod(executable, 0o755);
  return {
    executable,
    async starts() {
      // Files whose names begin with a dot are still being written.
      const names = (await readdir(record)).filter((name) => !name.startsWith("."));
      return Promise.all(names.map((name) => startIn(join(record, name))));
    },
  };
}

async function startIn(folder: string): Promise<Start> {
  const [argv = "", env = "", cwd = ""] = await Promise.all(
    ["argv", "env", "cwd"].map((name) => readFile(join(folder, name), "utf8")),
  );
  const pairs = parts(env).map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]);
  return { argv: parts(argv), env: Object.fromEntries(pairs) as Record<string, string>, cwd: cwd.trim() };
}

function parts(text: string): string[] {
  return text.split("\0").filter((part) => part !== "");
}
