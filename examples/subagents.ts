/** An agent as a tool of another agent. It works in a session of its own; the other agent waits for its answer. */
import { createAgent, defineTool } from "skein";
import { z } from "zod";

const countWords = defineTool({
  name: "count_words",
  description: "Counts the words of a text.",
  input: z.object({ text: z.string() }),
  policy: "repeatable",
  run: ({ text }) => text.split(/\s+/).length,
});

const counter = createAgent({
  name: "word_counter",
  description: "Counts words. Give it the text.",
  tools: [countWords],
});
const editor = createAgent({ name: "Editor", subagents: [counter] });

const { sessionId, finalAnswer } = await editor.run('Use the word_counter tool with "count_words of this text".');
console.log(finalAnswer);

const sessions = await editor.sessions();
const { items: children } = await sessions.list({ subagentOfSessionId: sessionId });
for (const child of children) {
  const transcript = await sessions.transcript(child.id);
  console.log(`${child.id} worked for ${child.subagent_of_tool_use_id}: ${transcript.length} messages`);
}
await editor.close();
