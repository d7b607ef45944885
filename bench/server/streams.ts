import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type Result, quantile } from "../store/results.ts";
import { type Served, type Stream, stream } from "./served.ts";

/** Milliseconds with a higher resolution than Date.now. */
const now = (): number => performance.timeOrigin + performance.now();

/** Makes a session. `edit` appends an event to it: it changes the title, by default to the current time. */
async function session(server: Served): Promise<{ path: string; edit: (title?: string) => Promise<unknown> }> {
  const agent = await server.call("POST", "/v1/agents", { name: "Bench" });
  const made = await server.call("POST", "/v1/sessions", { agent_id: agent["id"] });
  const path = `/v1/sessions/${String(made["id"])}`;
  return {
    path,
    edit: (title = String(now())) => server.call("PATCH", path, { title }),
  };
}

/**
 * Reads the text of a stream. Counts the events and the gaps between their ids, and passes the time in each title to
 * `onEvent`.
 */
export function reader(onEvent: (sentAt: number) => void) {
  let rest = "";
  let last = 0;
  const seen = { gaps: 0, count: 0 };
  return {
    seen,
    read(text: string): void {
      rest += text;
      const frames = rest.split("\n\n");
      rest = frames.pop() ?? "";
      for (const frame of frames) {
        const id = /^id: (\d+)$/m.exec(frame)?.[1];
        if (id === undefined) continue;
        if (last !== 0 && Number(id) !== last + 1) seen.gaps += 1;
        last = Number(id);
        seen.count += 1;
        const title = /"title":"([\d.]+)"/.exec(frame)?.[1];
        if (title !== undefined) onEvent(Number(title));
      }
    },
  };
}

/** Measures 1,000 readers of one session that gets 10 events per second, and then one more event. */
export async function fanOut(server: Served, quick: boolean): Promise<Result[]> {
  const { path, edit } = await session(server);
  const latencies: number[] = [];
  const readers = Array.from({ length: 1000 }, () => reader((sentAt) => latencies.push(now() - sentAt)));
  const streams: Stream[] = [];
  for (const one of readers) streams.push(await stream(server, `${path}/events`, one.read));
  const seconds = quick ? 3 : 10;
  const used = server.cpu();
  for (let at = 0; at < seconds * 10; at++) {
    const began = performance.now();
    await edit();
    await delay(Math.max(0, 100 - (performance.now() - began)));
  }
  await delay(500);
  const gaps = readers.reduce((sum, { seen }) => sum + seen.gaps, 0);
  const missing = readers.filter(({ seen }) => seen.count !== seconds * 10 + 1).length;
  const p99 = quantile(latencies, 0.99);
  const p50 = quantile(latencies, 0.5);
  const each = ((server.cpu() - used) / (seconds * 10)) * 1000;
  const rss = server.peak();
  latencies.length = 0;
  await edit();
  await delay(1000);
  const slowest = Math.max(...latencies);
  for (const one of streams) one.close();
  return [
    {
      what: "1,000 readers × 10/s: gaps",
      store: "sqlite",
      value: gaps + missing,
      unit: "",
      goal: "0",
      passed: gaps + missing === 0,
    },
    {
      what: "1,000 readers × 10/s: p99",
      store: "sqlite",
      value: p99,
      unit: "ms",
      goal: "≤ 100 ms",
      passed: p99 <= 100,
      note: `p50 ${p50.toFixed(0)} ms; processor per event ${each.toFixed(0)} ms`,
    },
    {
      what: "1,000 readers: memory at its peak",
      store: "sqlite",
      value: rss,
      unit: "MB",
      goal: "≤ 300 MB",
      passed: rss <= 300,
    },
    {
      what: "one event to 1,000 readers",
      store: "sqlite",
      value: slowest,
      unit: "ms",
      goal: "≤ 250 ms",
      passed: slowest <= 250 && latencies.length === 1000,
    },
  ];
}

/** Measures 20 connections that never read while the server writes events of 5 KB, and one connection that reads. */
export async function stuckReaders(server: Served): Promise<Result[]> {
  const { path } = await session(server);
  const before = server.rss();
  let dropped = 0;
  for (let at = 0; at < 20; at++) {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.on("error", () => {});
    socket.on("close", () => (dropped += 1));
    socket.write(
      `GET ${path}/events HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${server.key}\r\nAccept: text/event-stream\r\n\r\n`,
    );
    socket.pause();
  }
  const healthy = reader(() => {});
  const open = await stream(server, `${path}/events`, healthy.read);
  const tags = Array.from({ length: 50 }, (_, at) => `${at}${"x".repeat(97)}`);
  let most = 0;
  const count = 1500;
  for (let at = 0; at < count; at++) {
    await server.call("PATCH", path, { tags, title: "x".repeat(250) });
    if (at % 50 === 0) most = Math.max(most, server.rss() - before);
  }
  await delay(6500);
  const metrics = await fetch(`${server.url}/metrics`, { headers: { "x-api-key": server.key } }).then((answer) =>
    answer.text(),
  );
  const cut = Number(/skein_streams_cut_total (\d+)/.exec(metrics)?.[1]);
  const ok = healthy.seen.gaps === 0 && healthy.seen.count === count + 1;
  open.close();
  return [
    {
      what: "20 stuck readers: dropped",
      store: "sqlite",
      value: cut,
      unit: "",
      goal: "20",
      passed: cut === 20,
      note: `${dropped} sockets closed`,
    },
    {
      what: "20 stuck readers: memory",
      store: "sqlite",
      value: most,
      unit: "MB",
      goal: "≤ 100 MB",
      passed: most <= 100,
    },
    {
      what: "20 stuck readers: gaps in the stream of a healthy reader",
      store: "sqlite",
      value: ok ? 0 : 1,
      unit: "",
      goal: "0",
      passed: ok,
    },
  ];
}

/** Cuts streams at random places, resumes them, and compares what arrived with the log. */
export async function randomCuts(server: Served, quick: boolean): Promise<Result[]> {
  const { path, edit } = await session(server);
  for (let at = 0; at < 200; at++) await edit(`Event ${at} ${"ü🌍".repeat(at % 40)}`);
  const list = (await server.call("GET", `${path}/events?limit=1000`)) as { data: { sequence: number }[] };
  const wanted = list.data.map((event) => JSON.stringify(event)).join("\n");
  const streams = quick ? 100 : 1000;
  let wrong = 0;
  let resumed = 0;
  const one = async (): Promise<void> => {
    const seen: string[] = [];
    let after = 0;
    while (after < list.data.length) {
      const limit = 200 + Math.floor(Math.random() * 20_000);
      after = await new Promise<number>((resolve, fail) => {
        let text = "";
        let size = 0;
        let last = after;
        void stream(
          server,
          `${path}/events?after=${after}`,
          (chunk) => {
            // The cut may be in the middle of a frame. Only whole frames count.
            const part = chunk.slice(0, Math.max(0, limit - size));
            size += chunk.length;
            text += part;
            const frames = text.split("\n\n");
            text = frames.pop() ?? "";
            for (const frame of frames) {
              const [, id, data] = /^id: (\d+)\ndata: (.*)$/m.exec(frame) ?? [];
              if (id === undefined || data === undefined) continue;
              seen.push(data);
              last = Number(id);
            }
            if (size >= limit || last >= list.data.length) opened?.close();
          },
          () => resolve(last),
        ).then((made) => {
          opened = made;
          if (size >= limit || last >= list.data.length) made.close();
          return made;
        }, fail);
        let opened: Stream | undefined;
      });
      resumed += 1;
    }
    // `seen` may end with newer events, which were appended after `list` was read.
    if (seen.slice(0, list.data.length).join("\n") !== wanted) wrong += 1;
  };
  // The log grows during the test, so that each stream changes from stored to new events at a different position.
  const stop = new AbortController();
  const grow = (async () => {
    for (let at = 0; !stop.signal.aborted; at++) {
      await edit(`More ${at}`);
      await delay(20);
    }
  })();
  for (let at = 0; at < streams; at += 20) await Promise.all(Array.from({ length: 20 }, one));
  stop.abort();
  await grow;
  return [
    {
      what: `${streams} streams cut and resumed: differ`,
      store: "sqlite",
      value: wrong,
      unit: "",
      goal: "0",
      passed: wrong === 0,
      note: `${resumed} connections`,
    },
  ];
}

/** Checks that connections which are opened and aborted many times leave no streams, timers or memory behind. */
export async function leaks(server: Served, quick: boolean): Promise<Result[]> {
  const { path } = await session(server);
  const count = quick ? 1000 : 5000;
  const abortOnce = (at: number): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
      socket.on("error", () => {});
      socket.on("close", () => resolve());
      socket.write(
        `GET ${path}/events HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${server.key}\r\nAccept: text/event-stream\r\n\r\n`,
      );
      const leave = (): unknown => (at % 2 === 0 ? socket.resetAndDestroy() : socket.destroy());
      if (at % 3 === 0) setTimeout(leave, Math.random() * 5);
      else socket.once("data", leave);
    });
  // Twice as much work runs before the measurement, so that the process has its normal size. A leak would keep growing.
  for (let at = 0; at < 2 * count; at += 50)
    await Promise.all(Array.from({ length: 50 }, (_, one) => abortOnce(at + one)));
  await delay(500);
  const before = await server.holds();
  for (let at = 0; at < count; at += 50) await Promise.all(Array.from({ length: 50 }, (_, one) => abortOnce(at + one)));
  await delay(1500);
  const after = await server.holds();
  const metrics = await fetch(`${server.url}/metrics`, { headers: { "x-api-key": server.key } }).then((answer) =>
    answer.text(),
  );
  const open = Number(/skein_streams_open (\d+)/.exec(metrics)?.[1]);
  const what = `${count.toLocaleString("en")} connects and aborts`;
  const store = "sqlite";
  const timers = after.timers - before.timers;
  const heap = after.heap - before.heap;
  const rss = after.rss - before.rss;
  return [
    { what: `${what}: streams left`, store, value: open, unit: "", goal: "0", passed: open === 0 },
    {
      what: `${what}: timers left`,
      store,
      value: Math.max(0, timers),
      unit: "",
      goal: "0",
      // The number of the server's own timers changes by one or two. A leak would leave one timer for each stream.
      passed: timers <= 2,
      note: `${before.timers}, then ${after.timers}; sockets ${before.sockets}, then ${after.sockets}`,
    },
    { what: `${what}: heap`, store, value: heap, unit: "MB", goal: "≤ 5 MB", passed: heap <= 5 },
    { what: `${what}: memory`, store, value: rss, unit: "MB", goal: "≤ 20 MB", passed: rss <= 20 },
  ];
}
