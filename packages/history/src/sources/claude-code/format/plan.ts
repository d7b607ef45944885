import { z } from "zod";

const PlanItem = z.object({ text: z.string(), done: z.boolean() });

const PlanPhase = z.object({ title: z.string(), items: z.array(PlanItem) });
type PlanPhase = z.infer<typeof PlanPhase>;

const PlanSection = z.object({ title: z.string(), body: z.string() });

/** A plan file: Markdown with a title, sections, and phases with checklist items. A plan may lack any of these. */
export const Plan = z.object({
  title: z.string().nullable(),
  sections: z.array(PlanSection),
  phases: z.array(PlanPhase),
});
export type Plan = z.infer<typeof Plan>;

/** Reads the structure of a plan. Text without any structure gives an empty plan, not an error. */
export function parsePlan(markdown: string): Plan {
  const plan: Plan = { title: null, sections: [], phases: [] };
  let fence: string | undefined;
  for (const line of markdown.split(/\r\n|\r|\n/)) {
    const mark = /^\s*(```|~~~)/.exec(line)?.[1];
    if (mark && (fence === undefined || fence === mark)) fence = fence === undefined ? mark : undefined;
    if (fence === undefined && !mark && readHeading(plan, line)) continue;
    const section = plan.sections.at(-1);
    if (section) section.body += `${line}\n`;
    const item = fence === undefined ? /^\s*[-*+]\s+\[([ xX])\]\s+(.*)$/.exec(line) : null;
    if (item) phaseFor(plan).items.push({ text: item[2] ?? "", done: item[1] !== " " });
  }
  for (const section of plan.sections) section.body = section.body.trim();
  return plan;
}

function readHeading(plan: Plan, line: string): boolean {
  const heading = /^(#{1,3})\s+(.+?)\s*#*$/.exec(line);
  if (!heading) return false;
  const [, hashes = "", title = ""] = heading;
  if (hashes.length === 1 && plan.title === null) plan.title = title;
  else if (hashes.length < 3) plan.sections.push({ title, body: "" });
  else plan.phases.push({ title, items: [] });
  // A phase is also part of the text of its section.
  return hashes.length < 3;
}

function phaseFor(plan: Plan): PlanPhase {
  const last = plan.phases.at(-1);
  if (last) return last;
  const phase = { title: "", items: [] };
  plan.phases.push(phase);
  return phase;
}
