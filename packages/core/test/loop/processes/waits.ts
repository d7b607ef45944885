/** A program that waits until an await reaches its time limit and the run ends. It does not close its agent. */
import { createAgent } from "skein";
import { pick } from "../tools.ts";

const [store = "", baseUrl = "", prompt = ""] = process.argv.slice(2);
const hurried = { ...pick, timeoutMs: 1500 };
const agent = createAgent({ name: "Waiter", apiKey: "test", baseUrl, store, tools: [hurried] });
const say = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

const { sessionId, stopReason } = await agent.run(prompt);
say({ sessionId, stopReason });
const sessions = await agent.sessions();
for await (const { event_type } of sessions.follow(sessionId, { after: 0 }, new AbortController().signal))
  if (event_type === "session.completed") break;
say(await agent.resume(sessionId).then(({ finalAnswer }) => ({ finalAnswer })));
