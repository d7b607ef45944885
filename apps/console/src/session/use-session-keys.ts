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
  /** Whether the inspector is open on a narrow screen, and a function that opens or closes it. */
  readonly inspector: readonly [isOpen: boolean, setOpen: (isOpen: boolean) => void];
}

/** Handles the keyboard shortcuts of the page of a session. */
export function useSessionKeys({ id, transcript, onFork, onAllCalls, inspector }: SessionKeys): void {
  const [, go] = useLocation();
  const [isOpen, setOpen] = inspector;
  useKeys({ Escape: () => setOpen(false) }, isOpen);
  useKeys({
    "[": () => transcript.current?.step(-1),
    "]": () => transcript.current?.step(1),
    o: onAllCalls,
    i: () => setOpen(!isOpen),
    w: () => go(`/sessions/${id}/context`),
    p: () => document.getElementById("prompt")?.focus(),
    y: () => void copyText(location.href),
    Home: () => transcript.current?.toBeginning(),
    End: () => transcript.current?.follow(),
    "shift+f": () => onFork(),
  });
}
