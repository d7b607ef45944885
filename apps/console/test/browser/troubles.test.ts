import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromiumPath } from "../../dev/browser.ts";
import { type World, createWorld, removeBuilt } from "./world.ts";

const words = Array.from({ length: 60 }, (_, at) => `word${at}`).join(" ");

/** The second sentence appears if the page does not know the server's health yet. */
const NO_CONNECTION = /No connection for|The server cannot be reached/;

/** All tests use one server. Some tests kill the server, or make its store fail. */
describe.skipIf(chromiumPath() === undefined)("a page reports failures of the server and continues", () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ withAgents: false, withClaude: true });
  });
  afterAll(async () => {
    await world?.close();
    await removeBuilt();
  });

  test("a newcomer who opened the printed link sees a finished run within ten seconds of pressing the button", async () => {
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
  });

  test("a page that follows a run shows each event exactly once, even if kill -9 ends the server meanwhile", async () => {
    const prompt = "Tell me sixty words";
    const id = await world.begin("Helper", prompt, [{ text: words, chunk: 8, chunkDelayMs: 25 }]);
    const page = await world.open(`/sessions/${id}`);
    await page.locator(".md", { hasText: "word3" }).waitFor();
    await world.crash(() => page.getByText(NO_CONNECTION).waitFor());
    await page.locator(".top .pill.done").waitFor();
    await page.getByText(NO_CONNECTION).waitFor({ state: "detached" });
    const text = await page.locator(".transcript").innerText();
    expect(text.split("word59")).toHaveLength(2);
    expect(text.replaceAll(/\s+/g, " ")).toContain(words);
    expect(text.split(prompt)).toHaveLength(2);
    await page.close();
  });

  test("a page reconnects to a server that was gone for an hour, and shows the messages of this hour", async () => {
    const id = await world.begin("Helper", "Say four", [{ text: "Four." }]);
    const context = await world.newContext();
    await context.clock.install();
    const page = await world.open(`/sessions/${id}`, context);
    await page.getByText("Four.", { exact: true }).waitFor();
    await world.crash(async () => {
      await page.getByText(NO_CONNECTION).waitFor();
      // The hour passes only for the page: its timers run, and every attempt fails.
      await context.clock.fastForward(3_600_000);
      await page.getByText("No connection for 1 h").waitFor();
    });
    world.model.plays("Say five", [{ text: "Five." }]);
    await world.client.postMessage({
      params: { session_id: id },
      body: { role: "user", content: { text: "Say five" } },
    });
    await context.clock.fastForward(15_000);
    await page.getByText("Five.", { exact: true }).waitFor();
    await page.getByText(NO_CONNECTION).waitFor({ state: "detached" });
    await page.close();
  });

  test("an API key is created and its rights are shown; after the key is revoked, pages that used it show the login", async () => {
    const id = await world.begin("Helper", "Say six", [{ text: "Six." }]);
    const admin = await world.open("/settings/keys");
    await admin.getByLabel("Name of a new key").fill("visitor");
    await admin.getByLabel("What it may do").selectOption("Read");
    await admin.getByRole("button", { name: "Make" }).click();
    const key = await admin.locator(".made-key code").innerText();
    const row = admin.locator("li", { hasText: "visitor" });
    await row.getByRole("button", { name: "What it may do" }).click();
    await row.locator(".sentences li").first().waitFor();
    const page = await (await world.newContext()).newPage();
    await page.goto(`${world.url}/sessions/${id}#key=${key}`);
    await page.getByText("Six.", { exact: true }).waitFor();
    await row.getByRole("button", { name: "Revoke" }).click();
    await row.getByRole("button", { name: "Really revoke?" }).click();
    await row.getByText("revoked").waitFor();
    await page.getByText("You are not logged in").waitFor();
    await page.getByLabel("Key").fill(world.platform.key);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("Six.", { exact: true }).waitFor();
    await page.close();
    await admin.close();
  });

  test("if the store rejects a message, the page shows the error beside the input, and keeps the typed text", async () => {
    const id = await world.begin("Helper", "Say seven", [{ text: "Seven." }]);
    const page = await world.open(`/sessions/${id}`);
    await page.getByText("Seven.", { exact: true }).waitFor();
    await page.locator(".top .pill.done").waitFor();
    const limit = (most: string): void =>
      void execFileSync("prlimit", ["--pid", String(world.platform.pid), `--fsize=${most}`]);
    limit("0:unlimited");
    const field = page.getByLabel(/^Write to/);
    await field.fill("Say eight");
    await field.press("Enter");
    await page.locator(".prompt [role=alert]").waitFor();
    expect(await page.locator(".prompt [role=alert]").innerText()).toMatch(/store|disk|written|write/i);
    expect(await field.inputValue()).toBe("Say eight");
    await page.getByText("Seven.", { exact: true }).waitFor();
    limit("unlimited:unlimited");
    world.model.plays("Say eight", [{ text: "Eight." }]);
    await field.press("Enter");
    await page.getByText("Eight.", { exact: true }).waitFor();
    await page.close();
  });

  test("if the HTTP response to a message is lost, sending the message again does not repeat it, and an edited text is a new message", async () => {
    const id = await world.begin("Helper", "Say ten", [{ text: "Ten." }]);
    const page = await world.open(`/sessions/${id}`);
    await page.locator(".top .pill.done").waitFor();
    for (const [prompt, text] of [
      ["Say eleven", "Eleven."],
      ["Say twelve", "Twelve."],
    ] as const)
      world.model.plays(prompt, [{ text }]);
    const field = page.getByLabel(/^Write to/);
    const problem = page.locator(".prompt [role=alert]");
    const send = page.getByRole("button", { name: "Send" });
    let posts = 0;
    await page.route(/\/messages$/, async (route) => {
      if (route.request().method() !== "POST") return route.continue();
      await route.fetch();
      posts += 1;
      return route.abort();
    });
    await field.fill("Say eleven");
    await send.click();
    await problem.waitFor();
    await send.click();
    await expect.poll(() => posts).toBe(2);
    await page.unroute(/\/messages$/);
    await field.fill("Say twelve");
    await send.click();
    await page.getByText("Twelve.", { exact: true }).waitFor();
    expect(await page.locator(".you", { hasText: "Say eleven" }).count()).toBe(1);
    await page.close();
  });

  test("the page shows a diff, and then restores the files to their state at a message", async () => {
    const file = join(world.workFolder, "notes.txt");
    const write = (content: string) => ({ tools: [{ name: "Write", input: { file_path: file, content } }] });
    world.model.plays("Write the first note", [write("first note\n"), { text: "Written." }]);
    const reading = { tools: [{ name: "Read", input: { file_path: file } }] };
    world.model.plays("Now the second", [reading, write("second note\n"), { text: "Changed." }]);
    const ask = (path: string, body: object): Promise<Response> =>
      fetch(`${world.url}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${world.platform.key}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const options = { enable_file_checkpointing: true, permission_mode: "acceptEdits", cwd: world.workFolder };
    const first = await ask("/api/v1/query/single", { ...options, prompt: "Write the first note" });
    const { session_id: id } = (await first.json()) as { session_id: string };
    await (await ask(`/api/v1/sessions/${id}/resume`, { prompt: "Now the second" })).text();
    expect(readFileSync(file, "utf8")).toBe("second note\n");
    const page = await world.open(`/sessions/${id}`);
    const prompt = page.locator(".you", { hasText: "Now the second" });
    await prompt.hover();
    await prompt.getByRole("button", { name: "Rewind to here…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("1 file would change").waitFor();
    await dialog.locator(".diff .d", { hasText: "second note" }).waitFor();
    await dialog.locator(".diff .a", { hasText: "first note" }).waitFor();
    expect(readFileSync(file, "utf8")).toBe("second note\n");
    await dialog.getByRole("button", { name: "Restore the files" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(readFileSync(file, "utf8")).toBe("first note\n");
    await page.close();
  });

  test("events that a newer version of Skein wrote are shown by the names of their types, and the rest is shown as usual", async () => {
    const id = await world.begin("Helper", "Say nine", [{ text: "Nine." }]);
    const page = await world.open(`/sessions/${id}`);
    await page.locator(".top .pill.done").waitFor();
    await world.crash(async () => newerEvent(join(dirname(world.claudeFolder), "skein.db"), id));
    await page.goto(`${world.url}/sessions/${id}`);
    await page.getByText("Nine.", { exact: true }).waitFor();
    await page.getByText("loom.threaded").first().waitFor();
    await page.close();
  });

  test("a device whose clock is three days behind shows the server's times and a note about it", async () => {
    const id = await world.begin("Helper", "Say ten", [{ text: "Ten." }]);
    const context = await world.newContext();
    await context.clock.install({ time: Date.now() - 3 * 86_400_000 });
    const page = await world.open(`/sessions/${id}`, context);
    await page.getByText("The clock of this device is").waitFor();
    await page.getByText("Ten.", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Sessions" }).first().click();
    await page.getByText("Today").first().waitFor();
    expect(await page.locator("main").innerText()).not.toMatch(/(^|\s)-\d|NaN/m);
    await page.close();
  });

  test("if no worker can run the agent of a session, only the page of this session reports it", async () => {
    // The agents of the console's configuration have tools in code, which this server does not have.
    const code = await createWorld();
    const log = await code.begin("Fixer", "Fix it", [{ text: "Fixed." }]).then(async (id) => {
      await expect
        .poll(async () => (await code.client.getSession({ params: { session_id: id } })).outcome)
        .toBe("completed");
      return await code.client.exportSession({ params: { session_id: id }, query: { format: "json" } });
    });
    await code.close();
    const { id } = await world.client.importSession({
      body: log,
    });
    const page = await world.open(`/sessions/${id}`);
    await page.locator(".top .pill.done").waitFor();
    await world.say(id, "And again", []);
    await page.getByText("This session waits: no worker runs its agent").waitFor();
    await page.locator(".net", { hasText: /"Bash".* of the agent "Fixer"/ }).waitFor();
    await page.locator(".top .pill.queued").waitFor();
    await page.goto(`${world.url}/usage`);
    await page.locator("td", { hasText: "Fixer, from a file or the command line" }).waitFor();
    expect(await page.locator(".net").count()).toBe(0);
    await page.close();
  });

  test("a transcript of 300 MB shows its beginning and its end, and no error", async () => {
    const id = "9d2b7c10-5e4f-4b8a-a1c3-2f6e8d7b0a02";
    const project = join(world.claudeFolder, "projects", "-work-huge");
    mkdirSync(project, { recursive: true });
    const file = join(project, `${id}.jsonl`);
    writeHuge(file, id);
    const page = await world.open(`/history/${id}`);
    await page.locator(".transcript").getByText("thread thread").first().waitFor();
    await page.getByRole("button", { name: "End" }).click();
    await page.getByText("The last line of all.").waitFor();
    expect(await page.locator("body").innerText()).not.toContain("cannot be read");
    await page.close();
    rmSync(file);
  });

  test("a session or page that does not exist has a note and a link back", async () => {
    const page = await world.open("/sessions/not-an-id");
    await page.getByText("There is no such session").waitFor();
    await page.goto(`${world.url}/sessions/00000000-0000-7000-8000-000000000000`);
    await page.getByText("There is no such session").waitFor();
    await page.getByRole("link", { name: "All sessions" }).click();
    await page.locator("h1", { hasText: "Sessions" }).waitFor();
    await page.close();
  });
});

/** An event that a later version of Skein may have written into the same store. */
function newerEvent(path: string, sessionId: string): void {
  const db = new DatabaseSync(path);
  const [head] = db.prepare("select last_sequence from heads where session_id = ?").all(sessionId);
  const sequence = Number(head?.["last_sequence"]) + 1;
  db.prepare(
    `insert into events (session_id, sequence, id, event_type, data, fact_version, created_at)
    values (?, ?, ?, 'loom.threaded', '{"colour":"red"}', 99, ?)`,
  ).run(sessionId, sequence, crypto.randomUUID(), new Date().toISOString());
  db.prepare("update heads set last_sequence = ? where session_id = ?").run(sequence, sessionId);
  db.close();
}

function writeHuge(path: string, sessionId: string): void {
  const line = (number: number, text: string): string =>
    `${JSON.stringify({
      parentUuid: null,
      isSidechain: false,
      userType: "external",
      cwd: "/work/huge",
      sessionId,
      version: "2.0.0",
      type: "user",
      message: { role: "user", content: text },
      uuid: `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`,
      timestamp: new Date(Date.UTC(2026, 10, 1) + number * 1000).toISOString(),
    })}\n`;
  const file = openSync(path, "w");
  const megabyte = line(1, "thread ".repeat(150_000));
  for (let written = 0; written < 300_000_000; written += megabyte.length) writeSync(file, megabyte);
  writeSync(file, line(2, "The last line of all."));
  closeSync(file);
}
