/** Whether key hints show ⌘ instead of Ctrl. */
export function isMac(): boolean {
  return /Mac|iPhone|iPad/.test(navigator.userAgent);
}
