/** A process that runs prompts until it is killed. It prints a line when an answer begins to arrive. */
import { type AgentOptions, createAgent } from "skein";

const { prompts, ...options } = JSON.parse(process.argv[2] ?? "{}") as AgentOptions & {
  readonly prompts: readonly string[];
};
const agent = createAgent(options);
await Promise.all(
  prompts.map(async (prompt, at) => {
    let sessionId = "";
    for await (const event of agent.stream(prompt)) {
      if ("session_id" in event) sessionId = event.session_id;
      if (event.event_type === "step.generating") process.stdout.write(`${JSON.stringify({ at, sessionId })}\n`);
    }
  }),
);
