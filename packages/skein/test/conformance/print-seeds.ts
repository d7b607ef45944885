import type { Line, Seed } from "./line.ts";

/** `docs/seeds.md`: every line of every list, and what became of it. */
export function printSeeds(seeds: readonly Seed[]): string {
  const counted = seeds.map((seed) => `| [${seed.number}](#seed-${seed.number}) | ${seed.title} | ${counts(seed)} |`);
  return `# The five seeds, line by line

Skein is specified by five documents, the seeds. This page is printed from the lists in \`packages/skein/test/conformance/\` by \`npm run seeds\`;
the tests walk the same lists. *there*: a test sees it in a real store, a schema or a file. *departure*: it is different here, for the reason given.
*open*: the named issue completes it.

| seed | about | there | departure | open |
|---|---|---|---|---|
${counted.join("\n")}
${seeds.map(printSeed).join("")}`;
}

function countOf(seed: Seed, status: Line["status"]): number {
  return seed.lines.filter((line) => line.status === status).length;
}

function counts(seed: Seed): string {
  return (["there", "departure", "open"] as const).map((status) => countOf(seed, status)).join(" | ");
}

function printSeed(seed: Seed): string {
  const places = [...new Set(seed.lines.map(({ at }) => at))];
  return `
## Seed ${seed.number}

${seed.title}.
${places
  .map((at) =>
    printSection(
      at,
      seed.lines.filter((line) => line.at === at),
    ),
  )
  .join("")}`;
}

function printSection(at: string, lines: readonly Line[]): string {
  return `
### ${at}

| the seed says | here | |
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
