import type { ConformanceList, Line } from "./line.ts";

/** Prints `docs/reference/conformance.md`: the number of implemented lines of each list, and every departure and open line. */
export function printConformance(lists: readonly ConformanceList[]): string {
  const counted = lists.map(
    (list) => `| [${list.part}](#${anchor(list.part)}) | ${list.specification} | ${list.title} | ${counts(list)} |`,
  );
  return `# The five parts, and the specifications they came from

Each of the five parts of Skein implements a document, numbered 000 to 004. *there*: a test finds the line in a real store, a schema or a file. *departure*: it is
different here, for the reason given. *open*: not done yet. This page lists departures and open lines; the lists in \`packages/skein/test/conformance/\`, from which
\`npm run conformance\` prints it, have every line with its check.

| part | document | about | there | departure | open |
|---|---|---|---|---|---|
${counted.join("\n")}
${lists.map(printList).join("")}`;
}

function anchor(part: string): string {
  return part.toLowerCase().replaceAll(" ", "-");
}

function countOf(list: ConformanceList, status: Line["status"]): number {
  return list.lines.filter((line) => line.status === status).length;
}

function counts(list: ConformanceList): string {
  return (["there", "departure", "open"] as const).map((status) => countOf(list, status)).join(" | ");
}

function printList({ part, specification, title, lines }: ConformanceList): string {
  const places = [...new Set(lines.map(({ at }) => at))];
  const sections = places.map((at) =>
    printSection(
      at,
      lines.filter((line) => line.at === at && line.status !== "there"),
    ),
  );
  return `
## ${part}

Document ${specification}: ${title}.
${sections.join("")}`;
}

function printSection(at: string, lines: readonly Line[]): string {
  if (lines.length === 0) return "";
  const reasons = [...new Set(lines.map(reasonOf))];
  const rows = reasons.map((reason) => {
    const said = lines.filter((line) => reasonOf(line) === reason).map(({ what }) => cell(what));
    return `| ${said.join("<br>")} | ${cell(reason)} |`;
  });
  return `
### ${at}

| the specification says | here |
|---|---|
${rows.join("\n")}
`;
}

function reasonOf({ status, note = "" }: Line): string {
  return status === "open" ? `open: ${note}` : note;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;");
}
