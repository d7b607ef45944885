import { checkFormat, type SeenType } from "@skein/history";
import { historyCommand } from "./command.ts";
import { EXIT } from "../../terminal/exit-codes.ts";
import type { StyledScreen } from "../../terminal/styled-screen.ts";
import { type Styled, styledText } from "../../terminal/styled.ts";
import { table } from "../../terminal/table.ts";
import { count, counted } from "../../terminal/counts.ts";

export const checkCommand = historyCommand({
  name: "history check",
  summary:
    "List types and forms in Claude Code's data that this version of Skein does not know. Other agents have other formats and are not checked",
  shares: ["root", "project", "since", "until", "json", "archive", "pager"],
  usesPager: true,
  examples: [
    ["skein history check", "Unknown types and forms; exit code 1 if there are any"],
    ["skein history check --json", "All types with counts, as JSON"],
  ],
  async run({ screen, values, library }) {
    screen.progress(styledText`Reading …`);
    const report = await checkFormat(library);
    screen.progress(undefined);
    const unknown = [...report.lineTypes, ...report.blockTypes].filter(({ isKnown }) => !isKnown);
    const isClean = unknown.length + report.formProblems.length + report.damagedLines === 0;
    if (values.json) {
      await screen.json(report);
      return isClean ? EXIT.completed : EXIT.failed;
    }
    const { paint } = screen;
    const versions = Object.entries(report.versions);
    await screen.print(
      ...typeLines("LINES", report.lineTypes, screen),
      styledText``,
      ...typeLines("BLOCKS", report.blockTypes, screen),
      styledText``,
      styledText`Claude Code versions: ${versions.length === 0 ? "none" : versions.map(([version, lines]) => `${version} (${count(lines)})`).join(", ")}`,
      ...report.formProblems.map(({ type, field, count: times, path, line }) =>
        paint.yellow(
          styledText`${counted(times, "line")} of type ${type} with a new form of ${field === "" ? "the line" : field}: ${path}:${line}`,
        ),
      ),
      isClean
        ? paint.green("Everything is known.")
        : styledText`${paint.yellow(`${counted(report.unknownLines, "line")} of unknown types, ${counted(report.damagedLines, "damaged line")}.`)} Unknown lines are kept and shown as they are; "skein history verify" lists the damaged lines.`,
    );
    return isClean ? EXIT.completed : EXIT.failed;
  },
});

function typeLines(title: string, types: readonly SeenType[], { paint }: StyledScreen): readonly Styled[] {
  const rows = types.map(({ type, count: times, isKnown, path, line, fields }) => [
    isKnown ? type : paint.yellow(type),
    count(times),
    isKnown ? "" : styledText`unknown: ${fields.slice(0, 8).join(", ")} ${paint.dim(`${path}:${line}`)}`,
  ]);
  return table([{ title }, { title: "COUNT", align: "right" }, { title: "" }], rows);
}
