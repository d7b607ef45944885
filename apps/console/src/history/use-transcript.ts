import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Api, HistoryMessage } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { streamInTurns } from "../api/stream-turns.ts";
import type { SessionView } from "../session/view.ts";
import { viewOfMessages } from "./history-view.ts";

export interface Transcript {
  readonly view: SessionView;
  readonly version: number;
  readonly phase: "loading" | "live" | "failed";
  readonly error: unknown;
  /** Whether there are messages before those that are shown. */
  readonly hasMore: boolean;
  readonly sizeBytes: number;
  readonly damaged: number;
  readonly more: () => Promise<void>;
}

interface Loaded {
  readonly messages: readonly HistoryMessage[];
  readonly before: number | null;
  readonly after: number;
  readonly sizeBytes: number;
  readonly damaged: number;
}

interface TranscriptOptions {
  readonly id: string;
  readonly agentId: string | null;
  /** A position in the file that the first page must include. */
  readonly at: number | null;
  readonly withRewound: boolean;
}

/** Reads a transcript of Claude Code from its end, or around a position, and follows the file as it grows. */
export function useTranscript({ id, agentId, at, withRewound }: TranscriptOptions): Transcript {
  const api = useApi();
  const [loaded, setLoaded] = useState<Loaded>();
  const [error, setError] = useState<unknown>(null);
  const latest = useRef(loaded);
  latest.current = loaded;
  const isBusy = useRef(false);
  const firstAt = useRef(at);

  const extend = useCallback(
    async (signal?: AbortSignal): Promise<void> => {
      const known = latest.current;
      if (!known) return;
      const page = await api.historyMessages(id, { after: known.after, agentId }, signal);
      if (page.data.length > 0) setLoaded((was) => was && joined(was, { ...page, data: page.data }, "after"));
    },
    [api, id, agentId],
  );

  useEffect(() => {
    const stop = new AbortController();
    setLoaded(undefined);
    setError(null);
    void read(api, { id, agentId, at: firstAt.current }, stop.signal).then(setLoaded, (problem: unknown) => {
      if (!stop.signal.aborted) setError(problem);
    });
    void followFile({ api, id, signal: stop.signal, extend }).catch(() => undefined);
    return () => stop.abort();
  }, [api, id, agentId, extend]);

  const more = useCallback(async (): Promise<void> => {
    const known = latest.current;
    if (!known || known.before === null || isBusy.current) return;
    isBusy.current = true;
    try {
      const page = await api.historyMessages(id, { before: known.before, agentId, limit: 300 });
      setLoaded((was) => was && joined(was, page, "before"));
    } catch {
      // Errors are ignored: scrolling again retries.
    } finally {
      isBusy.current = false;
    }
  }, [api, id, agentId]);

  const view = useMemo(() => viewOfMessages(loaded?.messages ?? [], withRewound), [loaded, withRewound]);
  return {
    view,
    version: view.version + (loaded?.after ?? 0),
    phase: error !== null ? "failed" : loaded ? "live" : "loading",
    error,
    hasMore: loaded?.before !== null,
    sizeBytes: loaded?.sizeBytes ?? 0,
    damaged: loaded?.damaged ?? 0,
    more,
  };
}

type Page = Awaited<ReturnType<Api["historyMessages"]>>;

function joined(was: Loaded, page: Page, where: "before" | "after"): Loaded {
  const known = new Set(was.messages.map(({ offset }) => offset));
  const fresh = page.data.filter(({ offset }) => !known.has(offset));
  return {
    messages: where === "before" ? [...fresh, ...was.messages] : [...was.messages, ...fresh],
    before: where === "before" ? page.next_before : was.before,
    after: where === "after" ? page.next_after : was.after,
    sizeBytes: page.size_bytes,
    damaged: was.damaged + page.damaged,
  };
}

async function read(
  api: Api,
  { id, agentId, at }: { id: string; agentId: string | null; at: number | null },
  signal: AbortSignal,
): Promise<Loaded> {
  if (at === null) {
    const page = await api.historyMessages(id, { agentId }, signal);
    return {
      messages: page.data,
      before: page.next_before,
      after: page.next_after,
      sizeBytes: page.size_bytes,
      damaged: page.damaged,
    };
  }
  const [before, after] = await Promise.all([
    at === 0 ? undefined : api.historyMessages(id, { before: at, agentId, limit: 60 }, signal),
    api.historyMessages(id, { after: at, agentId, limit: 200 }, signal),
  ]);
  return {
    messages: [...(before?.data ?? []), ...after.data],
    before: before?.next_before ?? null,
    after: after.next_after,
    sizeBytes: after.size_bytes,
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
