import { type Event, createIds } from "@skein/protocol";
import { expect } from "vitest";
import { createMemoryLive } from "../../live/live.ts";
import type { Live } from "../../live/live.ts";
import type { Accepted } from "../../sessions/accepted-prompt.ts";
import { type Sessions, createSessions } from "../../sessions/sessions.ts";
import { createStateCache } from "../../log/state-cache.ts";
import type { Store } from "../../ports/store.ts";
import { checkHistory } from "../check-history.ts";
import type { AgentUnderTest, ModelStep, RuntimeUnderTest } from "./runtime-under-test.ts";

/** A process that runs sessions: an engine with the runtime under test, on a store. */
export interface Host {
  readonly store: Store;
  readonly sessions: Sessions;
  readonly live: Live;
  readonly owner: string;
  /** Unexpected errors that the process reported in this test. */
  readonly problems: unknown[];
  stop(): Promise<void>;
}

export type EventOf<Type extends Event["event_type"]> = Extract<Event, { event_type: Type }>;

/** A prompt that was accepted, and the process that runs it. */
export interface Prompted extends Accepted {
  readonly host: Host;
  /** The label of the requests that this prompt sends to the model. */
  readonly label: string;
}

interface PromptUnderTest {
  readonly mode?: "queue" | "steer" | "interrupt";
  readonly maxCostMicros?: number;
}

/** The parts that every test of the contract uses. */
export interface RuntimeFixture {
  readonly under: RuntimeUnderTest;
  /** The process that most tests share. */
  readonly host: Host;
  /** A name that no other test has. */
  name(): string;
  store(): Promise<Store>;
  /** Starts another process on a store. The process is stopped at the end. */
  another(store: Store): Host;
  /**
   * Returns an idle session of the shared process. Sessions are used again, because some runtimes start a child process
   * for a new session.
   */
  session(agent?: AgentUnderTest): Promise<string>;
  prompt(
    sessionId: string,
    steps: readonly ModelStep[],
    options?: PromptUnderTest & { host?: Host },
  ): Promise<Prompted>;
  /** Like `prompt`, in a session that `session` returns. */
  run(steps: readonly ModelStep[], options?: PromptUnderTest & { agent?: AgentUnderTest }): Promise<Prompted>;
  /** The events of a run from its start to its end, once it has ended. */
  ended(prompted: Pick<Prompted, "sessionId" | "runId" | "host">): Promise<readonly Event[]>;
  /** The text of the run's answer; fails if the run did not complete. */
  answer(prompted: Prompted): Promise<string>;
  /**
   * Checks the log of an idle session: every run ended once, every tool call has one result, nothing is counted twice.
   */
  sound(prompted: Pick<Prompted, "sessionId" | "host">): Promise<void>;
  /** Called after each test: makes idle sessions available for reuse. Fails if a process reported a problem. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

const PATIENCE_MS = 60_000;

/** Waits until a condition is true. */
export async function until<Value>(probe: () => Value | Promise<Value>): Promise<NonNullable<Value>> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (Date.now() > end) throw new Error(`This did not become true within ${PATIENCE_MS} ms: ${probe.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export function only<Type extends Event["event_type"]>(events: readonly Event[], type: Type) {
  return events.filter((event): event is EventOf<Type> => event.event_type === type);
}

export function createRuntimeFixture(under: RuntimeUnderTest, store: Store): RuntimeFixture {
  const ids = createIds();
  const stores: Store[] = [store];
  const hosts: Host[] = [];
  const idle = new Map<string, string[]>();
  const used = new Map<string, string>();
  let names = 0;
  const name = (): string => `c${(names += 1)}`;

  function another(on: Store): Host {
    const host = createTestHost(under, on, `contract/${hosts.length + 1}`);
    hosts.push(host);
    return host;
  }

  const host = another(store);

  async function session(agent: AgentUnderTest = {}): Promise<string> {
    const kind = JSON.stringify(agent);
    const sessionId = idle.get(kind)?.pop() ?? (await host.sessions.create(under.agent(agent))).id;
    used.set(sessionId, kind);
    return sessionId;
  }

  const prompt: RuntimeFixture["prompt"] = async (sessionId, steps, { host: by = host, ...options } = {}) => {
    const label = name();
    const accepted = await by.sessions.prompt(sessionId, { content: under.prompt(steps, label), ...options });
    return { ...accepted, label, host: by };
  };

  return {
    under,
    host,
    name,
    another,
    session,
    prompt,
    async store() {
      const opened = await under.store();
      stores.push(opened);
      return opened;
    },
    run: async (steps, { agent, ...options } = {}) => prompt(await session(agent), steps, options),
    ended,
    async answer(prompted) {
      const [completed] = only(await ended(prompted), "session.completed");
      expect(completed?.data.final_response, "the run completed").toBeTypeOf("string");
      return completed?.data.final_response ?? "";
    },
    sound: expectSound,
    async settle() {
      const problems = hosts.flatMap((one) => one.problems.splice(0));
      for (const [sessionId, kind] of used) {
        const state = await host.sessions.state(sessionId);
        if (!state.run && state.queue.length === 0) idle.set(kind, [...(idle.get(kind) ?? []), sessionId]);
      }
      used.clear();
      expect(problems, "no unexpected error was reported").toEqual([]);
    },
    async close() {
      await Promise.all(hosts.map((one) => one.stop()));
      for (const one of stores) await one.close();
    },
  };

  function ended({ sessionId, runId, host: { sessions } }: Pick<Prompted, "sessionId" | "runId" | "host">) {
    return until(async () => {
      const events = await sessions.events(sessionId);
      const isOf = (event: Event, ...types: readonly Event["event_type"][]): boolean =>
        types.includes(event.event_type) && (event.data as { run_id?: string }).run_id === runId;
      const end = events.findIndex((event) => isOf(event, "session.completed", "session.failed"));
      return end === -1
        ? undefined
        : events.slice(
            events.findIndex((event) => isOf(event, "session.started")),
            end + 1,
          );
    });
  }

  async function expectSound({ sessionId, host: by }: Pick<Prompted, "sessionId" | "host">): Promise<void> {
    const { sessions } = by;
    await until(async () => (await sessions.get(sessionId)).status === "idle");
    const [events, row, runs, messages] = await Promise.all([
      sessions.events(sessionId),
      sessions.get(sessionId),
      sessions.runs(sessionId, { limit: 100 }),
      sessions.messages(sessionId, { limit: 1000 }),
    ]);
    const violations = checkHistory({
      operations: [],
      sessions: [{ sessionId, events, session: row, runs: runs.items.toReversed(), messages: messages.items }],
      acts: [],
      effects: null,
      modelCalls: null,
      streams: [],
      errors: [],
      mustFinish: true,
    });
    expect(violations).toEqual([]);
  }

  function createTestHost(under_: RuntimeUnderTest, on: Store, owner: string): Host {
    const problems: unknown[] = [];
    const report = (error: unknown): void => void problems.push(error);
    const states = createStateCache({ store: on });
    const live = createMemoryLive();
    const { runtime, close } = under_.runtime({ store: on, states, live, now: Date.now, ids, report });
    const engine = under_.engine({ store: on, runtime, owner, report });
    const sessions = createSessions({ store: on, ids, reserve: engine.reserve });
    let stopped: Promise<void> | undefined;
    engine.start();
    return {
      store: on,
      sessions,
      live,
      owner,
      problems,
      stop: () =>
        (stopped ??= (async () => {
          await engine.stop();
          await close();
          states.close();
        })()),
    };
  }
}
