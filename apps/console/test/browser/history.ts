import { appendFileSync, mkdirSync, openSync, closeSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "vitest";
import { writeClaudeSessions } from "../../dev/stories/claude-code.ts";
import { PAYLOADS } from "./payloads.ts";
import { type World, go } from "./world.ts";

const LARGE = "9d2b7c10-5e4f-4b8a-a1c3-2f6e8d7b0a01";

/** Sessions of Claude Code and of Codex, in the same lists as those of Skein. */
export function describeHistory(shared: { readonly world: World }): void {
  describe.concurrent("sessions of Claude Code", () => {
    test("sessions of Claude Code are listed, found by their text, and adopted with one click", async ({ expect }) => {
      const { world } = shared;
      writeClaudeSessions(world.claudeFolder);
      const page = await world.open("/sessions?source=claude-code");
      const title = page.getByRole("link", { name: "Rotate the backup keys without a gap" });
      await title.waitFor();
      await page.setViewportSize({ width: 390, height: 844 });
      expect((await title.boundingBox())?.width, "the width of a title on a phone").toBeGreaterThan(150);
      await page.setViewportSize({ width: 1440, height: 900 });
      await go(page, "/sessions?sort=title&source=claude-code");
      await expect
        .poll(async () => {
          const titles = await page.locator(".srow a.strong").allInnerTexts();
          return (
            titles.length > 3 &&
            titles.every((one, at) => at === 0 || (titles[at - 1] ?? "").toLowerCase() <= one.toLowerCase())
          );
        })
        .toBe(true);
      await go(page, "/sessions?source=claude-code");
      await page.getByRole("searchbox").fill("retention period");
      await page.getByText("Found in messages and tool calls").waitFor();
      // Clicks the search result, which leads to the match. The session has the same name in the list.
      await page.locator('a[href*="at="]', { hasText: "Rotate the backup keys without a gap" }).first().click();
      await page.waitForURL(/history.*at=/);
      await page.locator(".md", { hasText: "Test a restore" }).waitFor();
      await page.getByRole("button", { name: "Continue in Claude Code…" }).click();
      await page.getByRole("dialog").getByText("cd /home/ada/infra && claude --resume 3f6d2c1e").waitFor();
      await page.getByRole("button", { name: "Close", exact: true }).click();
      await page.getByRole("button", { name: "Adopt into Skein" }).click();
      await page.waitForURL(/sessions\/3f6d2c1e/);
      await page.locator(".md", { hasText: "Test a restore" }).waitFor();
      await page.goto(`${world.url}/usage?source=agents`);
      await page.getByRole("heading", { name: "Blocks of five hours" }).waitFor();
      await page.getByRole("cell", { name: "/home/ada/infra" }).waitFor();
      await page.close();
    });

    test("the search finds words that only a subagent said, even if the title of the subagent has them", async () => {
      const { world } = shared;
      const id = "5a0c1d2e-0000-4000-8000-00000000a003";
      const folder = join(world.claudeFolder, "projects/-home-ada-words");
      mkdirSync(join(folder, id, "subagents"), { recursive: true });
      const line = (uuid: string, content: string, more: object = {}): string =>
        `${JSON.stringify({ type: "user", uuid: `5a0c1d2e-0000-4000-8000-00000000b00${uuid}`, parentUuid: null, sessionId: id, cwd: "/home/ada/words", timestamp: "2026-01-02T03:04:05.000Z", message: { role: "user", content }, ...more })}\n`;
      writeFileSync(join(folder, `${id}.jsonl`), line("1", "Ask somebody else"));
      writeFileSync(
        join(folder, id, "subagents/agent-a1.jsonl"),
        line("2", "Look for the quokka", { isSidechain: true, agentId: "a1" }),
      );
      const page = await world.open("/sessions?q=quokka");
      await page.locator('a[href*="agent=a1"]', { hasText: "Look for the quokka" }).click();
      await page.waitForURL(/history.*agent=a1/);
      await page.close();
    });

    test("a finished session opens at its beginning, a session in use opens at its end, and a button jumps to the opposite end", async ({
      expect,
    }) => {
      const { world } = shared;
      const folder = join(world.claudeFolder, "projects/-home-ada-long");
      mkdirSync(folder, { recursive: true });
      const write = (id: string, at: number): void => {
        const lines = Array.from({ length: 600 }, (_, n) => ({
          type: n % 2 === 0 ? "user" : "assistant",
          uuid: `${String(n).padStart(8, "0")}-0000-4000-8000-${id.slice(-12)}`,
          parentUuid: n === 0 ? null : `${String(n - 1).padStart(8, "0")}-0000-4000-8000-${id.slice(-12)}`,
          sessionId: id,
          cwd: "/home/ada/long",
          timestamp: new Date(at + n).toISOString(),
          message:
            n % 2 === 0
              ? { role: "user", content: `Question ${n}.` }
              : {
                  id: `m${n}`,
                  role: "assistant",
                  model: "claude-haiku-4-5",
                  content: [{ type: "text", text: `Answer ${n}.` }],
                },
        }));
        writeFileSync(join(folder, `${id}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
      };
      const [over, recent] = ["5a0c1d2e-0000-4000-8000-00000000a001", "5a0c1d2e-0000-4000-8000-00000000a002"];
      write(over, Date.parse("2026-01-02T03:04:05Z"));
      write(recent, Date.now() - 1000);
      const page = await world.open(`/history/${over}`);
      // The first prompt is also the title of the page.
      const said = (text: string) => page.locator(".transcript").getByText(text);
      await said("Question 0.").waitFor();
      const end = page.getByRole("button", { name: "End" });
      await end.waitFor();
      expect(await page.locator(".transcript .scroll").evaluate((one) => one.scrollTop)).toBe(0);
      await end.click();
      await said("Answer 599.").waitFor();
      await page.getByRole("button", { name: "Beginning" }).click();
      await said("Question 0.").waitFor();
      // The reader can reach every message by scrolling.
      await page.locator(".transcript .scroll").hover();
      await expect
        .poll(async () => {
          await page.mouse.wheel(0, 20_000);
          return await said("Answer 599.").isVisible();
        })
        .toBe(true);
      await go(page, `/history/${recent}`);
      await said("Answer 599.").waitFor();
      await page.keyboard.press("Home");
      await said("Question 0.").waitFor();
      await page.close();
    });

    test("sessions of Codex are in the list too, and the list can be filtered by source", async ({ expect }) => {
      const { world } = shared;
      writeCodexSession(join(world.claudeFolder, "../.codex"), {
        id: "0198c0de-0000-7000-8000-0000000000c1",
        prompt: "Match the colour of the logo",
        answer: "It is cornflower blue now.",
      });
      const page = await world.open("/sessions?q=colour+of+the+logo");
      await page.locator(".srow", { hasText: "Match the colour of the logo" }).waitFor();
      await page.getByRole("button", { name: "Source" }).click();
      await page.getByRole("menuitem", { name: "Codex" }).click();
      await page.waitForURL(/source=codex/);
      await expect
        .poll(() => page.locator(".srow a.strong").allInnerTexts())
        .toEqual([expect.stringContaining("Match the colour of the logo")]);
      await page.getByRole("searchbox").fill("cornflower");
      await page.locator(".excerpt", { hasText: "cornflower" }).waitFor();
      await page.locator(".srow a.strong").first().click();
      await page.waitForURL(/history/);
      await page.locator(".md", { hasText: "It is cornflower blue now." }).waitFor();
      expect(await page.locator("h2.day").getAttribute("title")).toMatch(/17 November 2026$/);
      expect(await page.locator(".you .who span").first().getAttribute("title")).toContain("17 Nov 2026");
      expect(await page.locator(".tl-span title").first().textContent()).toContain("17 Nov 2026");
      const [line, frame] = [page.locator(".tl svg"), page.locator(".tl-frame")];
      const rightOf = async (one: typeof line) => {
        const box = await one.boundingBox();
        return box ? Math.round(box.x + box.width) : undefined;
      };
      expect(await rightOf(frame), "the right end of the marker").toBeLessThanOrEqual((await rightOf(line)) ?? 0);
      await page.setViewportSize({ width: 390, height: 844 });
      await page.getByRole("button", { name: "Inspector" }).click();
      await page.locator(".insp-wrap.is-open").waitFor();
      await page.keyboard.press("Escape");
      await page.locator(".insp-wrap.is-open").waitFor({ state: "detached" });
      await page.close();
    });

    test("sessions of two agents with the same id are two rows, and each row opens its own session", async ({
      expect,
    }) => {
      const { world } = shared;
      const id = "0198c0de-0000-7000-8000-0000000000c2";
      writeCodexSession(join(world.claudeFolder, "../.codex"), { id, prompt: "Paint the fence", answer: "Codex did." });
      const project = join(world.claudeFolder, "projects/-home-ada-brand");
      mkdirSync(project, { recursive: true });
      const copied = (number: number, role: "user" | "assistant", text: string): string =>
        line(number, role, text).replaceAll(LARGE, id);
      writeFileSync(
        join(project, `${id}.jsonl`),
        copied(1, "user", "Paint the fence") + copied(2, "assistant", "Claude Code did."),
      );
      const page = await world.open("/sessions?q=Paint+the+fence");
      for (const [source, said, folder] of [
        ["Codex", "Codex did.", "/home/ada/brand"],
        ["Claude Code", "Claude Code did.", "/work/large"],
      ] as const) {
        await go(page, "/sessions?q=Paint+the+fence");
        const row = page.locator(".srow", { has: page.getByRole("cell", { name: source, exact: true }) });
        await row.getByRole("link", { name: "Paint the fence" }).click();
        await page.locator(".md", { hasText: said }).waitFor();
        await page.locator("header .chip", { hasText: source }).waitFor();
        await page.locator(".insp", { hasText: folder }).waitFor();
        expect(await page.locator(".md").allInnerTexts()).toEqual(["Paint the fence", said]);
      }
      // A search finds each of the two by its own text.
      await go(page, "/sessions?q=Claude+Code+did");
      await page.locator(".excerpt", { hasText: "Claude Code did." }).waitFor();
      await page.locator('a[href*="source=claude-code"]', { hasText: "Paint the fence" }).click();
      await page.locator(".md", { hasText: "Claude Code did." }).waitFor();
      await page.close();
    });

    test("a transcript of 30 MB with a line of 20 MB is read from both ends, loads more while scrolling, and shows a line that is appended to its file", async ({
      expect,
    }) => {
      const { world } = shared;
      const file = writeLarge(world.claudeFolder);
      const page = await world.open("/sessions");
      await page.goto(`${world.url}/history/${LARGE}`);
      // The first prompt is also the title of the page.
      const first = page.locator(".transcript").getByText("Prompt 0 of many");
      await first.waitFor();
      await page.keyboard.press("End");
      await page.getByText("The very last answer.").waitFor();
      const toTop = async (): Promise<number> => {
        await page.locator(".transcript .scroll").evaluate((one) => (one.scrollTop = 0));
        return first.count();
      };
      await expect.poll(toTop).toBe(1);
      await page.keyboard.press("End");
      await page.getByText("The very last answer.").waitFor();
      appendFileSync(file, line(9000, "user", "And one more thing"));
      await page.getByText("And one more thing").waitFor();
      expect(await page.evaluate("window.pwned")).toBeUndefined();
      await page.close();
    });
  });
}

/** A transcript of 30 MB: a thousand turns, one line of 20 MB, one line that is not JSON, and hostile texts. */
function writeLarge(folder: string): string {
  const project = join(folder, "projects", "-work-large");
  mkdirSync(project, { recursive: true });
  const path = join(project, `${LARGE}.jsonl`);
  const file = openSync(path, "w");
  for (let turn = 0; turn < 1000; turn++) {
    writeSync(file, line(turn * 2 + 1, "user", `Prompt ${turn} of many`));
    const text =
      turn === 999 ? "The very last answer." : `${PAYLOADS[turn % PAYLOADS.length]} ${"words ".repeat(1700)}`;
    writeSync(file, line(turn * 2 + 2, "assistant", text));
    if (turn === 850) writeSync(file, line(7001, "user", "z".repeat(20_000_000)));
    if (turn === 900) writeSync(file, "{ this is not JSON\n");
  }
  closeSync(file);
  return path;
}

function line(number: number, type: "user" | "assistant", text: string): string {
  const message =
    type === "user"
      ? { role: "user", content: text }
      : {
          id: `msg_${number}`,
          type: "message",
          role: "assistant",
          model: "claude-sonnet-5-5",
          content: [{ type: "text", text }],
          stop_reason: "end_turn",
          stop_sequence: null,
          usage: { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
        };
  return `${JSON.stringify({
    parentUuid: null,
    isSidechain: false,
    userType: "external",
    cwd: "/work/large",
    sessionId: LARGE,
    version: "2.0.0",
    gitBranch: "main",
    type,
    message,
    uuid: `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`,
    timestamp: new Date(Date.UTC(2026, 10, 1) + number * 1000).toISOString(),
  })}\n`;
}

interface CodexSession {
  readonly id: string;
  readonly prompt: string;
  readonly answer: string;
}

/** A session as Codex writes it. */
function writeCodexSession(home: string, { id, prompt, answer }: CodexSession): void {
  const folder = join(home, "sessions/2026/11/17");
  mkdirSync(folder, { recursive: true });
  const said = (role: "user" | "assistant", text: string) => ({
    type: "response_item",
    payload: { type: "message", role, content: [{ type: role === "user" ? "input_text" : "output_text", text }] },
  });
  const lines = [
    {
      type: "session_meta",
      payload: { id, cwd: "/home/ada/brand", originator: "codex_cli_rs", cli_version: "0.42.0" },
    },
    { type: "turn_context", payload: { cwd: "/home/ada/brand", model: "gpt-5-codex" } },
    said("user", prompt),
    { type: "event_msg", payload: { type: "user_message", message: prompt, kind: "plain" } },
    said("assistant", answer),
  ];
  const text = lines.map((line, at) =>
    JSON.stringify({ timestamp: new Date(Date.UTC(2026, 10, 17, 9, 0, at)).toISOString(), ...line }),
  );
  writeFileSync(join(folder, `rollout-2026-11-17T09-00-00-${id}.jsonl`), `${text.join("\n")}\n`);
}
