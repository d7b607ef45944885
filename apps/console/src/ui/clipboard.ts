/** Whether texts can be put on the clipboard: browsers allow it to pages over HTTPS and of this machine only. */
export function canCopy(): boolean {
  return (navigator.clipboard as Clipboard | undefined) !== undefined;
}

export async function copyText(text: string): Promise<void> {
  if (canCopy()) await navigator.clipboard.writeText(text);
}
