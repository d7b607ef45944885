import type { Followed } from "@skein/client";
import { useEffect, useState, useSyncExternalStore } from "react";
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

interface LiveSession {
  readonly subscribe: (changed: () => void) => () => void;
  readonly snapshot: () => LiveSnapshot;
  readonly start: () => () => void;
}

/** The stream says nothing when the past ends: a pause of this length after an event means that what follows is live. */
const SETTLED_MS = 60;

/**
 * Follows a session and folds its events. The view changes as often as events arrive, and whoever shows it is told at most once
 * per frame. Reconnecting, and going on after the last event, is the client's part.
 */
function createLiveSession({ api, id }: { api: Api; id: string }): LiveSession {
  const listeners = new Set<() => void>();
  let view = emptyView();
  let snapshot: LiveSnapshot = { view, version: 0, phase: "loading", error: null };
  let frame: number | undefined;

  function tell(phase: LiveSnapshot["phase"], error: unknown = null): void {
    snapshot = { view, version: snapshot.version + 1, phase, error };
    for (const listener of listeners) listener();
  }

  function schedule(): void {
    // A page in the background gets no frames, and must not wait for one.
    frame ??= document.hidden ? window.setTimeout(paint, 250) : requestAnimationFrame(paint);
  }

  function paint(): void {
    frame = undefined;
    if (snapshot.phase !== "loading") tell("live");
  }

  function take(followed: Followed): void {
    if (followed.type === "event") fold(view, followed.event);
    else if (followed.type === "draft") foldDraft(view, followed.draft);
    else view = emptyView();
  }

  async function run(signal: AbortSignal): Promise<void> {
    let settled: ReturnType<typeof setTimeout> | undefined;
    const settle = (): void => tell("live");
    try {
      // What is known of the session's end is not in the stream; an empty session is loaded as well.
      settled = setTimeout(settle, 1500);
      for await (const followed of api.follow(id, { signal, onReconnect: (attempt) => attempt > 1 && tell("away") })) {
        take(followed);
        if (snapshot.phase === "loading") {
          clearTimeout(settled);
          settled = setTimeout(settle, SETTLED_MS);
        } else if (snapshot.phase === "away") tell("live");
        else schedule();
      }
      if (!signal.aborted) tell("deleted");
    } catch (error) {
      if (!signal.aborted) tell("failed", error);
    } finally {
      clearTimeout(settled);
    }
  }

  return {
    subscribe(changed) {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    snapshot: () => snapshot,
    start() {
      const stop = new AbortController();
      view = emptyView();
      snapshot = { view, version: snapshot.version + 1, phase: "loading", error: null };
      void run(stop.signal);
      return () => {
        stop.abort();
        if (frame !== undefined) cancelAnimationFrame(frame);
        frame = undefined;
      };
    },
  };
}

export function useLiveSession(id: string): LiveSnapshot {
  const api = useApi();
  const [live] = useState(() => createLiveSession({ api, id }));
  useEffect(() => live.start(), [live]);
  return useSyncExternalStore(live.subscribe, live.snapshot);
}
