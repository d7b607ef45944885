/** Skills: instructions in folders, which the model loads when a task needs them. */
import { createAgent } from "skein";

const agent = createAgent({
  name: "Writer",
  skills: [`${import.meta.dirname}/skills`],
});

await agent.run('Call load_skill with name "release-notes", then write the release notes.', {
  onEvent: { "tool.completed": ({ data }) => console.log(data.name, data.input, data.content) },
});
await agent.close();
