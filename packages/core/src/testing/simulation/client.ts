import { type Ids, isKnownError } from "@skein/protocol";
import { createSessions } from "../../sessions/sessions.ts";
import type { Store } from "../../ports/store.ts";
import type { Operation, Stream } from "../check-history.ts";
import { scriptedAgent } from "../script.ts";
import type { Faults } from "./faults.ts";
import { createFaultyStore } from "./faulty-store.ts";
import { POISON } from "./model-and-tools.ts";
import type { Process, World } from "./world.ts";

export const AGENT = {
  id: "01890000-0000-7000-8000-000000000001",
  version: 1,
  status: "active",
  config: scriptedAgent,
} as const;

export interface ClientDeps {
  readonly world: World;
  readonly store: Store;
  readonly ids: Ids;
  readonly faults: () => Faults;
  /** How many operations the client has left, over all its restarts. */
  readonly operations: number;
  readonly history: { readonly operations: Operation[]; readonly streams: Stream[] };
  /** Ids of sessions that were created. Some may be deleted. */
  readonly known: string[];
  /** Whether clients answer awaits (tool calls that wait for a person or client). */
  readonly answers: boolean;
  readonly report: (error: unknown) => void;
}

export interface Client {
  done(): boolean;
}

/**
 * Starts a client that creates, prompts, cancels, edits, forks and deletes sessions, and records the answers that it
 * gets.
 */
export function startClient(name: string, deps: ClientDeps): Client {
  const { world } = deps;
  let left = deps.operations;
  let busy = false;
  let births = 0;

  function begin(): void {
    const process = world.process(`${name}.${(births += 1)}`, {
      onTurn(self) {
        if (world.random.chance(deps.faults().crash / 3)) self.kill("crash");
      },
      onKilled: () => void world.turn(`${name} is started again`, 100).then(begin),
    });
    void live(process);
  }

  async function live(process: Process): Promise<void> {
    const operate = createOperations(name, process, deps);
    try {
      while (left > 0) {
        left -= 1;
        busy = true;
        await operate();
      }
    } catch (error) {
      deps.report(error);
    }
    busy = false;
  }

  begin();
  return { done: () => left === 0 && !busy };
}

function createOperations(name: string, process: Process, deps: ClientDeps): () => Promise<void> {
  const { world, known, history, ids } = deps;
  const { random } = world;
  const store = createFaultyStore({ world, store: deps.store, process, faults: deps.faults });
  const sessions = createSessions({ store, now: world.now, ids });
  let hear = (_sessionId: string | null): void => {};
  store.onNews((sessionId, events) => {
    if (events?.some(({ event_type }) => event_type === "session.completed")) hear(sessionId);
    // A client that sees a question may answer it, at once or much later.
    if (!deps.answers || !random.chance(0.6)) return;
    const delay = random.pick([0, 50, 1000, 8000, 10_000]);
    void process.turn(`${process.name} answers`, delay).then(() => answer(sessionId).catch(deps.report));
  });

  /**
   * Waits for a while or until a run has ended. After the end of a run, the client may send its next prompt just when
   * the worker releases the session.
   */
  const thought = (): Promise<string | null> =>
    new Promise((resolve) => {
      if (random.chance(0.5)) hear = resolve;
      const pause = random.pick([0, 10, 300, 3000]);
      void process.turn(`${process.name} has thought`, pause).then(() => resolve(null));
    });

  /**
   * Sends an operation once. If the operation has a key, sends it up to four times until an answer arrives. Without an
   * answer, the outcome is `unknown`.
   */
  async function attempt(operation: Operation, ask: () => Promise<Partial<Operation>>): Promise<void> {
    history.operations.push(operation);
    for (let tries = operation.key === null ? 1 : random.between(1, 4); tries > 0; tries--) {
      try {
        Object.assign(operation, await ask(), { outcome: "ok" });
        return;
      } catch (error) {
        if (!isKnownError(error)) throw error;
        if (error.code !== "store_unavailable") {
          // An earlier attempt may have succeeded even if this attempt is rejected, because a deleted session rejects
          // everything.
          operation.outcome = tries === 1 && operation.key === null ? "refused" : "unknown";
          return;
        }
        await process.turn(`${process.name} tries again`, random.pick([0, 50, 1000]));
      }
    }
  }

  function operation(kind: Operation["kind"], sessionId: string | null, keyed = false): Operation {
    const text = `${kind} ${name} ${history.operations.length + 1}`;
    return {
      client: name,
      kind,
      outcome: "unknown",
      key: keyed ? text : null,
      text,
      sessionId,
      messageId: null,
      sequence: null,
    };
  }

  const keyOf = ({ key }: Operation) => (key === null ? undefined : { id: key, fingerprint: key });

  async function create(): Promise<void> {
    const op = operation("create", null, random.chance(0.7));
    await attempt(op, async () => ({ sessionId: (await sessions.create(AGENT, { title: op.text }, keyOf(op))).id }));
    if (op.sessionId !== null) known.push(op.sessionId);
  }

  async function prompt(sessionId: string): Promise<void> {
    const op = operation("prompt", sessionId, random.chance(0.7));
    const mode = random.pick(["queue", "queue", "steer", "interrupt"] as const);
    const content = random.chance(0.04) ? `${op.text} ${POISON}` : (op.text ?? "");
    await attempt({ ...op, text: content }, () => sessions.prompt(sessionId, { content, mode }, keyOf(op)));
  }

  async function cancel(sessionId: string): Promise<void> {
    await attempt(operation("cancel", sessionId), async () => {
      const queued = random.chance(0.3) ? (await sessions.state(sessionId)).queue.at(-1)?.run_id : undefined;
      const { sequence } = await sessions.cancel(sessionId, queued === undefined ? {} : { runId: queued });
      return { sequence };
    });
  }

  async function fork(sessionId: string): Promise<void> {
    const op = operation("fork", sessionId);
    await attempt(op, async () => {
      // The parent's events before the fork are recorded as a stream, so that the checker can see whether they changed.
      const events = [...(await sessions.events(sessionId))];
      history.streams.push({ reader: `${process.name} before its fork`, sessionId, after: 0, events, complete: false });
      const messages = await sessions.transcript(sessionId);
      const at = messages.length > 0 && random.chance(0.7) ? { messageId: random.pick(messages).id } : {};
      const { id } = await sessions.fork(sessionId, at);
      known.push(id);
      return { sessionId: id };
    });
  }

  /** Answers an await of a session, often twice, and sometimes answers something that the session never asked. */
  async function answer(sessionId: string): Promise<void> {
    try {
      const open = await store.awaits(sessionId);
      const toolUseId = open.length > 0 ? random.pick(open).tool_use_id : "toolu_nobody";
      for (let times = random.between(1, 2); times > 0; times--)
        await sessions.answer(sessionId, toolUseId, { content: "yes", isError: random.chance(0.3) });
    } catch (error) {
      if (!isKnownError(error)) throw error;
    }
  }

  return async () => {
    const news = await thought();
    if (known.length === 0) return create();
    const sessionId = news ?? random.pick(known);
    const dice = random.next();
    if (dice < 0.08) return create();
    if (dice < 0.68) return prompt(sessionId);
    if (dice < 0.84) return cancel(sessionId);
    if (dice < 0.9) return fork(sessionId);
    if (dice < 0.97) {
      const op = operation("edit", sessionId);
      return attempt(op, () => sessions.edit(sessionId, { tags: ["edited"] }).then(() => ({})));
    }
    return attempt(operation("delete", sessionId), () => sessions.delete(sessionId).then(() => ({})));
  };
}
