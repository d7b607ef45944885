import { gzipSync } from "node:zlib";
import {
  type Bench,
  type BrowserContext,
  type Line,
  type Page,
  begin,
  line,
  median,
  openPage,
  serverIsIdle,
} from "./bench-world.ts";
import { importLongSession } from "../../apps/console/dev/long-session.ts";

/** Measures the time until a page is usable, and the size of its scripts. */
export async function firstPage(bench: Bench): Promise<readonly Line[]> {
  await (await openPage(bench)).close();
  const times: number[] = [];
  const scripts = new Set<string>();
  for (let turn = 0; turn < 5; turn++) {
    const page = await bench.context.newPage();
    page.on("response", (response) => response.url().endsWith(".js") && scripts.add(response.url()));
    const started = performance.now();
    await page.goto(`${bench.platform.url}/`, { waitUntil: "commit" });
    await page.getByRole("button", { name: /New session/ }).click();
    times.push(performance.now() - started);
    if (turn === 0) await page.waitForLoadState("networkidle").catch(() => undefined);
    await page.close();
  }
  const sizes = await Promise.all([...scripts].map(async (url) => gzipSync(await (await fetch(url)).bytes()).length));
  return [
    line("first page interactive", median(times), { most: 1000, unit: "ms" }),
    line("script of the first page, gzipped", sizes.reduce((sum, size) => sum + size, 0) / 1000, {
      most: 250,
      unit: "kB",
    }),
  ];
}

/** Measures the list of all sessions, and a jump to the middle of the list. */
export async function listOfSessions(bench: Bench): Promise<readonly Line[]> {
  const page = await openPage(bench, "/settings");
  const shown: number[] = [];
  const jumped: number[] = [];
  for (let turn = 0; turn < 5; turn++) {
    await page.goto(`${bench.platform.url}/settings`);
    await page.locator("h1", { hasText: "Settings" }).waitFor();
    const list = page.locator('[aria-label="Sessions"] a').first();
    shown.push(await timeInPage(page, `document.querySelector('.nav a[href="/sessions"]').click()`, ".srow a.strong"));
    await list.waitFor();
    jumped.push(
      await timeInPage(
        page,
        `(() => { const one = document.querySelector('.slist .scroll'); one.scrollTop = one.scrollHeight / 2; })()`,
        ".srow a.strong",
      ),
    );
  }
  const total = await page.locator('[aria-label="Sessions"]').getAttribute("aria-rowcount");
  await page.close();
  return [
    line(`list of ${Number(total).toLocaleString("en")} sessions`, median(shown), { most: 300, unit: "ms" }),
    line("jump to the middle of the list of sessions", median(jumped), { most: 300, unit: "ms" }),
  ];
}

/** Measures the time from a key press to search results from Claude Code's transcripts. */
export async function historySearch(bench: Bench): Promise<readonly Line[]> {
  const page = await openPage(bench, "/sessions?source=claude-code");
  await page.locator(".srow a.strong").first().waitFor({ timeout: 120_000 });
  const field = page.getByRole("searchbox");
  // The first list makes the server build its index, which this benchmark does not measure.
  await serverIsIdle(bench);
  const times: number[] = [];
  for (const words of ["timeout retry", "parser error", "cache header", "schema migration", "deadlock order"]) {
    await field.fill(words.slice(0, -1));
    await page.locator("footer", { hasText: "Searching" }).waitFor({ state: "detached", timeout: 60_000 });
    await page.waitForTimeout(300);
    await field.press("End");
    await page.evaluate(FROM_KEY_TO_RESULTS);
    await field.press(words.slice(-1));
    times.push(await page.evaluate("window.searched"));
  }
  await page.close();
  return [line("search results after a key press", median(times), { most: 150, unit: "ms" })];
}

/**
 * Measures the milliseconds from a typed letter to the frame with the results. The script runs in the page, so that the
 * result does not include the time of the browser's driver.
 */
const FROM_KEY_TO_RESULTS = `performance.clearResourceTimings();
window.searched = new Promise((done) => {
  document.querySelector('input[type="search"], [role="searchbox"]').addEventListener("input", () => {
    const began = performance.now();
    const look = () => {
      const asked = performance.getEntriesByType("resource").filter(({ name }) => name.includes("/v1/history/search"));
      const isAnswered = asked.some(({ startTime, responseEnd }) => startTime >= began && responseEnd > 0);
      const isSearching = [...document.querySelectorAll("footer")].some((one) => one.textContent.includes("Searching"));
      if (isAnswered && !isSearching) requestAnimationFrame(() => done(performance.now() - began));
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }, { once: true });
}); undefined`;

/** Measures how fast a log of 10,000 events opens at its end. Compares its scrolling with a minimal virtual list. */
export async function longSession(bench: Bench): Promise<readonly Line[]> {
  const first = await begin(bench, "Prompt number 0", [{ text: "An answer with some words in it." }]);
  const id = await importLongSession(bench.client, first, 10_000);
  const page = await openPage(bench, "/settings");
  const times: number[] = [];
  for (let turn = 0; turn < 3; turn++) {
    const started = performance.now();
    await page.goto(`${bench.platform.url}/sessions/${id}`, { waitUntil: "commit" });
    await page.locator(".md", { hasText: "The last answer of all." }).waitFor();
    times.push(performance.now() - started);
  }
  await page.waitForTimeout(3000);
  const dropped = await droppedFrames(page, ".transcript .scroll");
  const bare = await bench.context.newPage();
  await bare.setContent(
    '<div class="list" style="height:800px;overflow:auto"><div style="height:900000px;position:relative"><p style="position:absolute">row</p></div></div>',
  );
  await bare.evaluate(
    `document.querySelector('.list').onscroll = (event) => { document.querySelector('p').style.top = event.target.scrollTop + 'px'; }`,
  );
  const floor = await droppedFrames(bare, ".list");
  await bare.close();
  await page.close();
  return [
    line("end of a session of 10,000 events", median(times), { most: 1000, unit: "ms" }),
    line(`dropped frames while the session of 10,000 events scrolls (bare list ${floor.toFixed(1)} %)`, dropped, {
      most: floor + 5,
      unit: "%",
    }),
  ];
}

/** The number of characters in a streamed piece of text. */
const PIECE = 24;
const STREAM_SECONDS = 4;

/**
 * Measures how busy the main thread of the page is if 200 pieces of an answer arrive per second. The processor time is
 * divided by the number of pieces that arrived. Otherwise the page would look idle on a busy machine, which sends fewer.
 */
export async function streaming(bench: Bench): Promise<readonly Line[]> {
  const prompt = `Stream for the bench ${Date.now()}`;
  // The answer must not end during the measurement, so the agent may generate many tokens.
  const agent = await bench.client.createAgent({
    body: { name: "Writer", model: "claude-haiku-5-5", max_tokens: 64_000 },
  });
  const text = longAnswer(60 * 200 * PIECE);
  const id = await begin(bench, prompt, [{ text, chunk: PIECE, chunkDelayMs: 5 }], agent.id);
  const page = await openPage(bench, `/sessions/${id}`);
  await page.locator(".said.is-live").waitFor();
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const read = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    const busy = metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0;
    const shown = (await page.evaluate(`document.querySelector(".said.is-live")?.textContent ?? null`)) as
      | string
      | null;
    if (shown === null) throw new Error("stream: the answer ended before its stream was measured.");
    return { busy, pieces: shown.length / PIECE, at: performance.now() };
  };
  const before = await read();
  await page.waitForTimeout(STREAM_SECONDS * 1000);
  const after = await read();
  await page.close();
  await bench.client.cancelSession({ params: { session_id: id } });
  const pieces = after.pieces - before.pieces;
  const rate = (pieces / (after.at - before.at)) * 1000;
  if (rate < 20) throw new Error(`stream: only ${Math.round(rate)} pieces came each second, too few to be measured.`);
  return [
    line(
      `main thread busy at 200 deltas/s (measured at ${Math.round(rate)})`,
      ((after.busy - before.busy) / pieces) * 200 * 100,
      { most: 50, unit: "%" },
    ),
  ];
}

/**
 * Makes an answer with at least this number of characters. Like answers of models, it has paragraphs, lists and code.
 */
function longAnswer(characters: number): string {
  const part = (at: number): string =>
    [
      `## Part ${at}`,
      `The export ran twice because the lock of batch ${at} was taken after the query. `.repeat(5),
      `- first the **lock** of batch ${at}\n- then the query with \`LIMIT ${at}\`\n- then the write`,
      `\`\`\`ts\nconst batch${at} = await lock(${at});\nfor (const row of batch${at}) await write(row, { retry: ${at} });\n\`\`\``,
    ].join("\n\n");
  let text = "";
  for (let at = 1; text.length < characters; at++) text += `${part(at)}\n\n`;
  return text;
}

/** Measures the memory that ten open consoles add to the server. */
export async function memoryOfServer(bench: Bench): Promise<readonly Line[]> {
  const id = await begin(bench, `Memory for the bench ${Date.now()}`, [{ text: "Short." }]);
  await (await openPage(bench, `/sessions/${id}`)).close();
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const before = bench.serverMemory();
  const contexts: BrowserContext[] = [];
  // A browser context opens at most six connections to a host, so each console gets a separate context.
  for (let at = 0; at < 10; at++) {
    const context = await bench.newContext();
    contexts.push(context);
    const page = await context.newPage();
    const path = at % 2 === 0 ? "/sessions" : `/sessions/${id}`;
    await page.goto(`${bench.platform.url}${path}#key=${bench.platform.key}`);
    await page.locator(".app").waitFor();
  }
  await new Promise((resolve) => setTimeout(resolve, 5000));
  const after = bench.serverMemory();
  await Promise.all(contexts.map((context) => context.close()));
  return [line("memory that ten open consoles add to the server", (after - before) / 1e6, { most: 40, unit: "MB" })];
}

/** Measures in the page the milliseconds from the start of a script until a new element of this selector is drawn. */
async function timeInPage(page: Page, script: string, selector: string): Promise<number> {
  return (await page.evaluate(`new Promise((done) => {
    const old = new Set(document.querySelectorAll(${JSON.stringify(selector)}));
    const started = performance.now();
    ${script};
    const look = () => {
      const isThere = [...document.querySelectorAll(${JSON.stringify(selector)})].some((one) => !old.has(one));
      if (isThere) requestAnimationFrame(() => done(performance.now() - started));
      else requestAnimationFrame(look);
    };
    look();
  })`)) as number;
}

/** Scrolls an element for three seconds and returns the share of dropped frames in percent. */
async function droppedFrames(page: Page, selector: string): Promise<number> {
  return (await page.evaluate(`new Promise((done) => {
    const place = document.querySelector(${JSON.stringify(selector)});
    place.scrollTop = 0;
    const frames = [];
    let last = performance.now();
    const end = last + 3000;
    const frame = (now) => {
      frames.push(now - last);
      last = now;
      place.scrollTop += 120;
      if (now < end) requestAnimationFrame(frame);
      else {
        const usual = frames.toSorted((a, b) => a - b)[Math.floor(frames.length / 2)];
        const lost = frames.reduce((sum, ms) => sum + Math.max(0, Math.round(ms / Math.max(16.7, usual)) - 1), 0);
        done((lost / (lost + frames.length)) * 100);
      }
    };
    requestAnimationFrame(frame);
  })`)) as number;
}
