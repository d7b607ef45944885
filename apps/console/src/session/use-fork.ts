import { useCallback } from "react";
import { useLocation } from "wouter";
import { sentenceOf } from "../api/api.ts";
import { useApi, useChanged } from "../api/context.tsx";

/** Forks a session at a message, or at its end, and opens the fork. */
export function useFork(id: string, onProblem: (problem: string) => void): (messageId?: string) => void {
  const api = useApi();
  const changed = useChanged();
  const [, go] = useLocation();
  const fork = useCallback(
    async (messageId?: string): Promise<void> => {
      try {
        const made = await api.fork(id, messageId);
        changed();
        go(`/sessions/${made.id}`);
      } catch (error) {
        onProblem(sentenceOf(error));
      }
    },
    [api, changed, go, id, onProblem],
  );
  return useCallback((messageId?: string) => void fork(messageId), [fork]);
}
