/** A process dies in the middle of a tool call. The next process continues, and the effect does not happen twice. */
import { spawnSync } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAgent, defineTool } from "skein";
import { z } from "zod";

const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), "skein-"));
const letters = join(folder, "letters.txt");
const sendLetter = defineTool({
  name: "send_letter",
  description: "Sends a letter.",
  input: z.object({}),
  run: (_, { idempotencyKey }) => {
    appendFileSync(letters, `sent ${idempotencyKey}\n`);
    process.kill(process.pid, "SIGKILL");
  },
});
const agent = createAgent({ name: "Postman", store: `sqlite:${join(folder, "skein.db")}`, tools: [sendLetter] });

if (process.argv[2]) await agent.run("Use the send_letter tool.");

const { signal } = spawnSync(process.execPath, [...process.execArgv, import.meta.filename, folder]);
console.log(`The first process ended with ${signal}.`);

const [session] = (await (await agent.sessions()).list()).items;
const { finalAnswer } = await agent.resume(session?.id ?? "");
console.log(finalAnswer);
console.log(`Letters: ${readFileSync(letters, "utf8").trim().split("\n").length}`);
await agent.close();
