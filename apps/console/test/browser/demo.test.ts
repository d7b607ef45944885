import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromiumPath } from "../../dev/browser.ts";
import { type World, createWorld, removeBuilt } from "./world.ts";

describe.skipIf(chromiumPath() === undefined)("the demo of a server without a key", () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ withAgents: false, isSimulated: true });
  });
  afterAll(async () => {
    await world?.close();
    await removeBuilt();
  });

  test("the button starts a simulated run, its open approval survives kill -9 of the server, and the approved run continues", async () => {
    const page = await world.open("/");
    await page.getByText("The tool only pretends: it moves no money.").waitFor();
    await page.getByRole("button", { name: "Create Demo and run" }).click();
    await page.waitForURL(/\/sessions\//);
    await page.getByText("Let demo_refund run?").waitFor();
    await world.crash();
    await page.goto(`${world.url}/`);
    await page.getByText("Let demo_refund run?").waitFor();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("Nothing waits for you").waitFor();
    await page.getByRole("link", { name: "Refund order A17, amount 25" }).first().click();
    await page.locator(".top .pill.done").waitFor();
    const [first = "", second = ""] = await page.locator(".step").allInnerTexts();
    expect(first).toContain("simulated");
    expect(second).toMatch(
      /simulated[\s\S]*This tool is a demo and moves no money\. Next, make an agent of your own on the page Agents\./,
    );
    await page.close();
  });

  test("the second button of the demo looks like a button, and no label of the side bar is cut", async () => {
    const page = await world.open("/");
    const isCut = `[...document.querySelectorAll(".side .grow")].map((one) => one.scrollWidth > one.clientWidth)`;
    expect(await page.evaluate(isCut)).toEqual([false, false]);
    // The form is there until the first session.
    await page.route("**/v1/sessions?*", (route) => route.fulfill({ json: { data: [], next_cursor: null } }));
    await page.setViewportSize({ width: 390, height: 844 });
    await page.reload();
    await page.getByRole("link", { name: "Make an agent of your own" }).waitFor();
    const [first, second] =
      (await page.evaluate(`[...document.querySelectorAll(".first .form-foot .btn")].map((one) => {
      const { paddingLeft, borderLeftWidth, borderLeftColor } = getComputedStyle(one);
      const left = one.getBoundingClientRect().left + parseFloat(paddingLeft) + parseFloat(borderLeftWidth);
      return { left, border: borderLeftColor };
    })`)) as readonly { readonly left: number; readonly border: string }[];
    expect(second?.left).toBe(first?.left);
    expect(second?.border).not.toBe("rgba(0, 0, 0, 0)");
    await page.close();
  });

  test("what the simulation answered is called simulated in the session's details, on Home and on Usage", async () => {
    const page = await world.open("/");
    await page.locator(".legend li", { hasText: /claude-sonnet.*simulated.*simulated/s }).waitFor();
    await page.getByText(/\d simulated tokens in 7 days/).waitFor();
    await page.locator(".lastlist a", { hasText: "Refund order A17" }).click();
    await page.locator(".insp .kv div", { hasText: "Model" }).getByText("simulated", { exact: true }).waitFor();
    await page.goto(`${world.url}/usage`);
    await page.locator(".use-legend li", { hasText: /claude-sonnet.*simulated/s }).waitFor();
    for (const name of [/^claude-sonnet/, /^Refund order A17/, /^Demo/])
      await page.locator(".tbl tr", { hasText: name }).getByText("simulated", { exact: true }).waitFor();
    // Nothing has a cost, so no row has a bar.
    const bars = await page.locator(".hbar").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width));
    expect(new Set(bars)).toEqual(new Set([0]));
    await page.getByText("The calls that write the titles of sessions are counted too.").waitFor();
    const [session] = (await world.client.listSessions({})).data;
    await page.goto(`${world.url}/sessions/${session?.id}/context`);
    await page.locator(".ctxhead").getByText("simulated tokens, not sent to claude-sonnet").waitFor();
    await page.locator(".ctx-side .fig").getByText("simulated", { exact: true }).waitFor();
    await page.locator(".blk-h", { hasText: /^\s*\+?\s*(new)?\s*1 tool\b/ }).waitFor();
    expect(await page.locator(".ctx").getByText("$0").count()).toBe(0);
    await page.close();
  });

  test("after the demo, Home says what to do next, until there is an agent of one's own", async () => {
    const page = await world.open("/");
    const card = page.locator("section.first", { hasText: "After the demo" });
    await card.getByRole("link", { name: "HTTP API" }).click();
    await page.locator("h1", { hasText: "Reference" }).waitFor();
    await page.goBack();
    await card.getByRole("link", { name: "Add a model" }).click();
    await page.getByLabel("Name of a model").waitFor();
    await page.goBack();
    await card.getByRole("link", { name: "Make an agent of your own" }).click();
    await page.getByText("There is no tool to choose. The tool of the demo works only in the demo.").waitFor();
    await page.getByRole("dialog").getByLabel("Name", { exact: true }).fill("Mine");
    await page.getByRole("dialog").getByRole("button", { name: "Make agent" }).click();
    await page.locator("h1", { hasText: "Mine" }).waitFor();
    await page.goto(`${world.url}/`);
    await page.locator(".lastlist a", { hasText: "Refund order A17" }).waitFor();
    await expect.poll(() => card.count()).toBe(0);
    await page.close();
  });

  test("a page says once that the server is gone and since when; when the server is back, the page says nothing of it", async () => {
    const { data: agents } = await world.client.listAgents({});
    const demo = agents.find(({ name }) => name === "Demo")?.id ?? "";
    const { id } = await world.client.createSession({ body: { agent_id: demo, title: "A refund" } });
    const page = await world.open(`/sessions/${id}`, await world.newContext("UTC"));
    await page.getByText("No messages yet").waitFor();
    const text = "Refund order B99, amount 7";
    await world.client.postMessage({ params: { session_id: id }, body: { role: "user", content: { text } } });
    await page.getByText("Let demo_refund run?").waitFor();
    const shownAt = new Date().toISOString().slice(11, 19);
    const card = page.locator("article.ask");
    await world.crash(async () => {
      await card.getByRole("button", { name: "Approve" }).click();
      await card.getByText("The server cannot be reached").waitFor();
      const note = await page.getByText("No connection for").innerText();
      expect((/from (\S+)\.$/.exec(note) ?? [])[1], note).toSatisfy((from: string) => from >= shownAt);
      expect(await page.locator(".net").count()).toBe(1);
    });
    // Nothing happens in the session until the approval is sent again.
    await expect.poll(() => page.locator(".net, .ask-problem").count()).toBe(0);
    await card.getByRole("button", { name: "Approve" }).click();
    await page.locator(".top .pill.done").waitFor();
    await page.close();
  });

  test("a user with an agent of their own is offered this agent, and no demo", async () => {
    const { data: agents } = await world.client.listAgents({});
    for (const { id } of agents) await world.client.archiveAgent({ params: { agent_id: id } });
    const { data: sessions } = await world.client.listSessions({});
    for (const { id } of sessions) await world.client.deleteSession({ params: { session_id: id } });
    await world.client.createAgent({ body: { name: "Own" } });
    const page = await world.open("/");
    await page.getByRole("button", { name: "Run with Own" }).waitFor();
    expect(await page.getByText("demo").count()).toBe(0);
    await page.close();
  });
});
