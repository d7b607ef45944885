/** Downloads a file in the browser. Each character of the name that is special in paths becomes `_`. */
export function saveFile(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  // oxlint-disable-next-line no-control-regex
  link.download = name.replace(/[/\\:*?"<>|\u0000-\u001F]/g, "_").slice(-150);
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
