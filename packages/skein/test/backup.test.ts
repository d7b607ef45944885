import { join } from "node:path";
import { createAgent, defineTool } from "skein";
import { backup, restore } from "skein/stores";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { storeOf } from "../../server/test/any-store.ts";
import { scripted, simulatedAgent } from "../../core/test/loop/simulated.ts";
import { expectUsable, folder, until } from "../../core/test/loop/world.ts";

/** The kind of store that is backed up, and the kind of store that the backup is restored into. */
const WAYS = [
  ["sqlite", "sqlite"],
  ["file", "file"],
  ["postgres", "file"],
  ["file", "postgres"],
] as const;

test.each(WAYS)(
  "a backup of a %s store in use has every acknowledged write, and a restored %s store continues the unfinished run",
  async (kind, other) => {
    const [here, there] = [folder(), folder()];
    const from = await storeOf(kind, here);
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
      store: from,
      tools: [slow],
      leaseMs: 1500,
    });
    const { sessionId: done } = await agent.run(scripted("done", [{ text: "Done." }]));
    const running = agent.run(scripted("running", [{ tools: [{ name: "slow" }] }, { text: "The $LAST" }]));
    await until(() => calls);
    const sessions = await agent.sessions();
    const acknowledged = await sessions.events(done);
    const [open] = (await sessions.list()).items.filter(({ status }) => status === "running");

    const store = await storeOf(other, there);
    expect(await backup(from, join(there, "backup"))).toMatchObject({ sessions: 2 });
    await expect(backup(from, join(there, "backup"))).rejects.toMatchObject({ code: "already_exists" });
    expect(await restore(join(there, "backup"), store)).toMatchObject({ sessions: 2 });
    await expect(restore(join(there, "backup"), from)).rejects.toMatchObject({ code: "already_exists" });
    const copy = createAgent({ store, apiKey: "test", baseUrl: simulator.url, tools: [slow] });
    onTestFinished(() => copy.close());
    expect(await (await copy.sessions()).events(done)).toEqual(acknowledged);
    expect(await copy.resume(open?.id ?? "")).toMatchObject({ finalAnswer: "The second", stopReason: "end_turn" });
    await expectUsable(copy, done);
    finish();
    expect(await running).toMatchObject({ finalAnswer: "The first" });
  },
);
