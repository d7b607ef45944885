import type { Followed } from "@skein/client";
import { createContext, useContext, useEffect, useState, useSyncExternalStore } from "react";
import type { Api } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { fold, foldDraft } from "./fold.ts";
import { type SessionView, emptyView } from "./view.ts";

/** A session as the page has it at one moment. */
export interface LiveSnapshot {
  readonly view: SessionView;
  readonly version: number;
  /** `loading` until the log was read to where it was at the beginning. */
  readonly phase: "loading" | "live" | "away" | "deleted" | "failed";
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
function createLiveSession({ api, id }: { api: Api; id: string }): LiveSession {
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

  async function run(signal: AbortSignal): Promise<void> {
    const settle = (): void => tell("live");
    // An empty session is loaded as well.
    let settled = setTimeout(settle, 1500);
    try {
      for await (const followed of api.follow(id, { signal, onReconnect: (attempt) => attempt > 1 && tell("away") })) {
        take(followed);
        if (snapshot.phase === "away") tell("live");
        if (snapshot.phase !== "loading") continue;
        clearTimeout(settled);
        settled = setTimeout(settle, SETTLED_MS);
      }
      if (!signal.aborted) tell("deleted");
    } catch (error) {
      if (!signal.aborted) tell("failed", error);
    } finally {
      clearTimeout(settled);
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

export function useLiveSession(id: string): LiveSnapshot & { readonly drafts: Drafts } {
  const api = useApi();
  const [live] = useState(() => createLiveSession({ api, id }));
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
