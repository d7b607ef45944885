import { verify } from "@skein/history";
import { historyCommand } from "./command.ts";
import { EXIT } from "../../terminal/exit-codes.ts";
import { styledText } from "../../terminal/styled.ts";
import { counted } from "../../terminal/counts.ts";
import { size } from "../../terminal/times.ts";

export const verifyCommand = historyCommand({
  name: "history verify",
  summary: "Read every line and report damage by file and line",
  shares: ["root", "source", "project", "since", "until", "json", "archive", "pager"],
  usesPager: true,
  examples: [
    ["skein history verify", "Check all data; exit code 1 if there is damage"],
    ["skein history verify --root /backup/claude --json", "Another data directory, as JSON"],
  ],
  async run({ screen, values, library }) {
    screen.progress(styledText`Reading …`);
    const report = await verify(library);
    screen.progress(undefined);
    const { damage, skipped } = report;
    const unreadable = skipped.filter(({ reason }) => reason === "unreadable");
    if (values.json) await screen.json(report);
    else {
      const { paint } = screen;
      await screen.print(
        ...damage.map(({ path, line, kind, message }) => styledText`${path}:${line}: ${paint.red(kind)} ${message}`),
        ...skipped.map(({ path, reason, message }) => paint.dim(styledText`${path}: not read (${message ?? reason})`)),
        styledText`${counted(report.files, "file")}, ${counted(report.lines, "line")}, ${size(report.bytes)}: ${
          damage.length === 0 ? paint.green("no damage") : paint.red(counted(damage.length, "damaged line"))
        }`,
      );
    }
    return damage.length + unreadable.length === 0 ? EXIT.completed : EXIT.failed;
  },
});
