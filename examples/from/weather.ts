/** A program of docs/guides/from: an agent with one tool, a conversation with a memory, and a streamed answer. */
import { createAgent, defineTool } from "skein";
import { z } from "zod";

const getWeather = defineTool({
  name: "get_weather",
  description: "The weather in a city.",
  input: z.object({ city: z.string() }),
  policy: "repeatable",
  run: ({ city }) => ({ city, sky: "sunny", celsius: 21 }),
});

const agent = createAgent({
  name: "Weather",
  system_prompt: "You answer in one sentence.",
  store: `sqlite:${process.argv[2] ?? "weather.db"}`,
  tools: [getWeather],
});

const { finalAnswer, sessionId } = await agent.run('Call get_weather for "Lisbon".');
console.log(finalAnswer);

// The same conversation again: in this process or in another one, now or days later.
for await (const event of agent.stream('And get_weather for "Porto"?', { sessionId }))
  if (event.event_type === "step.generating") process.stdout.write(event.data.delta);
await agent.close();
