import { type RefObject, useEffect, useRef, useState } from "react";
import { useKeys } from "../ui/use-keys.ts";

interface QuestionList {
  readonly isOpen: boolean;
  /** The button that opens the list. */
  readonly opener: RefObject<HTMLButtonElement | null>;
  readonly toggle: () => void;
  readonly close: () => void;
  /** Closes the list, and gives the focus back to its button. */
  readonly leave: () => void;
}

/**
 * Opens and closes the list of questions and tables, which a narrow window shows only on demand. Escape closes the
 * list.
 */
export function useQuestionList(): QuestionList {
  const [isOpen, setOpen] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const leave = (): void => {
    setOpen(false);
    opener.current?.focus();
  };
  useKeys({ Escape: leave }, isOpen);
  useEffect(() => {
    if (isOpen) document.querySelector("#sql-tree")?.scrollIntoView();
  }, [isOpen]);
  return { isOpen, opener, toggle: () => setOpen(!isOpen), close: () => setOpen(false), leave };
}
