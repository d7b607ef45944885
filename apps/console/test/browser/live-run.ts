import { describe, expect, test } from "vitest";
import type { World } from "./world.ts";

const words = Array.from({ length: 60 }, (_, at) => `word${at}`).join(" ");

/** A run while it happens: over a crash, steered, interrupted, cancelled. */
export function describeLiveRun(shared: { readonly world: World }): void {
  describe("a live run", () => {
    test("is watched through a crash of the server, with nothing missing and nothing twice", async () => {
      const { world } = shared;
      const prompt = "Tell me sixty words";
      const id = await world.begin("Helper", prompt, [{ text: words, chunk: 8, chunkDelayMs: 25 }]);
      const page = await world.open(`/sessions/${id}`);
      await page.locator(".md", { hasText: "word3" }).waitFor();
      await world.crash(() => page.getByText("No connection for").waitFor({ timeout: 15_000 }));
      await page.locator(".top .pill.done").waitFor({ timeout: 25_000 });
      await page.getByText("No connection for").waitFor({ state: "detached" });
      const text = await page.locator(".transcript").innerText();
      expect(text.split("word59")).toHaveLength(2);
      expect(text.replaceAll(/\s+/g, " ")).toContain(words);
      expect(text.split(prompt)).toHaveLength(2);
      await page.close();
    });

    test("text appears while it is generated, and the page stays at its end", async () => {
      const { world } = shared;
      const long = Array.from({ length: 40 }, (_, at) => `Paragraph ${at} of a long answer.`).join("\n\n");
      const id = await world.begin("Helper", "A long answer please", [{ text: long, chunk: 40, chunkDelayMs: 15 }]);
      const page = await world.open(`/sessions/${id}`);
      await page.getByText("Paragraph 39").waitFor();
      await page.locator(".top .pill.done").waitFor();
      const gap = await page
        .locator(".transcript .scroll")
        .evaluate((one) => one.scrollHeight - one.scrollTop - one.clientHeight);
      expect(gap).toBeLessThan(60);
      await page.close();
    });

    test("a message interrupts a run and takes its place, and a run is cancelled", async () => {
      const { world } = shared;
      const slow = [{ text: words, chunk: 4, chunkDelayMs: 40 }];
      const id = await world.begin("Helper", "Begin slowly", slow);
      world.model.plays("Stop that and say done", [{ text: "Done instead." }]);
      world.model.plays("Then go on for ever", [{ text: words, chunk: 2, chunkDelayMs: 60 }]);
      const page = await world.open(`/sessions/${id}`);
      const field = page.getByLabel(/^Write to/);
      await page.getByRole("button", { name: "Interrupt" }).click();
      await field.fill("Stop that and say done");
      await field.press("Enter");
      await page.getByText("Done instead.").waitFor();
      await field.fill("Then go on for ever");
      await field.press("Enter");
      await page.getByRole("button", { name: /Cancel/ }).click();
      await page.locator(".top .pill.cancelled").waitFor();
      await page.close();
    });

    test("a message steers the run that is under way", async () => {
      const { world } = shared;
      const id = await world.begin("Fixer", "Look, then say", [
        { text: words, chunk: 8, chunkDelayMs: 60, tools: [{ name: "Grep", input: { pattern: "schedule:" } }] },
        { text: "Said after the look." },
      ]);
      world.model.plays("And be brief", [{ text: "Brief." }]);
      const page = await world.open(`/sessions/${id}`);
      await page.getByRole("button", { name: "Steer" }).click();
      await page.getByLabel(/^Write to/).fill("And be brief");
      await page.getByLabel(/^Write to/).press("Enter");
      await page.locator(".you .chip", { hasText: "steered" }).waitFor();
      await page.getByText("Brief.", { exact: true }).waitFor();
      expect(await page.locator(".you").count()).toBe(2);
      await page.close();
    });

    test("a session that is deleted while it is open says so and stays readable", async () => {
      const { world } = shared;
      const id = await world.begin("Helper", "Say three", [{ text: "Three." }]);
      const page = await world.open(`/sessions/${id}`);
      await page.getByText("Three.", { exact: true }).waitFor();
      await expect
        .poll(async () => (await world.client.getSession({ params: { session_id: id } })).activity)
        .toBe("idle");
      await world.client.deleteSession({ params: { session_id: id } });
      await page.getByText("This session was deleted").waitFor();
      await page.getByText("Three.", { exact: true }).waitFor();
      await page.close();
    });
  });
}
