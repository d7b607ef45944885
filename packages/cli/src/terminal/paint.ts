/** Colours around text that is already fit for a terminal. */
export type Paint = Readonly<Record<"bold" | "dim" | "red" | "green" | "yellow" | "cyan", (text: string) => string>>;

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;

export function createPaint(hasColours: boolean): Paint {
  const paint = (code: number) => (text: string) =>
    hasColours && text !== "" ? `\u001B[${code}m${text}\u001B[0m` : text;
  return {
    bold: paint(CODES.bold),
    dim: paint(CODES.dim),
    red: paint(CODES.red),
    green: paint(CODES.green),
    yellow: paint(CODES.yellow),
    cyan: paint(CODES.cyan),
  };
}
