import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";
import { shortId } from "../ui/session-state.ts";
import type { Api, Session } from "./api.ts";
import { useApi } from "./context.tsx";

type Named = Pick<Session, "id" | "title"> & Partial<Pick<Session, "total_runs" | "parent_session_id">>;

/** Returns the name of a session: its title, its first prompt, or a text such as "New session". */
export type TitleOf = (session: Named) => string;

/** First prompts are requested together, because a page shows many sessions at once. */
const PAUSE_MS = 20;
/** The largest number of ids in one request. */
const AT_ONCE = 100;

interface FirstPrompts {
  of(session: Named, api: Api): string | null | undefined;
  subscribe(changed: () => void): () => void;
  version(): number;
}

function createFirstPrompts(): FirstPrompts {
  const known = new Map<string, string | null>();
  const wanted = new Set<string>();
  const listeners = new Set<() => void>();
  let version = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function ask(api: Api): Promise<void> {
    timer = undefined;
    const ids = [...wanted].slice(0, AT_ONCE);
    for (const id of ids) wanted.delete(id);
    if (wanted.size > 0) timer = setTimeout(() => void ask(api), PAUSE_MS);
    try {
      const found = await api.firstPrompts(ids);
      for (const id of ids) known.set(id, found.get(id) ?? null);
    } catch {
      // If the request fails, the ids are shown.
      for (const id of ids) known.set(id, null);
    }
    version += 1;
    for (const listener of listeners) listener();
  }

  return {
    of({ id }, api) {
      const prompt = known.get(id);
      if (prompt === undefined && !wanted.has(id)) {
        wanted.add(id);
        timer ??= setTimeout(() => void ask(api), PAUSE_MS);
      }
      return prompt;
    },
    subscribe(changed) {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    version: () => version,
  };
}

/** Each query client has separate first prompts, because another login may see other sessions. */
const promptsOf = new WeakMap<QueryClient, FirstPrompts>();

/** Returns a function for the name of a session. Renders again when first prompts have arrived. */
export function useTitles(): TitleOf {
  const api = useApi();
  const queries = useQueryClient();
  const prompts = promptsOf.get(queries) ?? createFirstPrompts();
  promptsOf.set(queries, prompts);
  const version = useSyncExternalStore(prompts.subscribe, prompts.version);
  return useCallback(
    (session) => {
      if (session.title !== null) return session.title;
      // A fork without a run is not empty, because it has the messages of its parent.
      if (session.total_runs === 0 && !session.parent_session_id) return "New session";
      const prompt = prompts.of(session, api);
      // Until the first prompt arrives, a neutral text is shown, because a link needs a name.
      return prompt === undefined ? "…" : (prompt ?? `Session ${shortId(session.id)}`);
    },
    // oxlint-disable-next-line exhaustive-deps -- the version says when prompts have come.
    [prompts, api, version],
  );
}
