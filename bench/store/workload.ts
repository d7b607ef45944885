import type { Lease, Store } from "@skein/core";
import { scriptedAgent } from "@skein/core/testing";
import { type Fact, type NewEvent, createIds } from "@skein/protocol";

export const ids = createIds();
export const TENANT = "default";

type Created = Extract<Fact, { event_type: "session.created" }>["data"];

export function created(overrides: Partial<Created> = {}): NewEvent {
  return {
    id: ids(),
    event_type: "session.created",
    data: {
      tenant: TENANT,
      agent_id: "01890000-0000-7000-8000-000000000001",
      agent_version: 1,
      agent: scriptedAgent,
      title: null,
      tags: [],
      model_id: null,
      working_directory: null,
      metadata: {},
      parent: null,
      subagent_of: null,
      ...overrides,
    },
  };
}

/** A prompt whose body is this many bytes long. */
export function prompt(bytes = 500): NewEvent {
  const data = {
    message_id: ids(),
    run_id: ids(),
    mode: "queue" as const,
    content: "",
    model: null,
    max_cost_micros: null,
  };
  data.content = "x".repeat(bytes - JSON.stringify(data).length);
  return { id: ids(), event_type: "prompt.accepted", data };
}

/** The start of a tool call, as an event whose body is this many bytes long. */
export function toolStarted(runId: string, bytes = 500): NewEvent {
  const data = { run_id: runId, step: 1, tool_use_id: ids(), name: "search", input: "", policy: "once" as const };
  data.input = "x".repeat(bytes - JSON.stringify(data).length);
  return { id: ids(), event_type: "tool.started", data };
}

export async function newSession(store: Store): Promise<string> {
  const sessionId = ids();
  await store.append(sessionId, [created()], { expect: 0 });
  return sessionId;
}

export async function lease(store: Store, sessionId: string): Promise<Lease> {
  const claimed = await store.claim({ owner: "bench", leaseMs: 600_000, sessionId });
  if (claimed.kind !== "leased") throw new Error(`Expected a lease, but the session is ${claimed.kind}.`);
  return claimed.lease;
}

/** Calls `work` with 0..count-1, at most `width` calls at a time. */
export async function inParallel(
  count: number,
  width: number,
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, worker));
}
