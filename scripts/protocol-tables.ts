import { DIALECTS } from "../packages/protocol/src/dialects/fact-table.ts";
import { FACTS, type FactType, needsLease } from "../packages/protocol/src/event.ts";

/** Returns the text of PROTOCOL.md with tables that are generated from the current code. */
export function withTables(page: string): string {
  return filled(page, "facts", factTable());
}

function filled(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`PROTOCOL.md has no ${begin} … ${end}.`);
  return `${before}${begin}\n${text}\n${end}${after}`;
}

function factTable(): string {
  const rows = (Object.keys(FACTS) as FactType[]).map((type) => {
    const keys = Object.entries(FACTS[type].shape).map(([key, schema]) => `${key}${schema.isOptional() ? "?" : ""}`);
    const actions = [...new Set(DIALECTS[type].actions.map(({ action, when }) => (when ? `${action}*` : action)))];
    return `| \`${type}\` | ${needsLease(type) ? "driver" : "anyone"} | ${keys.join(", ")} | ${actions.join(", ")} |`;
  });
  return `| fact | by | data | actions (* sometimes) |\n|---|---|---|---|\n${rows.join("\n")}`;
}
