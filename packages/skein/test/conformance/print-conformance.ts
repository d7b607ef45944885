import type { ConformanceList, Line } from "./line.ts";

/**
 * Returns the text of `docs/reference/conformance.md`: the number of implemented lines of each list, the departures and
 * the open lines.
 */
export function printConformance(lists: readonly ConformanceList[]): string {
  const counted = lists.map(
    (list) => `| [${list.part}](#${anchor(list.part)}) | ${list.specification} | ${list.title} | ${counts(list)} |`,
  );
  const shared = sharedReasons(lists);
  return `# Where Skein differs from the specifications

Each of the five parts of Skein implements a specification. A line of a specification is *there* (Skein does what the line says, and a test checks it), a *departure* (different in Skein) or *open* (not done yet). This page lists the departures with their reasons, and the open lines. \`npm run conformance\` prints it from the lists in \`packages/skein/test/conformance/\`.

| part | specification | about | there | departures | open |
|---|---|---|---|---|---|
${counted.join("\n")}

## In several places

| the specification says | in Skein | parts |
|---|---|---|
${[...shared].map(([reason, places]) => printShared(reason, places)).join("\n")}
${lists.map((list) => printList(list, new Set(shared.keys()))).join("")}`;
}

/** The most lines that the page shows for a shared reason. The conformance lists have all lines. */
const MOST_LINES = 2;

interface Place {
  readonly part: string;
  readonly line: Line;
}

/** Returns the reasons that departures in several sections share, with the lines of each reason. */
function sharedReasons(lists: readonly ConformanceList[]): ReadonlyMap<string, readonly Place[]> {
  const all = lists.flatMap(({ part, lines }) =>
    lines.filter(({ status }) => status !== "there").map((line) => ({ part, line })),
  );
  const byReason = Map.groupBy(all, ({ line }) => reasonOf(line));
  const isShared = (places: readonly Place[]): boolean =>
    new Set(places.map(({ part, line }) => `${part}: ${line.at}`)).size > 1;
  return new Map([...byReason].filter(([, places]) => isShared(places)));
}

function printShared(reason: string, places: readonly Place[]): string {
  const all = [...new Set(places.map(({ line }) => cell(line.what)))];
  const said = all.length > MOST_LINES ? [...all.slice(0, MOST_LINES), `and ${all.length - MOST_LINES} more`] : all;
  const parts = [...new Set(places.map(({ part }) => part))];
  return `| ${said.join("<br>")} | ${cell(reason)} | ${parts.join(", ")} |`;
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

function printList({ part, lines }: ConformanceList, shared: ReadonlySet<string>): string {
  const places = [...new Set(lines.map(({ at }) => at))];
  const isOnlyHere = (line: Line): boolean => line.status !== "there" && !shared.has(reasonOf(line));
  const rows = places.flatMap((at) =>
    printRows(
      at,
      lines.filter((line) => line.at === at && isOnlyHere(line)),
    ),
  );
  return `
## ${part}

| about | the specification says | in Skein |
|---|---|---|
${rows.join("\n")}
`;
}

function printRows(at: string, lines: readonly Line[]): readonly string[] {
  return [...Map.groupBy(lines, reasonOf)].map(([reason, same], index) => {
    const said = same.map(({ what }) => cell(what));
    return `| ${index === 0 ? at : ""} | ${said.join("<br>")} | ${cell(reason)} |`;
  });
}

function reasonOf({ status, note = "" }: Line): string {
  return status === "open" ? `open: ${note}` : note;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;");
}
