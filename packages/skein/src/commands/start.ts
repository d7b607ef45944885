import { type Simulator, createSimulator } from "@skein/simulator";
import { parsedArgs } from "../main.ts";

const PORT = 7433;
/** Between the pieces of an answer, so that people see it being written. */
const DEMO_DELAY_MS = 20;

/** `skein start`: what `npm start` runs. Until the server is there it starts the model simulator, and says so. */
export async function start(args: readonly string[]): Promise<number> {
  const parsed = parsedArgs(args, { port: { type: "string", default: String(PORT) } });
  if (!parsed) return 2;
  const port = Number(parsed.values.port);
  if (!/^\d+$/.test(parsed.values.port) || port > 65_535 || parsed.positionals.length > 0) {
    console.error(`Expected "skein start" or "skein start --port N" with N from 0 (a free port) to 65535.`);
    return 2;
  }
  const simulator = await listening(port);
  if (!simulator) return 1;
  console.log(greeting(simulator.url));
  await stopped();
  await simulator.close();
  return 0;
}

/** A running simulator, or a sentence about the port and nothing. */
async function listening(port: number): Promise<Simulator | undefined> {
  try {
    return await createSimulator({ port, demoDelayMs: DEMO_DELAY_MS });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EADDRINUSE" && code !== "EACCES") throw error;
    const reason = code === "EACCES" ? "needs more rights than this user has" : "is taken";
    console.error(`Port ${port} of 127.0.0.1 ${reason}. "skein start --port 0" takes a free one.`);
    return undefined;
  }
}

/** Resolves at the first SIGINT or SIGTERM. */
function stopped(): Promise<void> {
  return new Promise((resolve) => {
    process.once("SIGINT", resolve);
    process.once("SIGTERM", resolve);
  });
}

function greeting(url: string): string {
  return `The Skein model simulator listens on ${url}

It speaks the Messages API, answers without a key and never bills. It is a simulation and says so.
What is not here yet: the server with sessions, streams and the console. See "What works today" in README.md.

Try it:
  curl -s ${url}/v1/messages -H 'x-api-key: any' -H 'anthropic-version: 2023-06-01' -H 'content-type: application/json' \\
    -d '{"model":"claude-sonnet-4-5","max_tokens":200,"messages":[{"role":"user","content":"How much is 2+2?"}]}'

Stop it with Ctrl-C.`;
}
