import { spawn } from "node:child_process";
import { once } from "node:events";

/** The simulator in a separate process, so that it does not share an event loop with the measured code. */
export async function startSimulator(): Promise<{ url: string; close: () => Promise<void> }> {
  const child = spawn(
    process.execPath,
    [...process.execArgv, "packages/simulator/src/main.ts", "--port", "0", "--until-stdin-closes"],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line.toString())?.[0];
  if (!url) throw new Error(`The simulator did not say where it listens: ${line.toString()}`);
  return {
    url,
    async close() {
      child.stdin.end();
      await once(child, "exit");
    },
  };
}
