import { describe, test } from "vitest";
import { importLongSession } from "../../dev/long-session.ts";
import type { World } from "./world.ts";

/** One session: its content, forks, raw events, the model's requests, a very long log. */
export function describeSession(shared: { readonly world: World }): void {
  describe.concurrent("a session", () => {
    test("a session shows Markdown, highlighted code, a diff, coloured output and folded thinking", async ({
      expect,
    }) => {
      const { world } = shared;
      const id = await world.begin("Fixer", "Show me everything", [
        {
          thinking: "A secret thought.",
          text: "**Bold** and\n\n```ts\nconst x: number = 1;\n```",
          tools: [
            { name: "Edit", input: { file_path: "a.ts", old_string: "one two", new_string: "one three" } },
            { name: "Bash", input: { command: "git log --oneline -20 src/jobs" } },
          ],
        },
        { text: "That is all." },
      ]);
      const page = await world.open(`/sessions/${id}`);
      await page.getByText("That is all.").waitFor();
      await page.locator("strong", { hasText: "Bold" }).waitFor();
      await page.locator(".hljs-keyword", { hasText: "const" }).waitFor();
      await page.locator(".diff .a mark", { hasText: "three" }).waitFor();
      await page.locator(".term .yellow", { hasText: "4be2c1a" }).waitFor();
      expect(await page.locator(".thought").count()).toBe(0);
      await page.getByRole("button", { name: /Thought/ }).click();
      await page.locator(".thought", { hasText: "A secret thought." }).waitFor();
      await page.close();
    });

    test("on a phone a menu opens in front of the inspector, and Escape closes the inspector", async () => {
      const { world } = shared;
      const id = await world.begin("Helper", "Say it on a phone", [{ text: "Said on a phone." }]);
      const page = await world.open(`/sessions/${id}`);
      await page.setViewportSize({ width: 390, height: 844 });
      await page.getByText("Said on a phone.").waitFor();
      await page.getByRole("button", { name: "Inspector" }).click();
      await page.locator(".insp-wrap.is-open").waitFor();
      await page.getByRole("button", { name: "More" }).click();
      // A trial click fails if something else is in front of the entry.
      await page.getByRole("menuitem", { name: "Delete…" }).click({ trial: true });
      await page.keyboard.press("Escape");
      await page.getByRole("menu").waitFor({ state: "detached" });
      await page.keyboard.press("Escape");
      await page.locator(".insp-wrap.is-open").waitFor({ state: "detached" });
      await page.close();
    });

    test("a session is forked at a message, and the tree shows the session and its fork", async ({ expect }) => {
      const { world } = shared;
      const id = await world.begin("Helper", "Say one", [{ text: "One." }]);
      const page = await world.open(`/sessions/${id}`);
      await page.getByText("One.", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Fork here" }).click();
      await page.waitForURL((url) => !url.href.includes(id));
      await page.getByText("copied").waitFor();
      await page.getByRole("button", { name: /^Forks/ }).click();
      await page.locator(".fk").nth(1).waitFor();
      expect(await page.locator(".fk.on").count()).toBe(1);
      await page.close();
    });

    test("the wheel zooms the timeline, and a button shows all of it again", async ({ expect }) => {
      const { world } = shared;
      const id = await world.begin("Helper", "Take three seconds", [{ text: "Done.", delayMs: 3000 }]);
      const page = await world.open(`/sessions/${id}`);
      await page.locator(".top .pill.done").waitFor();
      const marks = (): Promise<readonly string[]> => page.locator(".tl-axis span").allInnerTexts();
      const whole = await marks();
      expect(new Set(whole).size).toBe(whole.length);
      await page.locator(".tl svg").hover();
      await page.mouse.wheel(0, -400);
      const all = page.getByRole("button", { name: "Show all" });
      await all.waitFor();
      expect(await marks()).not.toEqual(whole);
      await all.click();
      await expect.poll(marks).toEqual(whole);
      await page.close();
    });

    test("many queued prompts leave room for the transcript and the prompt field", async ({ expect }) => {
      const { world } = shared;
      const id = await world.begin("Helper", "Answer late", [{ text: "Late.", delayMs: 60_000 }]);
      for (let at = 0; at < 12; at++) await world.say(id, `Waiting ${at}`, []);
      const page = await world.open(`/sessions/${id}`);
      await page.getByText("Waiting 11").waitFor();
      const top = (await page.locator(".pbox").boundingBox())?.y ?? 0;
      expect(top).toBeGreaterThan(300);
      await page.getByRole("textbox", { name: /Write to/ }).click();
      await world.client.cancelSession({ params: { session_id: id }, body: {} });
      await page.close();
    });

    test("a link to a raw event survives a reload", async ({ expect }) => {
      const { world } = shared;
      const id = await world.begin("Helper", "Say two", [{ text: "Two." }]);
      const page = await world.open(`/sessions/${id}?tab=events`);
      await page.getByRole("button", { name: /prompt.accepted/ }).click();
      await page.getByRole("dialog").getByText("Say two").waitFor();
      await page.reload();
      await page.getByRole("dialog").getByText("Say two").waitFor();
      await page.keyboard.press("Escape");
      await expect.poll(() => page.url()).not.toContain("event=");
      await page.close();
    });

    test("the context page shows the request of a step and what is new since the previous step", async ({ expect }) => {
      const { world } = shared;
      const id = await world.begin("Fixer", "Look twice", [
        { tools: [{ name: "Grep", input: { pattern: "schedule:" } }] },
        { text: "Seen." },
      ]);
      const page = await world.open(`/sessions/${id}`);
      await page.getByText("Seen.").waitFor();
      await page.getByRole("link", { name: "What the model saw: Step 2" }).click();
      await page.getByText("Result of Grep").waitFor();
      expect(await page.locator(".blk.new").count()).toBe(2);
      await page.getByRole("button", { name: "The step before" }).click();
      await page.getByText("Step 1 of 2").waitFor();
      await page.close();
    });

    test("a log of ten thousand events is opened at its end and can be scrolled to its beginning", async ({
      expect,
    }) => {
      const { world } = shared;
      const id = await importLongSession(
        world.client,
        await world.begin("Helper", "Prompt number 0", [{ text: "An answer with some words in it." }]),
        10_000,
      );
      const page = await world.open(`/sessions/${id}`);
      await page.locator(".md", { hasText: "The last answer of all." }).waitFor();
      // The page loads the end of the log first. Loading the earlier part must not move the text on the screen.
      const toTop = async (): Promise<number> => {
        await page.locator(".transcript .scroll").evaluate((one) => (one.scrollTop = 0));
        return page.locator(".you", { hasText: /Prompt number 0$/ }).count();
      };
      await expect.poll(toTop).toBe(1);
      await page.close();
    });

    test("a transcript of Claude Code is copied from its file only after the question what the copy will be, and reads like any other session", async ({
      expect,
    }) => {
      const { world } = shared;
      const page = await world.open("/sessions");
      await page.getByRole("button", { name: "Import a file…" }).waitFor();
      const id = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
      const file = {
        name: `${id}.jsonl`,
        mimeType: "application/jsonl",
        buffer: Buffer.from(claudeTranscript(id)),
      };
      const choose = () => page.getByLabel("A session as a file").setInputFiles(file);
      const question = page.getByRole("dialog", { name: "Copy this file into a session of Skein?" });
      await choose();
      await question.getByText("A transcript of Claude Code, 4 lines. The copy is a session of Skein").waitFor();
      await question.getByRole("button", { name: "Cancel" }).click();
      await question.waitFor({ state: "detached" });
      await expect(world.client.getSession({ params: { session_id: id } })).rejects.toThrow();
      await choose();
      await question.getByRole("button", { name: "Copy into Skein" }).click();
      await page.waitForURL(new RegExp(id));
      await page.getByText("List the files, please").first().waitFor();
      await page.getByText("There are two files.").waitFor();
      await page.locator(".call", { hasText: "ls -la" }).locator(".term", { hasText: "b.txt" }).waitFor();
      await page.close();
    });
  });
}

/** A transcript as Claude Code writes it: a prompt, a tool call, its result, and the answer. */
function claudeTranscript(sessionId: string): string {
  const at = (second: number): string => new Date(Date.UTC(2026, 10, 1, 9, 0, second)).toISOString();
  const uuid = (number: number): string => `00000000-0000-4000-8000-00000000000${number}`;
  const line = (number: number, type: "user" | "assistant", message: object): object => ({
    parentUuid: number === 1 ? null : uuid(number - 1),
    uuid: uuid(number),
    sessionId,
    type,
    cwd: "/work/project",
    version: "2.0.0",
    gitBranch: "main",
    userType: "external",
    isSidechain: false,
    timestamp: at(number),
    message,
  });
  const answer = (id: string, content: object[]): object => ({
    id,
    type: "message",
    role: "assistant",
    model: "claude-sonnet-5-5",
    content,
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  });
  const lines = [
    line(1, "user", { role: "user", content: "List the files, please" }),
    line(
      2,
      "assistant",
      answer("msg_1", [{ type: "tool_use", id: "toolu_1", name: "Bash", input: { command: "ls -la" } }]),
    ),
    line(3, "user", {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "a.txt\nb.txt" }],
    }),
    line(4, "assistant", answer("msg_2", [{ type: "text", text: "There are two files." }])),
  ];
  return lines.map((one) => `${JSON.stringify(one)}\n`).join("");
}
