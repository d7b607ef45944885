import { createParking, createWorkers, lacking } from "@skein/core";
import { PLACES, cursorOf, placeOf } from "../../http/cursor.ts";
import type { Handlers, ServerContext } from "../../request-context.ts";

/** The workers, and the sessions that no worker can run. */
export const workerHandlers = {
  async listWorkers(_, { shared }) {
    const workers = await workersOf(shared);
    return {
      data: workers.map(({ owner, runtimes, agents, tools, skills, model }) => ({
        id: owner,
        runtimes: [...runtimes],
        agents: [...agents],
        tools: [...tools],
        skills: [...skills],
        model,
      })),
    };
  },
  async getPlacement({ params: { session_id } }, { shared, sessions }) {
    const { agent, run, queue } = await sessions.state(session_id);
    const all = await workersOf(shared);
    const others = agent
      ? all.map((worker) => ({ worker: worker.owner, lacks: [...lacking(worker, agent)] })).filter(isLacking)
      : [];
    const workers = all.map(({ owner }) => owner).filter((owner) => !others.some(({ worker }) => worker === owner));
    // A worker may find that something is missing, such as the API key of a model. Only the worker that took the
    // session can find this.
    const hasWork = run !== null || queue.length > 0;
    const unserved = hasWork && (await shared.unserved()).find(({ sessionId }) => sessionId === session_id);
    return {
      session_id,
      waiting: workers.length === 0 || Boolean(unserved),
      worker: (await shared.deps.store.owners(session_id))[0] ?? null,
      workers,
      lacking: others,
      detail:
        workers.length > 0 && unserved ? `The session waits: ${unserved.missing}` : sentenceOf(workers.length, others),
    };
  },
  async listParked({ query: { limit, cursor } }, { shared, principal }) {
    const page = await parkingOf(shared).list(principal.tenant, {
      ...(limit !== undefined && { limit }),
      ...(cursor !== undefined && { cursor: placeOf(cursor, PLACES.record) }),
    });
    const data = page.items.map(({ sessionId, parkedAt, attempts, problem }) => ({
      session_id: sessionId,
      parked_at: parkedAt,
      attempts,
      problem,
    }));
    return { data, next_cursor: cursorOf(page.cursor) };
  },
  async retryParked({ params: { session_id } }, { shared, principal }) {
    await parkingOf(shared).retry(principal.tenant, session_id);
    shared.deps.wake?.(session_id);
    return undefined;
  },
  async discardParked({ params: { session_id } }, { shared, principal }) {
    await parkingOf(shared).discard(principal.tenant, session_id);
    return undefined;
  },
} satisfies Partial<Handlers>;

/** Returns the workers. Leaves out dead processes of this host that did not remove their entry. */
async function workersOf({ deps: { store, process: own } }: ServerContext) {
  const all = await createWorkers(store.records).list();
  return all.filter(({ owner }) => !own?.isDead(owner));
}

function parkingOf({ deps: { store }, now }: ServerContext) {
  return createParking({ store, now, report: () => {} });
}

function isLacking({ lacks }: { readonly lacks: readonly string[] }): boolean {
  return lacks.length > 0;
}

function sentenceOf(fit: number, others: readonly { readonly lacks: readonly string[] }[]): string {
  if (fit > 0) return `${fit} of ${fit + others.length} workers can run this session.`;
  if (others.length === 0)
    return 'The session waits: no worker is running. Start one with "skein serve --role worker".';
  const lacks = [...new Set(others.flatMap((other) => other.lacks))];
  return `The session waits: no worker has ${lacks.join(", ")}. Start a worker that has it.`;
}
