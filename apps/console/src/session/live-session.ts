import type { Followed } from "@skein/client";
import type { Event } from "@skein/protocol";
import { createContext, useContext, useEffect, useState, useSyncExternalStore } from "react";
import { type Api, isFinal, isMissing } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { pauseUntilBack } from "../api/connection.ts";
import { streamInTurns } from "../api/stream-turns.ts";
import { fold, foldDraft } from "./fold.ts";
import { markUnknown, unknownCallsOfParent } from "./parent-effects.ts";
import { type SessionView, emptyView } from "./view.ts";

/** Whether the page is still reading the log, follows it, has lost the server, or shows a deleted session. */
export type LoadedPhase = "loading" | "live" | "away" | "deleted";

/** The state of a session's page at one moment. */
export interface LiveSnapshot {
  readonly view: SessionView;
  readonly version: number;
  /** `loading` until the page has read the end of the log. */
  readonly phase: LoadedPhase | "failed";
  readonly error: unknown;
  /** All events from this sequence on are loaded. It is 1 if the whole log is loaded. Event 1 is always loaded. */
  readonly from: number;
}

type Subscribe = (changed: () => void) => () => void;

/**
 * Drafts (unfinished answers of the model) have separate listeners, so that only the component that shows a draft
 * renders in each animation frame.
 */
export interface Drafts {
  readonly subscribe: Subscribe;
  readonly version: () => number;
}

interface LiveSession {
  readonly subscribe: Subscribe;
  readonly snapshot: () => LiveSnapshot;
  readonly drafts: Drafts;
  readonly start: () => () => void;
  /** Loads earlier events of a log that is too long to be read at once. */
  readonly more: () => Promise<void>;
}

/** The most events of a log that is read as a whole. A longer log is read only as far back as the user scrolls. */
const WHOLE = 30_000;
/** The number of events that are read at once when the user scrolls back in a longer log. */
const BACK = 5000;

/**
 * Follows a session and folds its events. The end of the log is read first and shown, and earlier events are loaded
 * afterwards. The view changes with each event, and listeners are called at most once in each animation frame. The
 * client package handles reconnects.
 */
function createLiveSession({ api, id, isOver }: { api: Api; id: string; isOver: boolean }): LiveSession {
  let view = emptyView();
  let snapshot: LiveSnapshot = { view, version: 0, phase: "loading", error: null, from: 1 };
  let draftVersion = 0;
  let from = 1;
  let earlier: Event[] = [];
  let stop: AbortController | undefined;
  let unknownBefore: ReadonlySet<string> = new Set();
  const facts = createSignal();
  const drafts = createSignal();

  function tell(phase: LiveSnapshot["phase"], error: unknown = null): void {
    snapshot = { view, version: snapshot.version + 1, phase, error, from };
    facts.tell();
  }

  const paintFacts = oncePerFrame(() => snapshot.phase !== "loading" && tell("live"));
  const paintDrafts = oncePerFrame(() => {
    draftVersion += 1;
    drafts.tell();
  });

  function take(followed: Followed): void {
    if (followed.type === "draft") {
      foldDraft(view, followed.draft);
      paintDrafts.schedule();
      return;
    }
    if (followed.type === "event") fold(view, followed.event);
    else {
      // After a reset, the server sends the log again from its first event.
      view = emptyView();
      from = 1;
      earlier = [];
    }
    if (snapshot.phase === "live") paintFacts.schedule();
  }

  /** Reads a log that will not grow, without keeping a connection open. */
  async function readOnce(signal: AbortSignal): Promise<void> {
    for (let after: number | null = 0; after !== null;) {
      const page: Awaited<ReturnType<Api["events"]>> = await api.events(id, after, signal);
      for (const event of page.data) fold(view, event as Event);
      after = page.next_after;
    }
    tell("live");
  }

  /** Reads the end of the log, so that it is shown before earlier events are loaded. */
  async function readEnd(signal: AbortSignal): Promise<void> {
    const end = await untilAnswered(
      () => api.eventsBefore(id, undefined, signal),
      signal,
      () => tell("away"),
    );
    const [first] = end.data;
    from = first?.sequence ?? 1;
    // The first event has the agent and the parent session.
    if (from > 1) for (const event of (await api.events(id, 0, signal, 1)).data) fold(view, event as Event);
    for (const event of end.data) fold(view, event as Event);
    unknownBefore = await unknownCallsOfParent(api, view);
    markUnknown(view, unknownBefore);
    tell("live");
  }

  /**
   * Reads earlier events up to the beginning of the log or until `most` events are read. Folds all events again in
   * order.
   */
  async function readBack(signal: AbortSignal, most: number): Promise<void> {
    const began = from;
    const pages: Event[][] = [];
    while (from > 1 && began - from < most) {
      const page = await untilAnswered(
        () => api.eventsBefore(id, from, signal),
        signal,
        () => {},
      );
      if (page.data.length === 0) break;
      pages.unshift(page.data as Event[]);
      from = page.data[0]?.sequence ?? 1;
    }
    earlier = [...pages.flat(), ...earlier];
    const before = view;
    const known = earlier.at(-1)?.sequence ?? 0;
    const later = before.events.filter(({ sequence }) => sequence > known);
    view = emptyView();
    if (from > 1) for (const event of before.events.slice(0, 1)) fold(view, event);
    for (const event of earlier) fold(view, event);
    for (const event of later) fold(view, event);
    markUnknown(view, unknownBefore);
    // The events contain no drafts, so the draft is copied from the old view.
    const writing = before.steps.at(-1);
    const same = writing && view.steps.findLast(({ key }) => key === writing.key);
    if (same?.state === "running") same.draft = writing?.draft ?? "";
    tell(snapshot.phase === "away" ? "away" : "live");
  }

  /** Follows until the session is deleted or the signal aborts, and pauses while nobody looks at the page. */
  async function follow(outer: AbortSignal): Promise<void> {
    try {
      await streamInTurns(outer, { stream, poll });
    } catch (error) {
      // The session existed at the start, so somebody deleted it while the page was hidden or polled.
      if (!isMissing(error)) throw error;
      tell("deleted");
    }
  }

  async function stream(signal: AbortSignal): Promise<void> {
    const onReconnect = (attempt: number): unknown => attempt > 1 && tell("away");
    for await (const followed of api.follow(id, { after: view.sequence, signal, onReconnect, onOpen: isBack }))
      take(followed);
    if (!signal.aborted) tell("deleted");
  }

  function isBack(): void {
    if (snapshot.phase === "away") tell("live");
  }

  async function poll(signal: AbortSignal): Promise<void> {
    try {
      await readNew(signal);
      isBack();
    } catch (error) {
      // Other errors are ignored, because the next poll retries. The health check tells the user about a lost server.
      if (isFinal(error)) throw error;
    }
  }

  /** Reads the events that have been added to the log. */
  async function readNew(signal: AbortSignal): Promise<void> {
    for (let after: number | null = view.sequence; after !== null;) {
      const page: Awaited<ReturnType<Api["events"]>> = await api.events(id, after, signal);
      for (const event of page.data) take({ type: "event", event: event as Event });
      after = page.next_after;
    }
  }

  async function readAndFollow(signal: AbortSignal): Promise<void> {
    await readEnd(signal);
    await Promise.all([from > 1 && from <= WHOLE ? readBackOnce(signal, Infinity) : undefined, follow(signal)]);
  }

  /** Only one read of earlier events is in progress at a time, because two reads would mix their pages. */
  let readingBack: Promise<void> | undefined;
  function readBackOnce(signal: AbortSignal, most: number): Promise<void> {
    readingBack ??= readBack(signal, most).finally(() => (readingBack = undefined));
    return readingBack;
  }

  async function more(): Promise<void> {
    if (from <= 1 || !stop || snapshot.phase === "loading") return;
    // Errors are ignored, because scrolling again retries the request.
    await readBackOnce(stop.signal, BACK).catch(() => undefined);
  }

  async function run(signal: AbortSignal): Promise<void> {
    try {
      await (isOver ? readOnce(signal) : readAndFollow(signal));
    } catch (error) {
      if (!signal.aborted) tell("failed", error);
    }
  }

  return {
    subscribe: facts.subscribe,
    snapshot: () => snapshot,
    more,
    drafts: { subscribe: drafts.subscribe, version: () => draftVersion },
    start() {
      const started = new AbortController();
      stop = started;
      readingBack = undefined;
      view = emptyView();
      from = 1;
      earlier = [];
      snapshot = { view, version: snapshot.version + 1, phase: "loading", error: null, from };
      void run(started.signal);
      return () => {
        started.abort();
        paintFacts.cancel();
        paintDrafts.cancel();
      };
    },
  };
}

/**
 * Retries until the server answers, because an unreachable server may come back. Throws errors that no retry can
 * change.
 */
async function untilAnswered<Answer>(
  ask: () => Promise<Answer>,
  signal: AbortSignal,
  onAway: () => void,
): Promise<Answer> {
  for (let failures = 0; ; failures++)
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted || isFinal(error)) throw error;
      if (failures > 0) onAway();
      await pauseUntilBack(Math.min(5000, 300 * 2 ** failures), signal);
    }
}

function createSignal(): { readonly subscribe: Subscribe; readonly tell: () => void } {
  const listeners = new Set<() => void>();
  return {
    subscribe(changed) {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    tell: () => listeners.forEach((listener) => listener()),
  };
}

/** Runs `work` once in the next animation frame, however often it is scheduled. */
function oncePerFrame(work: () => unknown): { readonly schedule: () => void; readonly cancel: () => void } {
  let cancel: (() => void) | undefined;
  const run = (): void => {
    cancel = undefined;
    work();
  };
  return {
    schedule() {
      if (cancel) return;
      // A page in the background gets no frames, and must not wait for one.
      const isHidden = document.hidden;
      const handle = isHidden ? window.setTimeout(run, 250) : requestAnimationFrame(run);
      cancel = () => (isHidden ? clearTimeout(handle) : cancelAnimationFrame(handle));
    },
    cancel() {
      cancel?.();
      cancel = undefined;
    },
  };
}

/** Reads and follows a session. With `isOver`, only reads the log, because it will not grow. */
export function useLiveSession(
  id: string,
  isOver = false,
): LiveSnapshot & { readonly drafts: Drafts; readonly more: () => Promise<void> } {
  const api = useApi();
  const [live] = useState(() => createLiveSession({ api, id, isOver }));
  useEffect(() => live.start(), [live]);
  return { ...useSyncExternalStore(live.subscribe, live.snapshot), drafts: live.drafts, more: live.more };
}

const NO_DRAFTS: Drafts = { subscribe: () => () => {}, version: () => 0 };
const DraftsContext = createContext<Drafts>(NO_DRAFTS);
export const DraftsProvider = DraftsContext.Provider;

/** Makes the component render again in each animation frame in which a draft has grown. */
export function useDrafts(): number {
  const drafts = useContext(DraftsContext);
  return useSyncExternalStore(drafts.subscribe, drafts.version);
}
