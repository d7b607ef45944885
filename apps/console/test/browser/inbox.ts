import type { Page } from "playwright-core";
import { describe, test } from "vitest";
import { type World, go } from "./world.ts";

const question = {
  questions: [{ question: "Which colour?", header: "Colour", options: [{ label: "Blue" }, { label: "Green" }] }],
};

/** Questions, approvals and tools of the client, which a person answers on the first page. */
export function describeInbox(shared: { readonly world: World }): void {
  describe.concurrent("the inbox", () => {
    test("a person answers a question, an approval and a frontend tool on the first page", async ({ expect }) => {
      const { world } = shared;
      const ids = [
        await world.begin("Reports", "Ask me for a colour", [
          { tools: [{ name: "AskUserQuestion", input: question }] },
          { text: "Thanks: $LAST" },
        ]),
        await world.begin("Infra", "Move staging now", [
          { tools: [{ name: "Bash", input: { command: "npm run db:migrate" } }] },
          { text: "Moved." },
        ]),
        await world.begin("Desk", "Print label 1", [
          { tools: [{ name: "print_label", input: { parcel: "1", printer: "A", copies: 1 } }] },
          { text: "Printed: $LAST" },
        ]),
      ];
      const page = await world.open("/");
      const card = (title: string) => page.locator("article.ask", { hasText: title });
      await card("Ask me for a colour").getByText("Green").click();
      await card("Ask me for a colour").getByRole("button", { name: "Answer" }).click();
      await card("Move staging now").getByText("npm run db:migrate").waitFor();
      await card("Move staging now").getByRole("button", { name: "Approve" }).click();
      await card("Print label 1").getByLabel("Its result").fill("label 1 printed");
      await card("Print label 1").getByRole("button", { name: "Send the result" }).click();
      const ended = async (id: string) =>
        (await world.client.listRuns({ params: { session_id: id } })).data[0]?.final_response;
      await expect
        .poll(() => Promise.all(ids.map(ended)))
        .toEqual([expect.stringContaining("Green"), "Moved.", expect.stringContaining("label 1 printed")]);
      await page.close();
    });

    test("when two browsers approve a call at the same time, one succeeds and the other shows that somebody else has answered", async ({
      expect,
    }) => {
      const { world } = shared;
      const id = await world.begin("Infra", "Drop the old table", [
        { tools: [{ name: "Bash", input: { command: "drop table old" } }] },
        { text: "Dropped." },
      ]);
      const [first, second] = await Promise.all([world.open("/"), world.open("/")]);
      const approve = (page: Page) =>
        page.locator("article.ask", { hasText: "drop table old" }).getByRole("button", { name: "Approve" }).click();
      // The second browser's request is held back until the first browser has answered.
      const isAnswered = Promise.withResolvers<void>();
      await second.route(`**/v1/**/${id}/**`, async (route) => {
        if (route.request().method() === "POST") await isAnswered.promise;
        await route.continue();
      });
      await approve(second);
      await approve(first);
      await first.locator(".is-said", { hasText: "Approved" }).filter({ hasText: "Drop the old table" }).waitFor();
      isAnswered.resolve();
      await second.locator(".is-said", { hasText: "Somebody else has already answered this" }).waitFor();
      await first.goto(`${world.url}/sessions/${id}`);
      await first.getByText("Dropped.").waitFor();
      const effects = (await world.client.listEffects({ params: { session_id: id } })).data;
      expect(effects).toHaveLength(1);
      await Promise.all([first.close(), second.close()]);
    });

    test("a call that is approved with another input runs with that input, and the model gets a note about the change", async ({
      expect,
    }) => {
      const { world } = shared;
      const id = await world.begin("Infra", "List everything", [
        { tools: [{ name: "Bash", input: { command: "ls -R /" } }] },
        { text: "I was told: $LAST" },
      ]);
      const page = await world.open(`/sessions/${id}`);
      await page.locator("article.ask").getByRole("button", { name: "Change the input…" }).click();
      await page.getByLabel("command").fill("git log --oneline -20 src/jobs");
      await page.getByRole("button", { name: "Approve the changed call" }).click();
      await page.locator(".md", { hasText: "its input was changed to" }).waitFor();
      const [effect] = (await world.client.listEffects({ params: { session_id: id } })).data;
      expect(effect?.input).toEqual({ command: "git log --oneline -20 src/jobs" });
      await page.close();
    });

    test("a person opens the input of a call and approves it unchanged, and the model gets no note about a change", async ({
      expect,
    }) => {
      const { world } = shared;
      const id = await world.begin("Infra", "List the commits", [
        { tools: [{ name: "Bash", input: { command: "git log --oneline -20 src/jobs" } }] },
        { text: "I was told: $LAST" },
      ]);
      const page = await world.open(`/sessions/${id}`);
      await page.locator("article.ask").getByRole("button", { name: "Change the input…" }).click();
      await page.getByRole("button", { name: "Approve without a change" }).click();
      await page.locator(".md", { hasText: "I was told" }).waitFor();
      expect(await page.locator(".md", { hasText: "its input was changed to" }).count()).toBe(0);
      await page.close();
    });

    test("an approval is denied with a reason, using only the keyboard, and the call is shown as denied and not as failed", async ({
      expect,
    }) => {
      const { world } = shared;
      const id = await world.begin("Infra", "Delete everything", [
        { tools: [{ name: "Bash", input: { command: "rm -r data" } }] },
        { text: "I was told: $LAST" },
      ]);
      const page = await world.open(`/sessions/${id}`);
      await page.locator("article.ask").waitFor();
      await page.keyboard.press("d");
      await page.keyboard.type("Not today");
      await page.keyboard.press("Enter");
      await page.locator(".md", { hasText: "Not today" }).waitFor();
      await page.locator(".call .st.cancelled", { hasText: "Denied" }).waitFor();
      await page.getByRole("img", { name: /0 failed calls.*1 denied/ }).waitFor();
      await page.getByRole("tab", { name: "Tools" }).click();
      expect(await page.locator(".insp tr", { hasText: "Bash" }).locator("td").allInnerTexts()).toEqual([
        expect.stringMatching(/^Bash\s+1 denied$/),
        "1",
        "0",
        "–",
      ]);
      await page.getByRole("tab", { name: "Effects" }).click();
      await page.locator(".insp").getByText("0 calls took effect, 0 failed, 1 denied").waitFor();
      expect(await page.locator(".st.failed, .tl-span.failed").count()).toBe(0);
      await page.close();
    });

    test("on a phone, the field for the reason of a denial is as wide as the card, and a sentence says that the call still waits", async ({
      expect,
    }) => {
      const { world } = shared;
      const id = await world.begin("Infra", "Empty the bucket", [
        { tools: [{ name: "Bash", input: { command: "rm -r bucket" } }] },
        { text: "I was told: $LAST" },
      ]);
      const page = await world.open("/");
      await page.setViewportSize({ width: 390, height: 844 });
      const card = page.locator("article.ask", { hasText: "Empty the bucket" });
      const deny = card.getByRole("button", { name: "Deny" });
      await deny.click();
      const reason = card.getByLabel("Reason for the denial");
      const widths = await Promise.all([reason, card].map(async (one) => (await one.boundingBox())?.width ?? 0));
      expect(widths[0]).toBeGreaterThan((widths[1] ?? 0) - 60);
      await card.getByText("The call still waits. It is denied only when you press Deny again.").waitFor();
      expect((await world.client.listRuns({ params: { session_id: id } })).data[0]?.outcome).toBeNull();
      await deny.click();
      await page.locator(".is-said", { hasText: "Denied" }).filter({ hasText: "Empty the bucket" }).waitFor();
      await page.close();
    });

    test("a page in the background shows a browser notification for a new question, if notifications are on", async ({
      expect,
    }) => {
      const { world } = shared;
      const context = await world.newContext();
      await context.grantPermissions(["notifications"], { origin: world.url });
      await context.addInitScript(`{
        window.told = [];
        const Real = Notification;
        window.Notification = class {
          static get permission() { return Real.permission; }
          static requestPermission() { return Real.requestPermission(); }
          constructor(title, options) { window.told.push([title, options.body]); }
        };
        Object.defineProperty(document, "hidden", { get: () => window.isAway === true });
      }`);
      const page = await world.open("/settings", context);
      await page.getByRole("button", { name: "Turn on" }).click();
      await page.getByRole("button", { name: "Turn off" }).waitFor();
      const ask = (title: string) =>
        world.begin("Reports", title, [{ tools: [{ name: "AskUserQuestion", input: question }] }, { text: "Done." }]);
      const told = (): Promise<readonly (readonly string[])[]> => page.evaluate("window.told");
      const titles = async () => (await told()).map(([, body]) => body);
      // The page is visible and shows this question, so there is no notification.
      await ask("While somebody looks");
      await go(page, "/");
      await page.locator("article.ask", { hasText: "While somebody looks" }).waitFor();
      await page.evaluate("window.isAway = true");
      await ask("While nobody looks");
      await expect.poll(titles).toContain("While nobody looks");
      expect(await titles()).not.toContain("While somebody looks");
      expect((await told()).find(([, body]) => body === "While nobody looks")?.[0]).toBe("A question waits for you");
      await page.close();
    });
  });
}
