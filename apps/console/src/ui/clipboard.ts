/** Whether texts can be copied to the clipboard: browsers allow this only for pages over HTTPS and on this machine. */
export function canCopy(): boolean {
  return (navigator.clipboard as Clipboard | undefined) !== undefined;
}

export async function copyText(text: string): Promise<void> {
  if (canCopy()) await navigator.clipboard.writeText(text);
}
