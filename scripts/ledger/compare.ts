import { type Event, NO_USAGE, type Usage, type UsageRow, type UsageTotals, addUsage } from "@skein/protocol";
import type { Call } from "@skein/simulator";

/** The usage of one model call according to a log. */
interface Counted {
  readonly usage: UsageTotals;
  readonly isWhole: boolean;
}

const NAMES = Object.keys(NO_USAGE) as (keyof UsageTotals)[];

/**
 * Checks that each usage in the log of a session belongs to a different call that the simulator answered. A complete
 * answer must have the call's counts. An interrupted answer must have the same counts, but may have less output. Calls
 * that are missing in the log are not reported, except that `wasTold` requires the usage of an interrupted answer.
 */
export function checkedSession(
  { label, wasTold }: { readonly label: string; readonly wasTold: boolean },
  events: readonly Event[],
  calls: readonly Call[],
): readonly string[] {
  const left = calls.flatMap(({ usage }) => (usage ? [addUsage(NO_USAGE, { ...usage })] : []));
  const problems: string[] = [];
  if (wasTold && !brokenIn(events).some(isTold))
    problems.push(
      `${label}: the stream reported its counts before the answer broke off, but the log lacks these counts.`,
    );
  for (const { usage, isWhole } of countedIn(events)) {
    if (NAMES.every((name) => usage[name] === 0)) continue;
    const at = left.findIndex((call) => fits(usage, call, isWhole));
    if (at === -1) problems.push(`${label}: no call of the simulator has the counts ${JSON.stringify(usage)}.`);
    else left.splice(at, 1);
  }
  return problems;
}

function fits(said: UsageTotals, call: UsageTotals, isWhole: boolean): boolean {
  return NAMES.every((name) =>
    name === "output_tokens" && !isWhole ? said[name] <= call[name] : said[name] === call[name],
  );
}

/** Checks that the totals of the store are exactly the sum of the usage in the logs. */
export function checkedTotals(events: readonly Event[], rows: readonly UsageRow[]): readonly string[] {
  const counted = countedIn(events).reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE);
  const stored = rows.reduce((sum, row) => addUsage(sum, row), NO_USAGE);
  const differs = NAMES.filter((name) => counted[name] !== stored[name]);
  return differs.map((name) => `${name}: the logs add up to ${counted[name]}, but the store has ${stored[name]}.`);
}

/** Returns the usage that the logs have for calls without a complete answer. */
export function brokenIn(events: readonly Event[]): readonly UsageTotals[] {
  return countedIn(events.filter(({ event_type }) => event_type !== "step.generated")).map(({ usage }) => usage);
}

/** Whether the stream had reported its usage. Reported usage always has input tokens. */
export function isTold({
  input_tokens,
  cache_read_input_tokens: read,
  cache_creation_input_tokens: written,
}: UsageTotals): boolean {
  return input_tokens + read + written > 0;
}

function countedIn(events: readonly Event[]): readonly Counted[] {
  return events.flatMap((event): Counted[] => {
    const call = (usage: Usage, isWhole: boolean): Counted => ({ usage: addUsage(NO_USAGE, usage), isWhole });
    if (event.event_type === "step.generated") return [call(event.data.usage, true)];
    if (event.event_type === "step.abandoned") return [call(event.data.usage, !event.data.estimated)];
    if (event.event_type !== "step.retried" && event.event_type !== "step.error") return [];
    return event.data.lost ? [call(event.data.lost.usage, !event.data.lost.estimated)] : [];
  });
}
