import { createSqliteStore } from "@skein/adapters/stores/sqlite";
import { createSessions } from "@skein/core";
import { script } from "@skein/simulator";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Result } from "../store/results.ts";
import { serveClaude } from "./claude-server.ts";

/** Half of the sessions make a tool call with an effect. The other half get a slow answer. */
const prompt = (n: number): string =>
  n % 2 === 0
    ? `Work. ${script([
        {
          text: "Working.",
          tools: [{ name: "Bash", input: { command: `echo once >> effect-${n}; timeout 60 tail -f /dev/null` } }],
        },
        { text: "It said: $LAST" },
      ])}`
    : `Speak. ${script([{ text: "Word. ".repeat(40), chunk: 6, chunkDelayMs: 200 }])}`;

/** Kills the server while sessions work, starts it again, and checks the sessions. */
export async function killed({
  folder,
  apiUrl,
}: {
  readonly folder: () => string;
  readonly apiUrl: string;
}): Promise<readonly Result[]> {
  const place = folder();
  const count = 8;
  const first = await serveClaude(place, apiUrl);
  const ids: string[] = [];
  for (let n = 0; n < count; n++)
    void first
      .stream("/api/v1/query", { prompt: prompt(n), allowed_tools: ["Bash"] }, (_event, _ms, data) => {
        const id = /"session_id":"([0-9a-f-]{36})"/.exec(data)?.[1];
        if (id !== undefined && !ids.includes(id)) ids.push(id);
      })
      .catch(() => undefined);
  const work = join(place, "claude", "default", "work");
  const effects = Array.from({ length: count / 2 }, (_, n) => join(work, `effect-${n * 2}`));
  await until(() => ids.length === count && effects.every((file) => existsSync(file)));
  await first.kill();
  const killedAt = performance.now();
  const second = await serveClaude(place, apiUrl, { key: first.key });
  const store = await createSqliteStore({ file: join(place, "skein.db") });
  const sessions = createSessions({ store });
  const problems: string[] = [];
  for (const id of ids) {
    await until(async () => (await sessions.get(id)).status === "idle");
    problems.push(...(await problemsOf(id)));
  }
  const seconds = (performance.now() - killedAt) / 1000;
  for (const file of effects)
    if (readFileSync(file, "utf8") !== "once\n") problems.push(`${file} does not show exactly one effect`);
  await store.close();
  await second.close();
  return [
    {
      what: `kill -9 with ${count} sessions: lost, doubled or left open`,
      store: "sqlite",
      value: problems.length,
      unit: "",
      goal: "0",
      passed: problems.length === 0,
      note: problems[0] ?? `all sessions ended ${seconds.toFixed(1)} s after the kill`,
    },
  ];

  async function problemsOf(id: string): Promise<string[]> {
    const events = await sessions.events(id);
    const found: string[] = [];
    const count = (type: string): number => events.filter(({ event_type }) => event_type === type).length;
    if (count("session.completed") + count("session.failed") !== 1)
      found.push(`${id} does not have exactly one outcome`);
    const entries = events.flatMap((event) => (event.event_type === "transcript.appended" ? event.data.entries : []));
    const uuids = entries.flatMap(({ uuid }) => (typeof uuid === "string" ? [uuid] : []));
    if (new Set(uuids).size !== uuids.length) found.push(`${id} has an entry twice`);
    const blocks = (await sessions.transcript(id)).flatMap(({ content }) =>
      typeof content === "string" ? [] : content,
    );
    const asked = blocks.flatMap((block) => (block.type === "tool_use" ? [block["id"]] : []));
    const answered = blocks.flatMap((block) => (block.type === "tool_result" ? [block["tool_use_id"]] : []));
    if (JSON.stringify(asked) !== JSON.stringify(answered)) found.push(`${id} has calls without a result`);
    return found;
  }
}

async function until(probe: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 180_000;
  while (!(await probe())) {
    if (Date.now() > end)
      throw new Error("The sessions did not begin their work, or did not finish it, within three minutes.");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
