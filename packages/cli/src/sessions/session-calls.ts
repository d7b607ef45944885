import {
  type Page,
  type SessionQuery,
  type Sessions,
  type SessionsDeps,
  type Store,
  createSessions,
  queuedRun,
} from "@skein/core";
import type { ApiSession, Await, Content, Run, Session } from "@skein/protocol";
import type { Agent, AgentResult, RunOptions } from "skein";

/** A session as the commands show it. A server has fewer fields than a store. */
export type SeenSession = Pick<Session, keyof Session & keyof ApiSession> & Pick<ApiSession, "queued" | "unserved">;

type Own = Pick<Sessions, "messages" | "transcript" | "events" | "follow" | "state" | "answer" | "delete">;

/** The functions for sessions in a store or on a server. */
export interface SessionCalls extends Own {
  get(sessionId: string): Promise<SeenSession>;
  list(query?: Omit<SessionQuery, "tenant">): Promise<Page<SeenSession>>;
  runs(sessionId: string, options?: { readonly limit?: number; readonly cursor?: string }): Promise<Page<Run>>;
  prompt(
    sessionId: string,
    prompt: { readonly content: string; readonly mode?: RunOptions["mode"] },
  ): Promise<{ readonly runId: string; readonly sequence: number }>;
  cancel(
    sessionId: string,
    options?: { readonly runId?: string; readonly reason?: string },
  ): Promise<{ readonly id: string; readonly sequence: number }>;
  fork(sessionId: string, options?: { readonly messageId?: string; readonly title?: string }): Promise<SeenSession>;
  import(events: readonly unknown[]): Promise<SeenSession>;
}

/** `SessionCalls`, and the open awaits of a session: the questions, approvals and frontend tools that it waits for. */
export interface OpenedSessions extends SessionCalls {
  awaits(sessionId: string): Promise<readonly Await[]>;
}

export function sessionsOfStore(store: Store, forget?: SessionsDeps["forget"]): OpenedSessions {
  const sessions = createSessions({ store, forget });
  return {
    ...sessions,
    async get(sessionId) {
      const session = await sessions.get(sessionId);
      const queued = session.status !== "awaiting" ? await queuedRun(store.records, sessionId) : undefined;
      return { ...session, ...(queued && { queued }) };
    },
    awaits: (sessionId) => store.awaits(sessionId),
  };
}

/** Runs prompts with an agent of this process or of a server. */
export interface Answerer {
  stream(prompt: Content, options: RunOptions): ReturnType<Agent["stream"]>;
  text(prompt: Content, options: Parameters<Agent["text"]>[1]): ReturnType<Agent["text"]>;
  follow: Agent["follow"];
  /** Returns how the last run ended, or what the run waits for. */
  resume(
    sessionId: string,
  ): Promise<Pick<AgentResult, "runId" | "stopReason" | "error" | "awaiting"> & Partial<Pick<AgentResult, "output">>>;
  sessions(): Promise<SessionCalls>;
  close(): Promise<void>;
}
