/**
 * A server that has only one child process and is killed or stopped by a test. Arguments: kind, folder, milliseconds,
 * command.
 */
import { createSpawnChild } from "../../../src/runtimes/claude-code/process-guard/index.ts";
import { openNone } from "../../../src/sandboxes/none.ts";

const [kind = "", folder = "", goodFor = "", command = "", ...args] = process.argv.slice(2);
const found = await openNone(kind === "group" ? withoutUnshare : undefined);
if ("problem" in found) throw new Error(found.problem);
const { sandbox } = found;
const spawnChild = createSpawnChild({ sandbox, folder, terms: { goodForMs: () => Number(goodFor) } });
const { PATH, MARK } = process.env;
const child = spawnChild({ command, args, env: { PATH, MARK }, signal: new AbortController().signal });
child.stdout.on("data", () => {});
process.stdout.write(`${sandbox.walls.processes ? "namespace" : "group"} ${child.pid}\n`);
setInterval(() => {}, 1000);

function withoutUnshare(name: string): string | undefined {
  return name === "unshare" ? undefined : `/usr/bin/${name}`;
}
