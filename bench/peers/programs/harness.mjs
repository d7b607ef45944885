/**
 * Shared by all measured programs: runs sessions as fast as possible, or one session whose tool never ends, or resumes
 * that session after a kill. Each program defines only how its library runs and resumes a session.
 */
import { appendFileSync } from "node:fs";
import { setInterval } from "node:timers";

/** `ADAPTER` is the API of the model, for programs that support several. */
export const {
  ADAPTER: adapter = "anthropic",
  SIMULATOR: simulator,
  PROMPT: prompt,
  FOLDER: folder,
  EFFECTS: effects,
} = process.env;
export const MODEL = "claude-sonnet-4-5";
export const TOOL = "add";
export const DESCRIPTION = "Adds two numbers.";

const [mode, count, concurrency] = process.argv.slice(2);

/** The tool: adds two numbers or, in the session that will be killed, has its effect and never ends. */
export async function add({ a, b }) {
  if (!effects) return a + b;
  appendFileSync(effects, "effect\n");
  if (mode === "hang") await new Promise(() => setInterval(() => {}, 1000));
  return a + b;
}

/** `turn(n)`: a new session with one prompt, until its answer. `goOn`: the library's way to resume after a crash, if it has one. */
export async function run({ turn, goOn }) {
  if (mode === "hang") return turn(0);
  if (mode === "go-on") return goOn ? goOn() : say({ cannot: true });
  const total = Number(count);
  for (let n = 0; n < Number(process.env.WARM ?? 20); n++) await turn(`warm-${n}`);
  const times = [];
  let next = 0;
  const used = process.cpuUsage();
  const started = performance.now();
  await Promise.all(
    Array.from({ length: Number(concurrency) }, async () => {
      while (next < total) {
        const n = next++;
        const begun = performance.now();
        await turn(`${concurrency}-${n}`);
        times.push(performance.now() - begun);
      }
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(used);
  say({ times, seconds, processorMs: (user + system) / 1000, megabytes: process.memoryUsage.rss() / 1e6 });
  process.exit();
}

export function say(result) {
  console.log(`RESULT ${JSON.stringify(result)}`);
}
