import type { Followed } from "@skein/client";
import type { Event } from "@skein/protocol";
import { createContext, useContext, useEffect, useState, useSyncExternalStore } from "react";
import type { Api } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { fold, foldDraft } from "./fold.ts";
import { type SessionView, emptyView } from "./view.ts";

/** Whether the log of a session is still being read, followed, interrupted, or gone. */
export type LoadedPhase = "loading" | "live" | "away" | "deleted";

/** A session as the page has it at one moment. */
export interface LiveSnapshot {
  readonly view: SessionView;
  readonly version: number;
  /** `loading` until the log was read to where it was at the beginning. */
  readonly phase: LoadedPhase | "failed";
  readonly error: unknown;
}

type Subscribe = (changed: () => void) => () => void;

/** Who is told when unfinished text grew: only what shows it, so that nothing else is painted with each frame. */
export interface Drafts {
  readonly subscribe: Subscribe;
  readonly version: () => number;
}

interface LiveSession {
  readonly subscribe: Subscribe;
  readonly snapshot: () => LiveSnapshot;
  readonly drafts: Drafts;
  readonly start: () => () => void;
}

/** The stream says nothing when the past ends: a pause of this length after an event means that what follows is live. */
const SETTLED_MS = 60;

/**
 * Follows a session and folds its events. The view changes as often as events arrive, and whoever shows it is told at most once
 * per frame. Reconnecting, and going on after the last event, is the client's part.
 */
function createLiveSession({ api, id, isOver }: { api: Api; id: string; isOver: boolean }): LiveSession {
  let view = emptyView();
  let snapshot: LiveSnapshot = { view, version: 0, phase: "loading", error: null };
  let draftVersion = 0;
  const facts = createSignal();
  const drafts = createSignal();

  function tell(phase: LiveSnapshot["phase"], error: unknown = null): void {
    snapshot = { view, version: snapshot.version + 1, phase, error };
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
    else view = emptyView();
    if (snapshot.phase === "live") paintFacts.schedule();
  }

  /** Reads a log that will not grow, without holding a connection. */
  async function readOnce(signal: AbortSignal): Promise<void> {
    for (let after: number | null = 0; after !== null;) {
      const page: Awaited<ReturnType<Api["events"]>> = await api.events(id, after, signal);
      for (const event of page.data) fold(view, event as Event);
      after = page.next_after;
    }
    tell("live");
  }

  /** Follows until the session is deleted or the signal aborts, with a pause while nobody looks at the page. */
  async function follow(signal: AbortSignal): Promise<void> {
    const settle = (): void => tell("live");
    // An empty session is loaded as well.
    let settled = setTimeout(settle, 1500);
    try {
      while (!signal.aborted) {
        const looked = whileLookedAt(signal);
        const options = {
          after: view.sequence,
          signal: looked.signal,
          onReconnect: (attempt: number) => attempt > 1 && tell("away"),
        };
        for await (const followed of api.follow(id, options)) {
          take(followed);
          if (snapshot.phase === "away") tell("live");
          if (snapshot.phase !== "loading") continue;
          clearTimeout(settled);
          settled = setTimeout(settle, SETTLED_MS);
        }
        if (!looked.signal.aborted) return tell("deleted");
        await looked.again;
      }
    } finally {
      clearTimeout(settled);
    }
  }

  async function run(signal: AbortSignal): Promise<void> {
    try {
      await (isOver ? readOnce(signal) : follow(signal));
    } catch (error) {
      if (!signal.aborted) tell("failed", error);
    }
  }

  return {
    subscribe: facts.subscribe,
    snapshot: () => snapshot,
    drafts: { subscribe: drafts.subscribe, version: () => draftVersion },
    start() {
      const stop = new AbortController();
      view = emptyView();
      snapshot = { view, version: snapshot.version + 1, phase: "loading", error: null };
      void run(stop.signal);
      return () => {
        stop.abort();
        paintFacts.cancel();
        paintDrafts.cancel();
      };
    },
  };
}

/** A browser has six connections to a server: a page that nobody looks at gives its own back after this long. */
const HIDDEN_MS = 20_000;

/** A signal that aborts when the page was hidden for a while, and a promise for the moment at which it is looked at again. */
function whileLookedAt(outer: AbortSignal): { readonly signal: AbortSignal; readonly again: Promise<void> } {
  const inner = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const again = new Promise<void>((resolve) => {
    const looked = (): void => {
      clearTimeout(timer);
      if (document.hidden && !outer.aborted) timer = setTimeout(() => inner.abort(), HIDDEN_MS);
      else if (inner.signal.aborted || outer.aborted) {
        document.removeEventListener("visibilitychange", looked);
        inner.abort();
        resolve();
      }
    };
    document.addEventListener("visibilitychange", looked);
    outer.addEventListener("abort", looked, { once: true });
    looked();
  });
  return { signal: inner.signal, again };
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

/** Does something once, in the next frame, however often it is asked for. */
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

/** `isOver`: the log will not grow, and is read without following it. */
export function useLiveSession(id: string, isOver = false): LiveSnapshot & { readonly drafts: Drafts } {
  const api = useApi();
  const [live] = useState(() => createLiveSession({ api, id, isOver }));
  useEffect(() => live.start(), [live]);
  return { ...useSyncExternalStore(live.subscribe, live.snapshot), drafts: live.drafts };
}

const NO_DRAFTS: Drafts = { subscribe: () => () => {}, version: () => 0 };
const DraftsContext = createContext<Drafts>(NO_DRAFTS);
export const DraftsProvider = DraftsContext.Provider;

/** Paints again with each frame in which unfinished text grew. */
export function useDrafts(): number {
  const drafts = useContext(DraftsContext);
  return useSyncExternalStore(drafts.subscribe, drafts.version);
}
