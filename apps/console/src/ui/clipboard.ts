/** Whether texts can be copied to the clipboard. Browsers allow copying only on pages over HTTPS and on localhost. */
export function canCopy(): boolean {
  return (navigator.clipboard as Clipboard | undefined) !== undefined;
}

export async function copyText(text: string): Promise<void> {
  if (canCopy()) await navigator.clipboard.writeText(text);
}
