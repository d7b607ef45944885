/** A separate process that runs one prompt with tools that may kill it, and prints the result. */
import { appendFileSync } from "node:fs";
import { createAgent, defineTool } from "skein";
import { z } from "zod";
import { pick } from "../tools.ts";

const [store = "", baseUrl = "", effects = "", prompt = ""] = process.argv.slice(2);
const effect = (name: "once" | "repeatable") =>
  defineTool({
    name,
    description: "Has an effect, and kills its process the first time.",
    input: z.object({}),
    policy: name,
    run: (_, { idempotencyKey }) => {
      appendFileSync(effects, `${idempotencyKey}\n`);
      process.kill(process.pid, "SIGKILL");
    },
  });
const agent = createAgent({ store, apiKey: "test", baseUrl, tools: [effect("once"), effect("repeatable"), pick] });
const say = (what: object): unknown => process.stdout.write(`${JSON.stringify(what)}\n`);
const onEvent = ({ event_type, session_id }: { event_type: string; session_id: string }): unknown =>
  say({ event_type, session_id });
const { sessionId, stopReason } = await agent.run(prompt, { onEvent });
say({ sessionId, stopReason });
await new Promise((resolve) => process.stdin.once("end", resolve).resume());
