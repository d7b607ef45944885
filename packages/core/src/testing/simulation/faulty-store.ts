import { type Event, KnownError } from "@skein/protocol";
import type { NewsListener } from "../../log/followers.ts";
import type { Store } from "../../ports/store.ts";
import type { Faults } from "./faults.ts";
import type { Process, World } from "./world.ts";

export interface FaultyStoreDeps {
  readonly world: World;
  readonly store: Store;
  /** The process that uses this store. When the process dies, the answers to its requests are lost. */
  readonly process: Process;
  /** The faults at this time. */
  readonly faults: () => Faults;
}

/**
 * A store behind an unreliable connection, as one process sees it. Works with any store that does not use real time.
 */
export function createFaultyStore({ world, store, process, faults }: FaultyStoreDeps): Store {
  const { random } = world;
  const latency = (): number => (faults().latencyMs === 0 ? 0 : random.int(faults().latencyMs));

  /** A request travels independently, so it may arrive after its sender has died. The answer is then lost. */
  async function call<Answer>(what: string, commit: () => Promise<Answer>): Promise<Answer> {
    const { unavailable, lostAnswer, late } = faults();
    const name = `${process.name} ${what}`;
    if (random.chance(late)) {
      void arriveLate(name, commit);
      await process.turn(`${name}: no answer, the request may arrive late`, latency());
      throw away();
    }
    await world.turn(name, latency());
    if (!process.alive && random.chance(0.5)) return never();
    const refused = random.chance(unavailable);
    const answer = refused ? { error: away() as unknown } : await settledOf(commit());
    const lost = !refused && random.chance(lostAnswer);
    await process.turn(`${name}: ${refused ? "store away" : lost ? "answer lost" : told(answer)}`, latency());
    if (lost) throw away();
    if ("error" in answer) throw answer.error;
    return answer.value;
  }

  async function arriveLate(name: string, commit: () => Promise<unknown>): Promise<void> {
    await world.turn(`${name}: arrives late`, random.between(0, 6000));
    await settledOf(commit());
  }

  async function* follow(
    sessionId: string,
    options: Parameters<Store["follow"]>[1],
    signal: AbortSignal,
  ): AsyncGenerator<Event> {
    await process.turn(`${process.name} follow ${world.alias(sessionId)} after ${options.after ?? 0}`, latency());
    for await (const event of store.follow(sessionId, options, signal)) {
      await process.turn(`${process.name} receives ${world.alias(sessionId)}/${event.sequence}`, latency());
      if (random.chance(faults().cutStream)) throw away();
      yield event;
    }
  }

  async function hear(news: Parameters<NewsListener>, listener: NewsListener): Promise<void> {
    await process.turn(`${process.name} hears of ${world.alias(news[0])}`, latency());
    listener(...news);
  }

  return {
    append: (sessionId, events, options) =>
      call(
        `append ${world.alias(sessionId)} [${events.map(({ event_type }) => event_type).join(" ")}]` +
          (options?.expect === undefined ? "" : ` expect ${options.expect}`) +
          (options?.lease ? ` fence ${options.lease.fence}` : "") +
          (options?.release ? " and release" : ""),
        () => store.append(sessionId, events, options),
      ),
    read: (sessionId, options) =>
      call(`read ${world.alias(sessionId)} after ${options?.after ?? 0}`, () => store.read(sessionId, options)),
    follow,
    scan: (after) => store.scan(after),
    claim: (options) => call("claim", () => store.claim(options)),
    due: (query) => call("due", () => store.due(query)),
    renew: (leases) => call(`renew fence ${leases.map(({ fence }) => fence).join()}`, () => store.renew(leases)),
    release: (lease, next) =>
      call(`release ${world.alias(lease.sessionId)} fence ${lease.fence} seen ${next.seen}`, () =>
        store.release(lease, next),
      ),
    owners: (sessionId) => call("owners", () => store.owners(sessionId)),
    free: (owner, options) => call(`free ${owner}`, () => store.free(owner, options)),
    poke: (sessionId) => store.poke(sessionId),
    onNews: (listener) =>
      store.onNews((...news) => {
        if (process.alive && !random.chance(faults().lostNews)) void hear(news, listener);
      }),
    get: (sessionId, options) => call(`get ${world.alias(sessionId)}`, () => store.get(sessionId, options)),
    list: (query) => call("list", () => store.list(query)),
    count: (filter) => call("count", () => store.count(filter)),
    usage: (query) => call("usage", () => store.usage(query)),
    toolUsage: (query) => call("tool usage", () => store.toolUsage(query)),
    messages: (sessionId, options) => call("messages", () => store.messages(sessionId, options)),
    runs: (sessionId, options) => call("runs", () => store.runs(sessionId, options)),
    awaits: (sessionId, options) => call("awaits", () => store.awaits(sessionId, options)),
    openAwaits: (query) => call("open awaits", () => store.openAwaits(query)),
    changed: (query) => call("changed", () => store.changed(query)),
    summaries: (tenant, sessionIds) => call("summaries", () => store.summaries(tenant, sessionIds)),
    search: (tenant, sessionIds, text) => call("search", () => store.search(tenant, sessionIds, text)),
    checkpoints: (sessionId, options) => call("checkpoints", () => store.checkpoints(sessionId, options)),
    readSnapshot: (sessionId) => call("read snapshot", () => store.readSnapshot(sessionId)),
    writeSnapshot: (sessionId, snapshot) =>
      call(`write snapshot at ${snapshot.sequence}`, () => store.writeSnapshot(sessionId, snapshot)),
    delete: (sessionId, options) => call(`delete ${world.alias(sessionId)}`, () => store.delete(sessionId, options)),
    records: store.records,
    close: () => store.close(),
  };
}

function away(): KnownError {
  return new KnownError("store_unavailable", "The store does not answer.");
}

function never(): Promise<never> {
  return new Promise(() => {});
}

type Settled<Answer> = { readonly value: Answer } | { readonly error: unknown };

async function settledOf<Answer>(promise: Promise<Answer>): Promise<Settled<Answer>> {
  try {
    return { value: await promise };
  } catch (error) {
    return { error };
  }
}

/** Shortens an answer for the trace. */
function told(answer: Settled<unknown>): string {
  if ("error" in answer) return answer.error instanceof KnownError ? answer.error.code : String(answer.error);
  const { value } = answer;
  if (value === null || typeof value !== "object") return "ok";
  if ("repeated" in value && "events" in value && Array.isArray(value.events))
    return `${value.repeated ? "repeated" : "ok"} ${String(value.events[0]?.sequence)}`;
  if ("kind" in value && "lease" in value) return `leased ${(value.lease as { fence: number }).fence}`;
  return "kind" in value ? String(value.kind) : "ok";
}
