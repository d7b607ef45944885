import type { ConformanceList, Line } from "./line.ts";

/** `docs/reference/conformance.md`: every line of every list, and what became of it. */
export function printConformance(lists: readonly ConformanceList[]): string {
  const counted = lists.map(
    (list) => `| [${list.part}](#${anchor(list.part)}) | ${list.specification} | ${list.title} | ${counts(list)} |`,
  );
  return `# The five parts, and the specifications they came from

Each of the five parts of Skein came from a document, numbered 000 to 004. This page is printed from the lists in \`packages/skein/test/conformance/\` by
\`npm run conformance\`; the tests walk the same lists. *there*: a test sees it in a real store, a schema or a file. *departure*: it is different here, for the
reason given. *open*: the named issue completes it.

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
  return `
## ${part}

Document ${specification}: ${title}.
${places
  .map((at) =>
    printSection(
      at,
      lines.filter((line) => line.at === at),
    ),
  )
  .join("")}`;
}

function printSection(at: string, lines: readonly Line[]): string {
  return `
### ${at}

| the specification says | here | |
|---|---|---|
${lines.map(printLine).join("\n")}
`;
}

function printLine({ what, status, note = "" }: Line): string {
  return `| ${cell(what)} | ${status} | ${cell(note)} |`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;");
}
