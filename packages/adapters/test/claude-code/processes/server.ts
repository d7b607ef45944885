/** A server that does nothing but keep one child: what a test kills or stops. Arguments: kind, folder, milliseconds, command. */
import { createSpawnChild, findContainment } from "../../../src/runtimes/claude-code/process-guard/index.ts";

const [kind = "", folder = "", goodFor = "", command = "", ...args] = process.argv.slice(2);
const containment = await findContainment(kind === "group" ? withoutUnshare : undefined);
if (!containment) throw new Error("There is no bash here.");
const spawnChild = createSpawnChild({ containment, folder, terms: { goodForMs: () => Number(goodFor) } });
const { PATH, MARK } = process.env;
const child = spawnChild({ command, args, env: { PATH, MARK }, signal: new AbortController().signal });
child.stdout.on("data", () => {});
process.stdout.write(`${containment.kind} ${child.pid}\n`);
setInterval(() => {}, 1000);

function withoutUnshare(name: string): string | undefined {
  return name === "unshare" ? undefined : `/usr/bin/${name}`;
}
