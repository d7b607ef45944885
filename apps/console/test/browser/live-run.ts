import { describe, test } from "vitest";
import type { World } from "./world.ts";

const words = Array.from({ length: 60 }, (_, at) => `word${at}`).join(" ");

/** Runs in progress, which are steered, interrupted or cancelled. */
export function describeLiveRun(shared: { readonly world: World }): void {
  describe.concurrent("a live run", () => {
    test("text appears while it is generated, and the page stays scrolled to the end of the text", async ({
      expect,
    }) => {
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

    test("while text is streamed, neither the frame of the page nor the text further up moves", async ({ expect }) => {
      const { world } = shared;
      const before = Array.from({ length: 40 }, (_, at) => `Line ${at} of an earlier answer.`).join("\n\n");
      const id = await world.begin("Helper", "An answer to read", [{ text: before }]);
      const page = await world.open(`/sessions/${id}`);
      await page.locator(".top .pill.done").waitFor();
      await world.say(id, "And a long one", [{ text: words.repeat(40), chunk: 6, chunkDelayMs: 15 }]);
      await page.locator(".said.is-live").waitFor();
      // The reader has scrolled half a page up from the end.
      await page.locator(".transcript .scroll").hover();
      const read = page.getByText("Line 20 of an earlier answer.");
      await expect
        .poll(async () => {
          await page.mouse.wheel(0, -300);
          return (await read.isVisible()) && ((await read.boundingBox())?.y ?? 0) > 200;
        })
        .toBe(true);
      const seen = (await page.evaluate(`new Promise((done) => {
        const places = { head: ".top", timeline: ".tl", prompt: ".pbox", tabs: ".insp [role=tablist]" };
        const line = [...document.querySelectorAll(".md p")].find((one) => one.textContent.startsWith("Line 20 "));
        const seen = {};
        const until = performance.now() + 2000;
        const look = () => {
          const now = Object.entries(places).map(([name, place]) => [name, document.querySelector(place)]);
          for (const [name, one] of [...now, ["line", line]]) {
            const { top, height } = one.getBoundingClientRect();
            (seen[name] ??= new Set()).add(Math.round(top) + " " + Math.round(height));
          }
          if (performance.now() < until) requestAnimationFrame(look);
          else done(Object.fromEntries(Object.entries(seen).map(([name, places]) => [name, [...places]])));
        };
        setTimeout(look, 500);
      })`)) as Record<string, readonly string[]>;
      for (const [name, places] of Object.entries(seen)) expect([name, places]).toEqual([name, [places[0]]]);
      // The first answer may be complete by now, so the text must grow again: "New below" appears only then.
      await world.say(id, "And one more", [{ text: "More." }]);
      await page.getByRole("button", { name: /New below/ }).waitFor();
      await page.close();
    });

    test("a message interrupts a run and starts a new run, a run can be cancelled, and the worker is shown during a run", async () => {
      const { world } = shared;
      const slow = [{ text: words.repeat(100), chunk: 4, chunkDelayMs: 40 }];
      const id = await world.begin("Helper", "Begin slowly", slow);
      world.model.plays("Stop that and say done", [{ text: "Done instead." }]);
      world.model.plays("Then go on for ever", [{ text: words.repeat(100), chunk: 2, chunkDelayMs: 60 }]);
      const page = await world.open(`/sessions/${id}`);
      const field = page.getByLabel(/^Write to/);
      const worker = page.locator(".insp dt", { hasText: "Worker" });
      await worker.waitFor();
      await page.getByRole("button", { name: "Interrupt" }).click();
      await field.fill("Stop that and say done");
      await field.press("Enter");
      await page.getByText("Done instead.").waitFor();
      await field.fill("Then go on for ever");
      await field.press("Enter");
      await page.getByRole("button", { name: /Cancel/ }).click();
      await page.locator(".top .pill.cancelled").waitFor();
      await worker.waitFor({ state: "detached" });
      await page.close();
    });

    test("a steering message becomes part of the run in progress instead of starting a new run", async ({ expect }) => {
      const { world } = shared;
      world.model.plays("And be brief", [{ text: "Brief." }]);
      // The tool call waits for an approval, so the run stays in progress.
      const id = await world.begin("Infra", "Look, then say", [
        { tools: [{ name: "Bash", input: { command: "git log --oneline -20 src/jobs" } }] },
        { text: "Said after the look." },
      ]);
      const page = await world.open(`/sessions/${id}`);
      await page.getByRole("button", { name: "Steer" }).click();
      await page.getByLabel(/^Write to/).fill("And be brief");
      await page.getByLabel(/^Write to/).press("Enter");
      await page.getByText("And be brief").first().waitFor();
      await page.locator("article.ask").getByRole("button", { name: "Approve" }).click();
      await page.locator(".you .chip", { hasText: "steered" }).waitFor();
      await page.getByText("Brief.", { exact: true }).waitFor();
      expect(await page.locator(".you").count()).toBe(2);
      await page.close();
    });

    test("if a session is deleted while its page is open, the page reports the deletion and stays readable", async ({
      expect,
    }) => {
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
