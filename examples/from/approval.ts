/**
 * The program of docs/guides/from/langgraph.md: a tool that a person must approve. The wait survives the end of the
 * process.
 */
import { createAgent, defineTool } from "skein";
import { z } from "zod";

const deleteFile = defineTool({
  name: "delete_file",
  description: "Deletes a file.",
  input: z.object({ path: z.string() }),
  needsApproval: true,
  run: ({ path }) => `Deleted ${path}.`,
});

const agent = createAgent({ name: "Cleaner", store: `sqlite:${process.argv[2] ?? "cleaner.db"}`, tools: [deleteFile] });

const paused = await agent.run('Use delete_file with "old.txt".');
const [wait] = paused.awaiting;
console.log(`${paused.stopReason}: ${wait?.name} ${JSON.stringify(wait?.input)}`);

// Hours later, perhaps after a deploy.
const answers = [{ toolUseId: wait?.tool_use_id ?? "", content: "allow" }];
const { finalAnswer } = await agent.answer(paused.sessionId, answers);
console.log(finalAnswer);
await agent.close();
