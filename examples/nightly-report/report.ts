/**
 * A report of yesterday: `node report.ts ORDERS.csv FOLDER [DAY]`. Started twice for the same day it still writes one
 * report.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAgent, defineTool } from "skein";
import { z } from "zod";

const yesterday = new Date(Date.now() - 24 * 3600 * 1000).toISOString().slice(0, 10);
const [file = "orders.csv", folder = "reports", day = yesterday] = process.argv.slice(2);
if (!existsSync(file)) {
  console.error(
    `There is no file ${file}. Usage: node report.ts ORDERS.csv FOLDER [DAY], by default of yesterday (UTC).`,
  );
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
const page = join(folder, `${day}.md`);

const Report = z.object({ headline: z.string(), summary: z.string() });

const ordersOfDay = defineTool({
  name: "orders_of_day",
  description: "The orders of a day, with their sum in euros.",
  input: z.object({ day: z.string() }),
  policy: "repeatable",
  run: (input) => {
    const rows = readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .slice(1)
      .map((line) => line.split(","));
    const orders = rows.filter(([date]) => date === input.day);
    return {
      day: input.day,
      orders: orders.length,
      euros: orders.reduce((sum, [, , euros]) => sum + Number(euros), 0),
    };
  },
});

const agent = createAgent({
  name: "Reporter",
  system_prompt: "You write a short report for the owner of a shop.",
  // Each report has its log beside it, with one session.
  store: `sqlite:${join(folder, `${day}.db`)}`,
  tools: [ordersOfDay],
  // The answer has this type, or the run fails: no incomplete report is written.
  output: Report,
});

if (existsSync(page)) {
  console.log(`There is a report for ${day} already: ${page}`);
} else {
  // An earlier attempt may have died. Then this process continues its session instead of creating a second one.
  const [begun] = (await (await agent.sessions()).list()).items;
  const prompt = `Use orders_of_day with "${day}", then write the report.`;
  let result = begun ? await agent.resume(begun.id) : await agent.run(prompt);
  const isGood = () => result.output !== null && result.toolResults.every(({ isError }) => !isError);
  // An earlier attempt may have failed. Then the same session gets another prompt.
  if (begun && !isGood()) result = await agent.run(prompt, { sessionId: begun.id });
  if (!isGood() || !result.output) {
    const failed = result.toolResults.find(({ isError }) => isError);
    const problem = failed ? JSON.stringify(failed.content) : (result.error?.message ?? result.stopReason);
    throw new Error(`There is no report: ${problem}`);
  }
  const { headline, summary } = result.output;
  // The page is written under another name and then moved, so that nobody reads an incomplete page.
  writeFileSync(`${page}.new`, `# ${day}: ${headline}\n\n${summary}\n\nCost: $${result.cost?.total_cost ?? 0}\n`);
  renameSync(`${page}.new`, page);
  console.log(`Written: ${page}`);
}
await agent.close();
