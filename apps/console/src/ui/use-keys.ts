import { useEffect, useRef } from "react";

/** Keys and their actions: `j`, `?`, `shift+f`, `mod+k` (⌘ or Ctrl), or two in a row: `g h`. */
export type Keys = Readonly<Record<string, (event: KeyboardEvent) => void>>;

/** How long the first of two keys is remembered. */
const PAIR_MS = 900;

/** Listens for keys while the component is mounted. In a field, a dialog or a menu, only keys with ⌘ or Ctrl work. */
export function useKeys(keys: Keys, isOn = true): void {
  const current = useRef(keys);
  useEffect(() => {
    current.current = keys;
  });
  useEffect(() => {
    if (!isOn) return undefined;
    let first: { name: string; at: number } | undefined;
    const listen = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.isComposing) return;
      const name = nameOf(event);
      if (!name.startsWith("mod+") && isTyping(event)) return;
      const pair = first && event.timeStamp - first.at < PAIR_MS ? `${first.name} ${name}` : undefined;
      const action = (pair === undefined ? undefined : current.current[pair]) ?? current.current[name];
      first = { name, at: event.timeStamp };
      if (!action) return;
      if (pair !== undefined) first = undefined;
      event.preventDefault();
      action(event);
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, [isOn]);
}

function nameOf(event: KeyboardEvent): string {
  const letter = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const isLetter = /^[a-z]$/.test(letter);
  if (event.metaKey || event.ctrlKey) return `mod+${letter}`;
  return event.shiftKey && isLetter ? `shift+${letter}` : letter;
}

function isTyping(event: KeyboardEvent): boolean {
  const [target] = event.composedPath();
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.closest("[role=dialog], [role=menu], [role=listbox]")) return true;
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || isTextInput(target);
}

function isTextInput(target: HTMLElement): boolean {
  return target instanceof HTMLInputElement && !["checkbox", "radio", "button", "submit"].includes(target.type);
}
