import { afterAll, beforeAll, describe } from "vitest";
import { chromiumPath } from "../../dev/browser.ts";
import { describeHistory } from "./history.ts";
import { describeInbox } from "./inbox.ts";
import { describeLiveRun } from "./live-run.ts";
import { describePages } from "./pages.ts";
import { describeSafety } from "./safety.ts";
import { describeSession } from "./session.ts";
import { type World, createWorld, removeBuilt } from "./world.ts";

/** These tests need a browser: `apt-get install chromium` installs one. */
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
});
