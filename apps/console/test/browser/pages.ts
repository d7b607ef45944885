import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { createClient } from "@skein/client";
import axeCore from "axe-core";
import { describe, test } from "vitest";
import type { Page } from "playwright-core";
import { writeClaudeSessions } from "../../dev/stories/claude-code.ts";
import { type World, go } from "./world.ts";

/** Finds form fields that reach beyond the screen of a phone, or are too narrow for a word. */
const FIELDS = `[...document.querySelectorAll("main form input:not(.sr), main form select, main form textarea")]
  .map((one) => [one.getBoundingClientRect(), one.outerHTML.slice(0, 100)])
  .filter(([{ left, right, width }]) => width > 0 && (left < 0 || right > innerWidth || width < 120))
  .map(([, html]) => html)`;

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** Tests all pages: their content, and their use with the keyboard, on a phone and with assistive technology. */
export function describePages(shared: { readonly world: World }): void {
  describe.concurrent("every page", () => {
    test("axe finds no serious accessibility problem in the light or dark theme, every page has a title, and no page logs an error", async ({
      expect,
    }) => {
      const { world } = shared;
      const context = await world.newContext();
      const errors: string[] = [];
      context.on("console", (message) => {
        // The browser logs a line for each HTTP status 429. A page gets this status while other requests use SQL, and
        // then repeats its request.
        if (message.type() === "error" && !message.text().includes("status of 429")) errors.push(message.text());
      });
      context.on("weberror", (error) => errors.push(error.error().message));
      const id = await world.begin("Fixer", "For axe", [
        {
          thinking: "x",
          text: "| a | b |\n|---|---|\n| 1 | 2 |\n\n- [ ] open",
          tools: [
            { name: "Bash", input: { command: "npm test -- lock" } },
            { name: "Read", input: { file_path: "x" } },
          ],
        },
        { text: "End of it." },
      ]);
      const page = await world.open("/", context);
      const found: string[] = [];
      const titles = new Set<string>();
      const tabs = ["effects", "events"].map((tab) => `/sessions/${id}?tab=${tab}`);
      const pages = [
        "/",
        "/sessions",
        `/sessions/${id}`,
        ...tabs,
        `/sessions/${id}/context`,
        "/agents",
        "/agents?new=1",
        `/history/${await claudeSession(world)}`,
      ];
      const settings = ["", "/keys", "/models", "/webhooks", "/audit"].map((part) => `/settings${part}`);
      for (const path of [...pages, "/usage", "/usage?by=key", "/sql", ...settings]) {
        await go(page, path);
        await expect.poll(() => page.title(), { message: path }).toMatch(/^.+ · Skein$/);
        titles.add(await page.title());
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
          for (const { id: rule, impact, nodes } of await axe(page, colorScheme === "dark"))
            if (impact === "serious" || impact === "critical")
              found.push(`${path} ${colorScheme}: ${rule}: ${nodes[0]?.html.slice(0, 160)}`);
        }
      }
      expect(found).toEqual([]);
      expect(errors).toEqual([]);
      expect([...titles]).toEqual(
        expect.arrayContaining(["Home · Skein", "For axe · Skein", "Keys · Settings · Skein", "SQL · Skein"]),
      );
      await page.close();
    }, 120_000);

    test("a session without a title is shown by its first prompt in every list", async () => {
      const { world } = shared;
      const agent = await world.client.createAgent({ body: { name: "Untitled" } });
      const { id } = await world.client.createSession({ body: { agent_id: agent.id } });
      await world.say(id, "Count the lemons\nin the crate", [{ text: "Eleven." }]);
      const page = await world.open("/sessions");
      await page.locator(".srow", { hasText: "Count the lemons in the crate" }).waitFor();
      await page.getByRole("link", { name: "Home" }).first().click();
      await page.locator(".lastlist li", { hasText: "Count the lemons in the crate" }).waitFor();
      await page.goto(`${world.url}/sessions/${id}`);
      await page.locator("h1", { hasText: "Count the lemons" }).waitFor();
      await page.close();
    });

    test("agents with the same name are told apart on every page", async ({ expect }) => {
      const { world } = shared;
      const sessions: { readonly id: string; readonly name: string }[] = [];
      for (const title of ["One of the twins", "The other of the twins"]) {
        const agent = await world.client.createAgent({ body: { name: "Twin" } });
        const { id } = await world.client.createSession({ body: { agent_id: agent.id, title } });
        await world.say(id, title, [{ text: "Yes." }]);
        sessions.push({ id, name: `Twin …${agent.id.slice(-4)}` });
      }
      const names = sessions.map(({ name }) => name);
      const page = await world.open("/sessions?q=twins");
      for (const name of names) await page.locator(".srow .c-agent", { hasText: name }).waitFor();
      await go(page, "/");
      for (const name of names) await page.locator(".lastlist li", { hasText: name }).waitFor();
      await page.setViewportSize({ width: 390, height: 844 });
      const place = page.locator(".lastlist li", { hasText: names[0] ?? "" }).locator(".w-place");
      expect((await place.boundingBox())?.width, "the width of the agent's name on a phone").toBeGreaterThan(50);
      await go(page, "/agents");
      for (const name of names) await page.getByRole("link", { name, exact: true }).waitFor();
      await page.getByRole("link", { name: names[0] ?? "", exact: true }).click();
      await page.locator("h1", { hasText: names[0] ?? "" }).waitFor();
      await page.setViewportSize({ width: 1280, height: 800 });
      await go(page, `/sessions/${sessions[1]?.id}`);
      await page.getByRole("link", { name: names[1] ?? "", exact: true }).waitFor();
      await page.close();
    });

    test("a new session needs a prompt, and its form says what the chosen agent is", async ({ expect }) => {
      const { world } = shared;
      const { id, name } = await world.client.createAgent({ body: { name: "Plain agent for nothing" } });
      const page = await world.open("/");
      await page.getByRole("button", { name: "New session" }).click();
      const dialog = page.getByRole("dialog");
      const agent = dialog.locator("select");
      await agent.selectOption(id);
      await dialog.getByText("No instructions and no tools: only the model answers.").waitFor();
      await dialog.getByRole("button", { name: "Start" }).click();
      await dialog.getByText("Write a prompt.").waitFor();
      const prompt = dialog.getByLabel("Prompt", { exact: true });
      await dialog.locator("textarea:focus").waitFor();
      expect((await world.client.listSessions({ query: { agent_id: id } })).data).toEqual([]);
      await prompt.press("Control+Enter");
      await prompt.fill("Anything");
      await dialog.getByText("Write a prompt.").waitFor({ state: "detached" });
      const fixer = (await world.client.listAgents({ query: { limit: 200 } })).data.find((one) => one.name === "Fixer");
      await agent.selectOption(fixer?.id ?? name);
      await dialog.getByText(/Tools: .*Bash/).waitFor();
      expect(await dialog.getByText("This server does not have").count()).toBe(0);
      await page.close();
    });

    test("an agent whose tools this server does not have is marked, also in the form of a new session", async ({
      expect,
    }) => {
      const { world } = shared;
      const { data: agents } = await world.client.listAgents({ query: { limit: 200 } });
      const billing = agents.find(({ name }) => name === "Billing")?.id ?? "";
      const page = await world.open("/agents");
      const card = (name: string) => page.locator(".card.agent", { hasText: name });
      await card("Billing").waitFor();
      expect(await page.locator(".agent-h .chip.waiting").count()).toBe(0);
      // The server lists its tools as if it had been started again without its file of tools, except for one tool.
      const { data: tools } = await world.client.listTools();
      const data = tools.filter(({ name }) => name === "find_invoices");
      await page.route("**/v1/tools", (route) => route.fulfill({ json: { data } }));
      await page.reload();
      await card("Billing").getByText("tool missing", { exact: true }).waitFor();
      await card("Fixer").getByText("tools missing", { exact: true }).waitFor();
      const sentence = "This server does not have the tool refund_payment. A session of this agent waits";
      await go(page, `/agents/${billing}`);
      await page.getByText(sentence).waitFor();
      await page.keyboard.press("n");
      await page.getByRole("dialog").locator("select").selectOption(billing);
      await page.getByRole("dialog").getByText(sentence).waitFor();
      await page.close();
    });

    test("a session without messages has its field for the first message at the bottom, and no empty timeline", async ({
      expect,
    }) => {
      const { world } = shared;
      const page = await world.open(`/sessions/${await world.create("Helper", "Still empty")}`);
      await page.getByText("No messages yet").waitFor();
      expect(await page.locator(".tl").isVisible()).toBe(false);
      const box = await page.locator(".pbox").boundingBox();
      expect((box?.y ?? 0) + (box?.height ?? 0)).toBeGreaterThan(760);
      await page.close();
    });

    test("the link to a new agent opens the form, and a page reports that its script cannot be loaded", async () => {
      const { world } = shared;
      const page = await world.open("/agents/new");
      await page.getByRole("dialog").getByLabel("Name", { exact: true }).waitFor();
      await page.route("**/assets/usage-page-*", (route) => route.abort());
      await page.goto(`${world.url}/usage`);
      await page.getByText("This part of the console could not be loaded").waitFor();
      await page.unroute("**/assets/usage-page-*");
      await page.getByRole("button", { name: "Load the page again" }).click();
      await page.locator("h1", { hasText: "Usage" }).waitFor();
      await page.close();
    });

    test("the search runs while the user types, the URL contains the filters, and the keyboard opens a session", async ({
      expect,
    }) => {
      const { world } = shared;
      await world.begin("Helper", "A needle in the list", [{ text: "This is said only in an answer." }]);
      const page = await world.open("/sessions");
      await page.locator(".srow", { hasText: "A needle in the list" }).waitFor();
      await page.keyboard.press("/");
      await page.keyboard.type("needle");
      await expect.poll(() => page.locator(".srow:not(.shead)").count()).toBe(1);
      await expect.poll(() => page.url()).toContain("q=needle");
      await page.getByRole("searchbox").fill("said only in an answer");
      await page.locator(".excerpt", { hasText: "said only in an answer" }).waitFor();
      expect(await page.getByText("cannot be searched").count()).toBe(0);
      await page.keyboard.press("Escape");
      await page.keyboard.press("j");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/sessions\/.+/);
      await page.close();
    });

    test("the command palette, the list of keyboard shortcuts and other pages are opened with the keyboard alone", async () => {
      const { world } = shared;
      const page = await world.open("/");
      await page.locator("h1", { hasText: "Home" }).waitFor();
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").fill("usag");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/usage/);
      await page.keyboard.press("?");
      await page.getByRole("dialog").getByText("Everywhere").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.keyboard.press("g");
      await page.keyboard.press("q");
      await page.waitForURL(/\/sql/);
      await page.close();
    });

    test.skipIf(!existsSync("/usr/bin/bwrap"))(
      "a SQL statement is run, its rows are shown, and the URL contains the statement",
      async ({ expect }) => {
        const { world } = shared;
        const id = await world.begin("Helper", "For SQL", [{ text: "Asked." }]);
        await expect
          .poll(async () => (await world.client.getSession({ params: { session_id: id } })).outcome)
          .toBe("completed");
        // Waits until SQL is ready: the first statement starts a sandbox, and earlier statements may still be running.
        const headers = { "x-api-key": world.platform.key, "content-type": "application/json" };
        const request = { method: "POST", headers, body: JSON.stringify({ sql: "SELECT 1" }) };
        await expect
          .poll(async () => (await fetch(`${world.url}/v1/sql`, request)).status, { timeout: 100_000 })
          .toBe(200);
        const schema = (): Promise<Response> => fetch(`${world.url}/v1/sql/schema`, { headers });
        await expect.poll(async () => (await schema()).status, { timeout: 100_000 }).toBe(200);
        const page = await world.open("/sql");
        await page.getByText("because the tables of coding agents are off").waitFor();
        await page.getByRole("button", { name: "How do sessions end?" }).click();
        await page.locator(".res tbody tr, .sql-problem").first().waitFor({ timeout: 80_000 });
        expect(await page.locator(".sql-problem").allInnerTexts()).toEqual([]);
        await expect.poll(() => page.url()).toContain("q=");
        await page.getByRole("button", { name: "Chart" }).click();
        await page.locator(".resfig rect").first().waitFor();
        await page.getByRole("button", { name: /platform\.sessions/ }).click({ timeout: 80_000 });
        await page.getByRole("button", { name: /finished_at/ }).waitFor();
        // SQL cannot read the files of coding agents here. The answer says which setting allows it.
        await page.setViewportSize({ width: 390, height: 844 });
        await page.getByRole("button", { name: "Questions", exact: true }).click();
        const agents = page.getByRole("region", { name: "Questions: All coding agents" });
        await agents.getByRole("button", { name: /Which coding agents did I use/ }).click();
        await page.getByText("The setting SKEIN_SQL_HISTORY turns them on").waitFor({ timeout: 80_000 });
        expect(await agents.isVisible()).toBe(false);
        // The list of questions has its whole height above an answer, and Escape and Run close it.
        const questions = page.getByRole("button", { name: "Questions", exact: true });
        await questions.click();
        const [tree, last, editor] = await Promise.all(
          [".tree", ".tree > ul > li:last-child", ".ed"].map((part) => page.locator(part).last().boundingBox()),
        );
        expect(tree?.height).toBeGreaterThan(300);
        expect((last?.y ?? 0) + (last?.height ?? 0)).toBeLessThanOrEqual(editor?.y ?? 0);
        await page.getByLabel("Find a table or column").press("Escape");
        await agents.waitFor({ state: "hidden" });
        await questions.click();
        await page.getByRole("button", { name: "Run", exact: true }).click();
        await agents.waitFor({ state: "hidden" });
        // A phone shows whole lines of the statement.
        const line = page.locator(".ed .cm-content");
        expect(
          await line.evaluate((one) => one.scrollWidth - (one.parentElement?.clientWidth ?? 0)),
        ).toBeLessThanOrEqual(0);
        await page.close();
      },
    );

    test("the first page loads at most 250 kB of script, gzipped", async ({ expect }) => {
      const { world } = shared;
      const page = await (await world.newContext()).newPage();
      const scripts = new Set<string>();
      page.on("response", (response) => {
        if (response.url().endsWith(".js")) scripts.add(response.url());
      });
      await page.goto(`${world.url}/#key=${world.platform.key}`);
      await page.locator("h1", { hasText: "Home" }).waitFor();
      await go(page, "/");
      const sizes = await Promise.all(
        [...scripts].map(async (url) => [url, gzipSync(await (await fetch(url)).bytes()).length] as const),
      );
      const all = sizes.reduce((sum, [, size]) => sum + size, 0);
      expect(all, sizes.join("\n")).toBeLessThan(250_000);
      await page.close();
    });

    test("sessions with a tool call whose effect is unknown are marked in the list, and can be filtered", async ({
      expect,
    }) => {
      const { world } = shared;
      const id = await world.begin("Fixer", "Lose a result", [
        { tools: [{ name: "Read", input: { file_path: "x" } }] },
        { text: "Read." },
      ]);
      await expect
        .poll(async () => (await world.client.getSession({ params: { session_id: id } })).outcome)
        .toBe("completed");
      const log = await world.client.exportSession({ params: { session_id: id }, query: { format: "json" } });
      const { events } = log as { events: { event_type: string; data: Record<string, unknown> }[] };
      for (const { event_type, data } of events) {
        if (event_type === "tool.completed") Object.assign(data, { outcome: "unknown", is_error: true });
        if (event_type === "session.created") data["title"] = "Lost a result";
      }
      const lost = await world.client.importSession({ body: log });
      const page = await world.open("/sessions");
      await page.locator(".srow", { hasText: "Lost a result" }).getByTitle("An effect is unknown").waitFor();
      await page.getByRole("button", { name: "Status" }).click();
      await page.getByRole("menuitem", { name: "Effect unknown" }).click();
      await page.waitForURL(/status=unknown/);
      await page.locator(".srow", { hasText: "Lost a result" }).waitFor();
      await page.locator(".srow", { hasText: "Lose a result" }).waitFor({ state: "detached" });
      // The page of the session shows the same state as the list. A fork shows the effect of the call as unknown too.
      await page.goto(`${world.url}/sessions/${lost.id}`);
      await page.locator(".top .pill.done").waitFor();
      await page.locator(".top").getByTitle("The effect of a call is unknown").waitFor();
      await page.getByText("It is unknown whether this call took effect").waitFor();
      const fork = await world.client.forkSession({ params: { session_id: lost.id }, body: {} });
      await page.goto(`${world.url}/sessions/${fork.id}`);
      await page.locator(".call .st.unknown").waitFor();
      await page.close();
    });

    test("the audit log shows who did what, and can be filtered by clicking", async ({ expect }) => {
      const { world } = shared;
      const { key } = await world.client.createKey({ body: { name: "may only read", scopes: ["read"] } });
      const { id, name } = await world.client.createKey({ body: { name: "for the audit", scopes: ["read"] } });
      await world.client.revokeKey({ params: { key_id: id } });
      await createClient({ url: world.url, apiKey: key ?? "" })
        .createAgent({ body: { name: "Forbidden" } })
        .catch(() => undefined);
      const page = await world.open("/settings");
      await page.getByRole("link", { name: "Audit log" }).click();
      await page.locator(".audit li", { hasText: "Revoked a key" }).first().waitFor();
      await page.getByRole("button", { name: "Made a key" }).first().click();
      await page.waitForURL(/action=key.create/);
      await page.locator(".audit li", { hasText: "Revoked a key" }).first().waitFor({ state: "detached" });
      expect(await page.locator(".audit li").first().innerText()).toContain(name);
      await page.getByRole("button", { name: "Refused" }).click();
      await page.waitForURL(/outcome=refused/);
      await page.goto(`${world.url}/settings/audit?outcome=refused`);
      await page.locator(".audit li", { hasText: "Tried to make an agent" }).first().waitFor();
      await page.close();
    });

    test("the usage chart can be divided by API key, and its days begin at midnight in the reader's time zone", async ({
      expect,
    }) => {
      const { world } = shared;
      const id = await world.begin("Helper", "Spend something", [{ text: "Spent." }]);
      await expect
        .poll(async () => (await world.client.getSession({ params: { session_id: id } })).outcome)
        .toBe("completed");
      const context = await world.newContext("Pacific/Kiritimati");
      const asked: string[] = [];
      context.on("request", (request) => asked.push(request.url()));
      const page = await world.open("/usage?by=key", context);
      await page.getByRole("button", { name: "Key", pressed: true }).waitFor();
      await page.locator(".use-legend", { hasText: "SKEIN_API_KEY" }).waitFor();
      await page.getByRole("heading", { name: "Keys" }).waitFor();
      const zones = asked.filter((url) => url.includes("/v1/usage")).map((url) => new URL(url).searchParams);
      expect(zones.some((query) => query.get("time_zone") === "Pacific/Kiritimati")).toBe(true);
      // Midnight in that time zone is 10:00 UTC on the day before.
      expect(zones.map((query) => query.get("from")).filter((from) => from !== null)).toContainEqual(
        expect.stringMatching(/T10:00:00/),
      );
      await page.close();
    });

    test("the usage chart is not wider than the page, even if the usage by day arrives last", async ({ expect }) => {
      const { world } = shared;
      await world.begin("Helper", "Spend something for the chart", [{ text: "Spent." }]);
      const page = await world.open("/");
      await page.setViewportSize({ width: 390, height: 844 });
      let answerDays = (): void => undefined;
      const isShown = new Promise<void>((resolve) => {
        answerDays = resolve;
      });
      await page.route(/\/v1\/usage\?group_by=day/, async (route) => {
        await isShown;
        await route.continue();
      });
      await go(page, "/usage");
      await page.getByRole("heading", { name: "Models" }).waitFor();
      answerDays();
      const chart = page.locator(".bars-box > svg");
      await chart.waitFor();
      await expect.poll(async () => (await chart.boundingBox())?.width).toBeLessThanOrEqual(390);
      await page.close();
    });

    test("the page of webhooks has a button that sends a delivery again", async ({ expect }) => {
      const { world } = shared;
      const received: string[] = [];
      const hooked = createServer((request, answer) => {
        received.push(String(request.headers["webhook-id"]));
        answer.end();
      }).listen(0, "127.0.0.1");
      await once(hooked, "listening");
      const url = `http://127.0.0.1:${(hooked.address() as AddressInfo).port}/hook`;
      const { id } = await world.client.createWebhook({ body: { url, events: ["session.completed"] } });
      await world.begin("Helper", "Tell the hook", [{ text: "Told." }]);
      await expect.poll(() => received.length).toBeGreaterThan(0);
      const page = await world.open("/settings/webhooks");
      const row = page.locator("li", { hasText: url });
      await row.getByRole("button", { name: "Deliveries" }).click();
      const repeated = (): number => received.length - new Set(received).size;
      expect(repeated()).toBe(0);
      await row.getByRole("button", { name: "Send again" }).first().click();
      await expect.poll(repeated).toBe(1);
      await world.client.deleteWebhook({ params: { webhook_id: id } });
      await page.close();
      hooked.close();
    });

    test("a model is added with its address and key, tested, and removed, and its key is never shown", async ({
      expect,
    }) => {
      const { world } = shared;
      const page = await world.open("/settings/models");
      await page.getByLabel("Name of a model").fill("claude-of-the-test");
      await page.getByLabel("API of the model").selectOption("Anthropic Messages");
      await page.getByLabel("Address of the API").fill(world.model.url);
      await page.getByLabel("Key of the provider").fill("a-key-that-is-sealed");
      await page.getByRole("button", { name: "Add" }).click();
      const row = page.locator("li", { hasText: "claude-of-the-test" }).first();
      await row.waitFor();
      await row.getByText("key stored encrypted on this server").waitFor();
      expect(await page.content()).not.toContain("a-key-that-is-sealed");
      await row.getByRole("button", { name: "Test" }).click();
      await row.getByRole("button", { name: "Make nine small calls?" }).click();
      await row.locator(".trials li", { hasText: "text" }).waitFor();
      await row.getByRole("button", { name: "Remove" }).click();
      await row.getByRole("button", { name: "Really remove?" }).click();
      await row.waitFor({ state: "detached" });
      await page.close();
    });

    test("an agent is created and changed, and the new version shows the change", async () => {
      const { world } = shared;
      const page = await world.open("/agents?new=1");
      await page.getByRole("button", { name: "Make agent" }).click();
      await page.getByText("Write a name for the agent.").waitFor();
      await page.getByLabel("Model", { exact: true }).fill("gpt-9");
      await page.getByText("Skein does not know the model gpt-9.").waitFor();
      await page.getByLabel("Model", { exact: true }).fill("claude-haiku-5-5");
      await page.getByText("Skein does not know the model").waitFor({ state: "detached" });
      await page.getByLabel("Name", { exact: true }).fill("Poet");
      await page.getByLabel("System prompt").fill("Write verse.");
      await page.getByRole("button", { name: "Make agent" }).click();
      await page.waitForURL(/\/agents\/.+/);
      await page.getByRole("button", { name: "Change" }).click();
      await page.getByLabel("System prompt").fill("Write short verse.");
      await page.getByRole("button", { name: "Save as a new version" }).click();
      await page.getByText("version 2", { exact: true }).waitFor();
      await page.getByRole("button", { name: /Version 2/ }).click();
      await page.locator(".diff .a", { hasText: "short" }).waitFor();
      await page.close();
    });

    test("on a phone no page scrolls sideways, and the inspector of a session opens as a sheet", async ({ expect }) => {
      const { world } = shared;
      const id = await world.begin("Helper", "On the phone", [
        {
          text:
            "A long word: " +
            "x".repeat(300) +
            "\n\n| a | b | c | d | e | f |\n|---|---|---|---|---|---|\n| 1 | 2 | 3 | 4 | 5 | 6 |",
        },
      ]);
      await world.client.createAgent({ body: { name: `An agent with ${"quite ".repeat(9)}a long name` } });
      const page = await world.open("/");
      await page.setViewportSize({ width: 390, height: 844 });
      const settings = ["", "/keys", "/models", "/webhooks", "/audit"].map((part) => `/settings${part}`);
      const [agent] = (await world.client.listAgents({ query: { limit: 1 } })).data;
      const agents = ["/agents", `/agents/${agent?.id}`];
      for (const path of ["/", "/sessions", `/sessions/${id}`, ...agents, "/usage", "/sql", ...settings]) {
        await go(page, path);
        const sideways = (await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")) as number;
        expect([path, sideways <= 0]).toEqual([path, true]);
        const cards = (await page.evaluate(
          `[...document.querySelectorAll("main .card, main .audit code")].filter((one) => one.getBoundingClientRect().right > innerWidth).length`,
        )) as number;
        expect([path, cards]).toEqual([path, 0]);
        const fields = (await page.evaluate(FIELDS)) as readonly string[];
        expect([path, fields]).toEqual([path, []]);
      }
      await go(page, `/sessions/${id}`);
      await page.getByRole("button", { name: "Inspector" }).click();
      await page.getByRole("tab", { name: "Session" }).waitFor();
      await page.close();
    });

    test("the bar of the cost on the first page has no part for models without a cost, and ends at the right edge", async ({
      expect,
    }) => {
      const { world } = shared;
      await world.begin("Helper", "Something with a cost", [{ text: "Yes." }]);
      const page = await world.open("/");
      await page.route("**/v1/usage?*", async (route) => {
        const answer = (await (await route.fetch()).json()) as { readonly data: readonly { cost_micros: number }[] };
        const costly = answer.data.filter(({ cost_micros }) => cost_micros > 0).slice(0, 1);
        const free = ["one", "two", "three"].map((key) => ({
          ...answer.data[0],
          key,
          cost_micros: 0,
          cost_picos: "0",
        }));
        await route.fulfill({ json: { ...answer, data: [...costly, ...free] } });
      });
      const ends = `[".bars", ".bars > i"].map((part) => {
        const places = [...document.querySelectorAll(part)].map((one) => one.getBoundingClientRect());
        return Math.max(...places.filter(({ width }) => width > 0).map(({ right }) => right));
      })`;
      await expect
        .poll(async () => {
          await page.reload();
          await page.locator(".legend li", { hasText: "three" }).waitFor();
          return page.locator(".bars").count();
        })
        .toBe(1);
      const [bar, last] = (await page.evaluate(ends)) as [number, number];
      expect(Math.abs(bar - last)).toBeLessThan(0.6);
      await page.close();
    });

    test("a long title does not push the columns of the first page over each other, and no date wraps", async ({
      expect,
    }) => {
      const { world } = shared;
      const title = `A title of many words ${"that goes on and on ".repeat(11)}`;
      await world.say(await world.create("Helper", title.slice(0, 240)), "A long title", [{ text: "Yes." }]);
      const page = await world.open("/");
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.locator(".lastlist a", { hasText: "A title of many words" }).first().waitFor();
      const [left, right] = (await page.evaluate(
        `[...document.querySelectorAll(".home > .stack")].map((one) => one.getBoundingClientRect().left)`,
      )) as [number, number];
      const over = (await page.evaluate(
        `Math.max(...[...document.querySelectorAll(".home > .stack:first-child *")].map((one) => one.getBoundingClientRect().right))`,
      )) as number;
      expect([left < over, over <= right]).toEqual([true, true]);
      for (const [path, width] of [
        ["/", 1280],
        ["/sessions", 1280],
        ["/sessions", 390],
        ["/", 390],
      ] as const) {
        await page.setViewportSize({ width, height: 844 });
        await go(page, path);
        const date = path === "/" ? ".lastlist .w-when" : ".srow:not(.shead) .c-when";
        await page.locator(date).first().waitFor();
        const measured = await page.evaluate(longestDateIn(date));
        expect([path, width, measured]).toEqual([path, width, { lines: 1, isCut: false }]);
      }
      await page.close();
    });

    test("a link with a wrong key shows the login page, and typing the right key there shows the first page", async () => {
      const { world } = shared;
      const page = await (await world.newContext()).newPage();
      await page.goto(`${world.url}/#key=a-wrong-key-of-some-length`);
      await page.getByText("does not know this key").waitFor();
      await page.getByRole("button", { name: "Log in" }).click();
      await page.getByText("Enter a key.", { exact: true }).waitFor();
      await page.getByText("does not know this key").waitFor({ state: "detached" });
      await page.getByLabel("Key").fill(world.platform.key);
      await page.getByRole("button", { name: "Log in" }).click();
      await page.locator("h1", { hasText: "Home" }).waitFor();
      await page.close();
    });

    test("after the login no script in the browser can read the key; the login survives a reload and ends with the log-out", async ({
      expect,
    }) => {
      const { world } = shared;
      const context = await world.newContext();
      const page = await world.open("/settings", context);
      await page.getByText("Logged in until").waitFor();
      const kept =
        "JSON.stringify([location.href, document.cookie, {...localStorage}, {...sessionStorage}, history.state])";
      expect(await page.evaluate(kept)).not.toContain(world.platform.key);
      const [cookie] = (await context.cookies(world.url)).filter(({ name }) => name.startsWith("skein-"));
      expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
      expect(cookie?.value).not.toContain(world.platform.key);
      await page.reload();
      await page.getByText("Logged in until").waitFor();
      await page.getByRole("button", { name: "Log out" }).click();
      await page.getByLabel("Key").waitFor();
      await page.goto(`${world.url}/sessions`);
      await page.getByText("Enter an API key").waitFor();
      await page.close();
    });

    test("a first visit asks for a key, without an error and without a rejected request", async ({ expect }) => {
      const { world } = shared;
      const page = await (await world.newContext()).newPage();
      const rejected: string[] = [];
      page.on("response", (response) => void (response.status() >= 400 && rejected.push(response.url())));
      await page.goto(`${world.url}/sessions`);
      await page.getByLabel("Key").waitFor();
      await page.waitForLoadState("networkidle");
      expect(await page.getByRole("alert").count()).toBe(0);
      expect(rejected).toEqual([]);
      // Opening the printed link in the same tab logs in, although the browser does not load the page again.
      await page.goto(`${world.url}/sessions#key=${world.platform.key}`);
      await page.locator("h1", { hasText: "Sessions" }).waitFor();
      expect(page.url()).not.toContain(world.platform.key);
      await page.close();
    });

    test("the operator's caps are on the usage and settings pages, with their current use", async () => {
      const { world } = shared;
      const page = await world.open("/usage");
      const key = page.locator(".caps li", { hasText: "Key SKEIN_API_KEY" });
      await key.getByText(/of 60/).waitFor();
      await key.getByText(/of \$40/).waitFor();
      await page
        .locator(".caps li", { hasText: "Tenant default" })
        .getByText(/of \$100/)
        .waitFor();
      await page.goto(`${world.url}/settings`);
      await page
        .locator(".caps li", { hasText: "Key SKEIN_API_KEY" })
        .getByText("At 80 % of the limit, a run stops and asks a person.")
        .waitFor();
      await page.close();
    });

    test("the page of an archived agent has a button that restores the agent", async () => {
      const { world } = shared;
      const { id } = await world.client.createAgent({ body: { name: "Sleeper" } });
      const page = await world.open(`/agents/${id}`);
      await page.getByRole("button", { name: "Archive" }).click();
      await page.getByRole("button", { name: "Restore" }).click();
      await page.getByRole("button", { name: "Archive" }).waitFor();
      await page.close();
    });
  });
}

/** A short session of Claude Code. */
async function claudeSession({ claudeFolder }: World): Promise<string> {
  writeClaudeSessions(claudeFolder);
  return "3f6d2c1e-8a41-4d7b-9c0e-5b1f7a2d9e01";
}

/**
 * Runs axe, which the content security policy of the page would forbid, through the developer tools. With
 * `isColourOnly`, checks only the contrast.
 */
async function axe(page: Page, isColourOnly: boolean): Promise<readonly Violation[]> {
  const session = await page.context().newCDPSession(page);
  const evaluate = async (expression: string): Promise<unknown> => {
    const options = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await session.send("Runtime.evaluate", options);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  await evaluate(`window.axe ? 0 : (()=>{${axeCore.source}})() ?? 0`);
  const runOnly = isColourOnly ? ["color-contrast"] : ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
  const options = { resultTypes: ["violations"], runOnly };
  return (await evaluate(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.map(({ html }) => ({ html })) })))`,
  )) as readonly Violation[];
}

/** A script that puts the longest date into the first cell with this selector, and measures it. */
function longestDateIn(cell: string): string {
  return `{
    const cell = document.querySelector(${JSON.stringify(cell)});
    cell.textContent = "29 Sept 2025";
    const text = document.createRange();
    text.selectNodeContents(cell);
    const row = cell.closest("a, .srow").getBoundingClientRect();
    ({ lines: text.getClientRects().length, isCut: text.getBoundingClientRect().right > row.right });
  }`;
}
