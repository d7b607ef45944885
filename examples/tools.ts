/**
 * Functions as tools. The model chooses a function; Skein checks the input, calls the function and records the result.
 */
import { createAgent, defineTool } from "skein";
import { z } from "zod";

const weather = defineTool({
  name: "get_weather",
  description: "The weather in a city.",
  input: z.object({ city: z.string() }),
  output: z.object({ sky: z.string(), celsius: z.number() }),
  // This call only reads, so Skein may repeat it after a crash. Without this line, a call runs at most once.
  policy: "repeatable",
  timeoutMs: 5000,
  run: async ({ city }) => ({ sky: "sunny", celsius: city === "Lisbon" ? 21 : 12 }),
});

const agent = createAgent({ name: "Forecaster", tools: [weather] });
const result = await agent.run('Call get_weather for "Lisbon".');

console.log(result.finalAnswer);
console.log(`${result.totalSteps} steps, $${result.cost?.total_cost}`);
for (const call of result.toolResults) if (!call.isError) console.log(`${call.name}: ${call.output.celsius} °C`);
await agent.close();
