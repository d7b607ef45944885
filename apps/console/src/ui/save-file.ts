/** Hands a file to the browser's downloads. The name is only a name: nothing in it is a path. */
export function saveFile(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  // oxlint-disable-next-line no-control-regex
  link.download = name.replace(/[/\\:*?"<>|\u0000-\u001F]/g, "_").slice(-150);
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Rows as CSV. A cell that a spreadsheet would run as a formula begins with an apostrophe. */
export function csvOf(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cell = (value: unknown): string => {
    const text = value === null || value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n");
}
