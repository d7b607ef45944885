import { ATTACKS, type Attack } from "./attacks.ts";

/** What vitest reports about its files. */
export interface AttackReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

interface Tried {
  readonly attack: Attack;
  readonly happened: string;
  readonly isHeld: boolean;
}

/** The result of each attack. An attack without a test counts as successful. */
export function tried(report: AttackReport, attacks: readonly Attack[] = ATTACKS): readonly Tried[] {
  return attacks.map((attack) => {
    const file = report.testResults.find(({ name }) => name.endsWith(`packages/${attack.file}`));
    const tests = file?.assertionResults.filter(({ fullName }) => attack.test.test(fullName)) ?? [];
    const failed = tests.filter(({ status }) => status === "failed");
    const passed = tests.filter(({ status }) => status === "passed").length;
    if (failed.length > 0) return { attack, happened: `GOT THROUGH: ${failed[0]?.fullName}`, isHeld: false };
    if (tests.length === 0) return { attack, happened: "NO TEST tried it", isHeld: false };
    return passed === 0
      ? { attack, happened: "not tried: this machine lacks what it needs (bubblewrap)", isHeld: true }
      : { attack, happened: `as expected (${passed} ${passed === 1 ? "test" : "tests"})`, isHeld: true };
  });
}

/** The table at the end of `npm run attack`. `isHeld` is true if no attack succeeded. */
export function attackTable(report: AttackReport): { readonly text: string; readonly isHeld: boolean } {
  const all = tried(report);
  const rows = all.map(({ attack: { attack, expected }, happened }) => [attack, expected, happened] as const);
  const widths = [70, 52].map((most, at) => Math.min(most, Math.max(...rows.map((row) => row[at]?.length ?? 0))));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) => fitted(cell, widths[at]))
      .join("  ")
      .trimEnd();
  const through = all.filter(({ isHeld }) => !isHeld).length;
  const seconds = report.testResults.reduce((sum, { startTime, endTime }) => sum + (endTime - startTime) / 1000, 0);
  const lines = [
    line(["attack", "expected", "what happened"]),
    ...rows.map(line),
    "",
    `${all.length} attacks, ${through} succeeded. The files took ${Math.round(seconds)} s in all, several at a time.`,
  ];
  return { text: lines.join("\n"), isHeld: through === 0 };
}

function fitted(cell: string, width: number | undefined): string {
  if (width === undefined) return cell;
  return cell.length > width ? `${cell.slice(0, width - 1)}…` : cell.padEnd(width);
}
