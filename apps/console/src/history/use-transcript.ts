import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Api, HistoryMessage } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import type { HistoryKey } from "../api/history-key.ts";
import { serverNow } from "../api/server-clock.ts";
import { streamInTurns } from "../api/stream-turns.ts";
import type { SessionView } from "../session/view.ts";
import { viewOfMessages } from "./history-view.ts";

export interface Transcript {
  readonly view: SessionView;
  readonly version: number;
  readonly phase: "loading" | "live" | "failed";
  readonly error: unknown;
  /** Whether the transcript has messages before (`hasMore`) or after (`hasLater`) the messages that are shown. */
  readonly hasMore: boolean;
  readonly hasLater: boolean;
  /** Whether the page shows the beginning or the end of the transcript first. */
  readonly opensAt: End;
  readonly sizeBytes: number;
  readonly damaged: number;
  readonly more: () => Promise<void>;
  readonly later: () => Promise<void>;
  /** Reads the transcript again, from its beginning or from its end. */
  readonly openAt: (end: End) => void;
}

type End = "beginning" | "end";

interface Loaded {
  readonly opensAt: End;
  readonly messages: readonly HistoryMessage[];
  readonly before: number | null;
  readonly after: number;
  readonly sizeBytes: number;
  readonly damaged: number;
}

interface TranscriptOptions {
  /** Always the same object for the same session. */
  readonly session: HistoryKey;
  readonly agentId: string | null;
  /** A position in the file that the first page must include. */
  readonly at: number | null;
  readonly withRewound: boolean;
  /** The name of the agent. Undefined until the agent is known. */
  readonly agent: string | undefined;
}

/** If a session has no message for this long, it is over and is read from its beginning. */
const OVER_MS = 10 * 60_000;

/**
 * Reads a coding agent's transcript, and follows the file as it grows. A session that may still run is read from its
 * end. A finished session is read from its beginning. A link to a position is read around this position.
 */
export function useTranscript({ session, agentId, at, withRewound, agent }: TranscriptOptions): Transcript {
  const api = useApi();
  const [loaded, setLoaded] = useState<Loaded>();
  const [error, setError] = useState<unknown>(null);
  const latest = useRef(loaded);
  latest.current = loaded;
  const isBusy = useRef(false);
  const [place, setPlace] = useState<Place>(at);

  const extend = useCallback(
    async (signal?: AbortSignal): Promise<void> => {
      const known = latest.current;
      if (!known) return;
      const page = await api.historyMessages(session, { after: known.after, agentId }, signal);
      // A page without messages counts too, so that its lines are not read again.
      if (page.next_after > known.after)
        // The transcript may have been read again from another place during this request.
        setLoaded((was) => (was?.after === known.after ? joined(was, page, "after") : was));
    },
    [api, session, agentId],
  );

  useEffect(() => {
    const stop = new AbortController();
    setLoaded(undefined);
    setError(null);
    void read(api, { session, agentId, place }, stop.signal).then(setLoaded, (problem: unknown) => {
      if (!stop.signal.aborted) setError(problem);
    });
    void followFile({ api, id: session.id, signal: stop.signal, extend }).catch(() => undefined);
    return () => stop.abort();
  }, [api, session, agentId, place, extend]);

  const more = useCallback(async (): Promise<void> => {
    const known = latest.current;
    if (!known || known.before === null || isBusy.current) return;
    isBusy.current = true;
    try {
      const page = await api.historyMessages(session, { before: known.before, agentId, limit: 300 });
      setLoaded((was) => (was?.before === known.before ? joined(was, page, "before") : was));
    } catch {
      // Errors are ignored, because scrolling again retries the request.
    } finally {
      isBusy.current = false;
    }
  }, [api, session, agentId]);

  const later = useCallback(async (): Promise<void> => {
    if (isBusy.current) return;
    isBusy.current = true;
    // Errors are ignored, because scrolling again retries the request.
    await extend().catch(() => undefined);
    isBusy.current = false;
  }, [extend]);

  const view = useMemo(
    () => viewOfMessages(loaded?.messages ?? [], { withRewound, agent: agent ?? "The agent" }),
    [loaded, withRewound, agent],
  );
  return {
    view,
    version: view.version + (loaded?.after ?? 0),
    phase: error !== null ? "failed" : loaded ? "live" : "loading",
    error,
    hasMore: loaded?.before !== null,
    hasLater: loaded !== undefined && loaded.after < loaded.sizeBytes,
    opensAt: loaded?.opensAt ?? "end",
    sizeBytes: loaded?.sizeBytes ?? 0,
    damaged: loaded?.damaged ?? 0,
    more,
    later,
    openAt: setPlace,
  };
}

type Page = Awaited<ReturnType<Api["historyMessages"]>>;

function joined(was: Loaded, page: Page, where: "before" | "after"): Loaded {
  const known = new Set(was.messages.map(({ offset }) => offset));
  const fresh = page.data.filter(({ offset }) => !known.has(offset));
  return {
    opensAt: was.opensAt,
    messages: where === "before" ? [...fresh, ...was.messages] : [...was.messages, ...fresh],
    before: where === "before" ? page.next_before : was.before,
    after: where === "after" ? page.next_after : was.after,
    sizeBytes: page.size_bytes,
    damaged: was.damaged + page.damaged,
  };
}

/**
 * Where reading begins: at a position or at an end. Null means the end of a session that may still run, and the
 * beginning of a finished session.
 */
type Place = number | End | null;

async function read(
  api: Api,
  { session, agentId, place }: { session: HistoryKey; agentId: string | null; place: Place },
  signal: AbortSignal,
): Promise<Loaded> {
  if (typeof place === "number") return await readAround(api, { session, agentId, at: place }, signal);
  const last = place === "beginning" ? undefined : await api.historyMessages(session, { agentId }, signal);
  if (last && (place === "end" || isRecent(last))) return { ...loadedOf(last), opensAt: "end" };
  if (last?.next_before === null) return { ...loadedOf(last), opensAt: "beginning" };
  const first = await api.historyMessages(session, { after: 0, agentId, limit: 200 }, signal);
  return { ...loadedOf(first), before: null, opensAt: "beginning" };
}

function isRecent({ data }: Page): boolean {
  const last = data.at(-1);
  return last !== undefined && serverNow() - Date.parse(last.created_at) < OVER_MS;
}

function loadedOf(page: Page): Omit<Loaded, "opensAt"> {
  return {
    messages: page.data,
    before: page.next_before,
    after: page.next_after,
    sizeBytes: page.size_bytes,
    damaged: page.damaged,
  };
}

async function readAround(
  api: Api,
  { session, agentId, at }: { session: HistoryKey; agentId: string | null; at: number },
  signal: AbortSignal,
): Promise<Loaded> {
  const [before, after] = await Promise.all([
    at === 0 ? undefined : api.historyMessages(session, { before: at, agentId, limit: 60 }, signal),
    api.historyMessages(session, { after: at, agentId, limit: 200 }, signal),
  ]);
  return {
    ...loadedOf(after),
    opensAt: "end",
    messages: [...(before?.data ?? []), ...after.data],
    before: before?.next_before ?? null,
    damaged: (before?.damaged ?? 0) + after.damaged,
  };
}

/** Reads new lines whenever the file grew, while the page is visible. */
async function followFile({
  api,
  id,
  signal,
  extend,
}: {
  api: Api;
  id: string;
  signal: AbortSignal;
  extend: (signal: AbortSignal) => Promise<void>;
}): Promise<void> {
  const readMore = (): Promise<void> => extend(signal).catch(() => undefined);
  await streamInTurns(signal, {
    async stream(turn) {
      for await (const change of api.historyChanges({ signal: turn }))
        if (change.type === "opened" || change.session_id === id) await readMore();
    },
    poll: readMore,
  });
}
