import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromiumPath } from "../../dev/browser.ts";
import { describeHistory } from "./history.ts";
import { describeInbox } from "./inbox.ts";
import { describeLiveRun } from "./live-run.ts";
import { describePages } from "./pages.ts";
import { describeSafety } from "./safety.ts";
import { describeSession } from "./session.ts";
import { type World, createWorld, removeBuilt } from "./world.ts";

/** Without a browser there is nothing to look at: `apt-get install chromium` brings one. */
describe.skipIf(chromiumPath() === undefined)("the console in Chromium", () => {
  const shared: { world: World } = { world: undefined as unknown as World };
  beforeAll(async () => {
    shared.world = await createWorld();
  });
  afterAll(async () => {
    await shared.world?.close();
    await removeBuilt();
  });

  describeInbox(shared);
  describeLiveRun(shared);
  describeSession(shared);
  describePages(shared);
  describeHistory(shared);
  describeSafety(shared);

  test("a newcomer sees a finished run within ten seconds of opening the printed link", async () => {
    const world = await createWorld({ withAgents: false, context: shared.world.context });
    try {
      const page = await world.open("/");
      expect(page.url()).not.toContain("console-development-key");
      for (const word of ["Sessions", "Agents", "Usage", "SQL"])
        await page.getByRole("link", { name: word }).first().waitFor();
      const started = performance.now();
      await page.getByRole("button", { name: "Create Helper and run" }).click();
      await page.waitForURL(/\/sessions\//);
      await page.locator(".top .pill.done").waitFor();
      expect(performance.now() - started).toBeLessThan(10_000);
      expect(await page.locator(".step .md").first().innerText()).not.toBe("");
      await page.close();
    } finally {
      await world.close();
    }
  });
});
