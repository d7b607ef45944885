/** The smallest agent: in memory, one prompt, one answer. */
import { createAgent } from "skein";

const agent = createAgent({ system_prompt: "You answer in one sentence." });

for await (const event of agent.stream("How much is 20+22?"))
  if (event.event_type === "step.generating") process.stdout.write(event.data.delta);
console.log();

await agent.close();
