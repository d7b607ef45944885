import type { RefObject } from "react";
import { useLocation } from "wouter";
import { copyText } from "../ui/clipboard.ts";
import { useKeys } from "../ui/use-keys.ts";
import type { TranscriptHandle } from "./transcript.tsx";

interface SessionKeys {
  readonly id: string;
  readonly transcript: RefObject<TranscriptHandle | null>;
  readonly onFork: () => void;
  /** Opens or folds every call. */
  readonly onAllCalls: () => void;
  readonly onInspector: () => void;
}

/** The keys of the page of a session. */
export function useSessionKeys({ id, transcript, onFork, onAllCalls, onInspector }: SessionKeys): void {
  const [, go] = useLocation();
  useKeys({
    "[": () => transcript.current?.step(-1),
    "]": () => transcript.current?.step(1),
    o: onAllCalls,
    i: onInspector,
    w: () => go(`/sessions/${id}/context`),
    p: () => document.getElementById("prompt")?.focus(),
    y: () => void copyText(location.href),
    End: () => transcript.current?.follow(),
    "shift+f": () => onFork(),
  });
}
