import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";
import { shortId } from "../ui/session-state.ts";
import type { Session } from "./api.ts";
import { useApi } from "./context.tsx";
import { type FirstPrompts, createFirstPrompts } from "./first-prompts.ts";

type Named = Pick<Session, "id" | "title"> & Partial<Pick<Session, "total_runs" | "parent_session_id">>;

/** Returns the name of a session: its title, its first prompt, or a text such as "New session". */
export type TitleOf = (session: Named) => string;

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
