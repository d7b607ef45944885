/**
 * A tool that the client executes. The run waits, even if its process ends, until any process sends the call's result.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAgent, defineTool } from "skein";
import { z } from "zod";

const store = process.argv[2] ?? `sqlite:${join(mkdtempSync(join(tmpdir(), "skein-")), "skein.db")}`;
const pickColour = defineTool({
  name: "pick_colour",
  description: "Lets the person pick a colour on the screen.",
  input: z.object({}),
  executor: "frontend",
  timeoutMs: 24 * 60 * 60 * 1000,
});
const agent = createAgent({ name: "Painter", store, tools: [pickColour] });
const [, , , sessionId, toolUseId] = process.argv;

if (sessionId && toolUseId) {
  // This is the second process. It could also start days later: for example a server that gets the answer from a
  // browser.
  const sessions = await agent.sessions();
  const answered = await sessions.answer(sessionId, toolUseId, { content: "blue" });
  console.log(`The other process: ${answered.disposition}`);
} else {
  const paused = await agent.run("Use the pick_colour tool.");
  const [wait] = paused.awaiting;
  console.log(`${paused.stopReason}: ${wait?.name}`);
  const args = [...process.execArgv, import.meta.filename, store, paused.sessionId, wait?.tool_use_id ?? ""];
  spawnSync(process.execPath, args, { stdio: "inherit" });
  const { finalAnswer } = await agent.resume(paused.sessionId);
  console.log(finalAnswer);
}
await agent.close();
