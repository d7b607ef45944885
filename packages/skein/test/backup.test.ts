import { cpSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createAgent, defineTool } from "skein";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { storeOf } from "../../server/test/any-store.ts";
import { scripted, simulatedAgent } from "../../core/test/loop/simulated.ts";
import { expectUsable, folder, until } from "../../core/test/loop/world.ts";

/** As docs/operating.md tells operators to do it, beside the process that has the store open. */
const COPIES = {
  sqlite(from: string, to: string) {
    const database = new DatabaseSync(join(from, "skein.db"), { readOnly: true });
    database.exec(`vacuum into '${join(to, "skein.db")}'`);
    database.close();
  },
  file(from: string, to: string) {
    cpSync(join(from, "store"), join(to, "store"), { recursive: true, filter: (path) => basename(path) !== "lock" });
  },
};

test.each(["sqlite", "file"] as const)(
  "a copy of a %s store that is in use has everything acknowledged, and a run that was under way goes on there",
  async (kind) => {
    const [here, there] = [folder(), folder()];
    let calls = 0;
    let finish = (): void => {};
    const slow = defineTool({
      name: "slow",
      description: "Takes as long as the test wants.",
      input: z.object({}),
      policy: "repeatable",
      run: () => (calls++ === 0 ? new Promise((resolve) => (finish = () => resolve("first"))) : "second"),
    });
    const { agent, simulator } = await simulatedAgent({
      store: await storeOf(kind, here),
      tools: [slow],
      leaseMs: 1500,
    });
    const { sessionId: done } = await agent.run(scripted("done", [{ text: "Done." }]));
    const running = agent.run(scripted("running", [{ tools: [{ name: "slow" }] }, { text: "The $LAST" }]));
    await until(() => calls);
    const sessions = await agent.sessions();
    const acknowledged = await sessions.events(done);
    const [open] = (await sessions.list()).items.filter(({ status }) => status === "running");

    COPIES[kind](here, there);

    const store = await storeOf(kind, there);
    const copy = createAgent({ store, apiKey: "test", baseUrl: simulator.url, tools: [slow] });
    onTestFinished(() => copy.close());
    expect(await (await copy.sessions()).events(done)).toEqual(acknowledged);
    expect(await copy.resume(open?.id ?? "")).toMatchObject({ finalAnswer: "The second", stopReason: "end_turn" });
    await expectUsable(copy, done);
    finish();
    expect(await running).toMatchObject({ finalAnswer: "The first" });
  },
);
