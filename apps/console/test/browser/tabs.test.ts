import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { chromiumPath, openBrowser } from "../../dev/browser.ts";
import { type World, createWorld, removeBuilt } from "./world.ts";

/** A browser opens six connections to a server, and these tests open more pages than that. */
const MANY = 8;
/** All pages of a browser share its connections to a server. Hidden tabs and pages that the user left use none. */
describe.skipIf(chromiumPath() === undefined)("pages of one browser", () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld();
  });
  afterAll(async () => {
    await world?.close();
    await removeBuilt();
  });

  /** How many streams the server has open. */
  async function streams(): Promise<number> {
    const metrics = await fetch(`${world.url}/metrics`, { headers: { "x-api-key": world.platform.key } });
    return Number(/^skein_streams_open (\d+)$/m.exec(await metrics.text())?.[1]);
  }

  test("eight tabs with eight sessions are open, and each tab shows later messages of its session", async () => {
    const context = await world.newContext();
    const tabs: { readonly id: string; readonly page: Page }[] = [];
    for (let number = 0; number < MANY; number++) {
      const id = await world.begin("Helper", `Tab ${number}`, [{ text: `First in tab ${number}.` }]);
      const page = await context.newPage();
      tabs.push({ id, page });
      // The login of the first page is valid for all pages.
      await page.goto(`${world.url}/sessions/${id}${number === 0 ? `#key=${world.platform.key}` : ""}`);
      await page.getByText(`First in tab ${number}.`).waitFor();
    }
    expect(await streams()).toBeLessThan(6);
    for (const [number, { id }] of tabs.entries())
      await world.say(id, `Again in tab ${number}`, [{ text: `Second in tab ${number}.` }]);
    for (const [number, { page }] of tabs.entries()) await page.getByText(`Second in tab ${number}.`).waitFor();
    await context.close();
    await expect.poll(streams).toBe(0);
  });

  test("the link below the active sessions leads to a list of all active sessions, including those that wait for a person", async () => {
    const ids: string[] = [];
    for (let number = 0; number < MANY; number++) {
      const tools = [{ name: "print_label", input: { parcel: String(number), printer: "A", copies: 1 } }];
      ids.push(await world.begin("Desk", `Print for shelf ${number}`, [{ tools }, { text: "Printed." }]));
    }
    const waiting = async () => (await world.client.listSessions({ query: { activity: "awaiting" } })).data.length;
    await expect.poll(waiting).toBe(MANY);
    const page = await world.open("/");
    await page.getByRole("link", { name: /^\d+ more$/ }).click();
    for (const number of ids.keys()) await page.locator(".srow", { hasText: `Print for shelf ${number}` }).waitFor();
    await page.getByRole("button", { name: "Status: Active" }).waitFor();
    for (const session_id of ids) await world.client.deleteSession({ params: { session_id } });
    await page.close();
    await expect.poll(streams).toBe(0);
  });

  test("a hidden tab has no stream; when the user returns to the tab, it shows the messages that arrived meanwhile", async () => {
    const id = await world.begin("Helper", "Before it is hidden", [{ text: "Said while shown." }]);
    const page = await world.open(`/sessions/${id}`);
    await page.getByText("Said while shown.").waitFor();
    await expect.poll(streams).toBe(2);
    await setHidden(page, true);
    await expect.poll(streams).toBe(0);
    await world.say(id, "While it is hidden", [{ text: "Said while hidden." }]);
    await setHidden(page, false);
    await page.getByText("Said while hidden.").waitFor();
    await world.say(id, "Now it is shown", [{ text: "Said when shown again." }]);
    await page.getByText("Said when shown again.").waitFor();
    await page.close();
    await expect.poll(streams).toBe(0);
  });

  test("with notifications on, one hidden tab keeps its stream, and when that tab is closed, another hidden tab gets a stream", async () => {
    const context = await world.newContext();
    await context.grantPermissions(["notifications"], { origin: world.url });
    const [one, two] = [await context.newPage(), await context.newPage()];
    await one.goto(`${world.url}/#key=${world.platform.key}`);
    await one.locator(".app").waitFor();
    await one.evaluate(`localStorage.setItem("skein.notices", "on")`);
    await two.goto(world.url);
    await expect.poll(streams).toBe(2);
    await setHidden(one, true);
    await setHidden(two, true);
    const keepers = async (page: Page): Promise<unknown> =>
      page.evaluate(`navigator.locks.query().then(({ held, pending }) =>
        [held, pending].map((locks) => locks.filter(({ name }) => name === "skein.keeper").length))`);
    await expect.poll(() => keepers(two)).toEqual([1, 1]);
    await expect.poll(streams).toBe(1);
    await one.close();
    await expect.poll(() => keepers(two)).toEqual([1, 0]);
    await expect.poll(streams).toBe(1);
    await setHidden(two, false);
    await expect.poll(() => keepers(two)).toEqual([0, 0]);
    await context.close();
    await expect.poll(streams).toBe(0);
  });

  test("a page in the back/forward cache has no stream; after going back, it shows the messages that arrived meanwhile", async () => {
    const id = await world.begin("Helper", "Before it is left", [{ text: "Said before." }]);
    const browser = await openBrowser({ width: 1280, height: 800, keepsPages: true });
    try {
      const page = await browser.context.newPage();
      await page.goto(`${world.url}/#key=${world.platform.key}`);
      await page.locator(".app").waitFor();
      for (let number = 0; number < MANY; number++) {
        await page.goto(`${world.url}/sessions${number % 2 === 0 ? "" : `/${id}`}`);
        await page.getByText("Before it is left").first().waitFor();
      }
      await page.evaluate("window.isSamePage = true");
      await page.goto(`${world.url}/usage`);
      await page.locator("h1", { hasText: "Usage" }).waitFor();
      await expect.poll(streams).toBe(1);
      await world.say(id, "While it is left", [{ text: "Said meanwhile." }]);
      await page.evaluate("history.back()");
      await page.getByText("Said meanwhile.").waitFor();
      expect(await page.evaluate("window.isSamePage")).toBe(true);
      await world.say(id, "After going back", [{ text: "Said after." }]);
      await page.getByText("Said after.").waitFor();
    } finally {
      await browser.close();
    }
    await expect.poll(streams).toBe(0);
  });
});

/** Tells the page that it is hidden or shown, because a browser without a window shows all its pages. */
async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(`Object.defineProperty(document, "hidden", { configurable: true, get: () => ${isHidden} });
    document.dispatchEvent(new Event("visibilitychange"))`);
}
