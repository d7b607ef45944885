import { KnownError } from "@skein/protocol";

/** An offset of a time zone from UTC. It applies until the moment `until`, which is null in the last shift. */
export interface ZoneShift {
  readonly until: string | null;
  readonly minutes: number;
}

/** Times outside these years use the first or the last shift. */
const FIRST = Date.UTC(2015, 0, 1);
const LAST = Date.UTC(2040, 0, 1);
/** No zone changes its clocks twice within a week. */
const STEP_MS = 7 * 86_400_000;
const MINUTE_MS = 60_000;

/** Returns the name of a time zone in the spelling of the tz database. Rejects unknown names. */
export function checkedTimeZone(name: string): string {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    throw new KnownError("invalid", `time_zone: "${name}" is not a time zone. Expected a name such as Europe/Berlin.`);
  }
}

const known = new Map<string, readonly ZoneShift[]>();

/** Returns the shifts of a time zone, oldest first. Returns undefined for UTC. */
export function zoneShifts(name: string): readonly ZoneShift[] | undefined {
  const zone = checkedTimeZone(name);
  const shifts = known.get(zone) ?? computedShifts(zone);
  known.set(zone, shifts);
  return shifts.length === 1 && shifts[0]?.minutes === 0 ? undefined : shifts;
}

function computedShifts(zone: string): readonly ZoneShift[] {
  const format = new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" });
  const minutesAt = (time: number): number => minutesOf(format.format(time));
  const shifts: ZoneShift[] = [];
  let current = minutesAt(FIRST);
  for (let time = FIRST; time < LAST; time += STEP_MS) {
    const next = minutesAt(time + STEP_MS);
    if (next === current) continue;
    shifts.push({ until: new Date(changeBetween(time, time + STEP_MS, minutesAt)).toISOString(), minutes: current });
    current = next;
  }
  return [...shifts, { until: null, minutes: current }];
}

/** Returns the first minute that has a different offset than `from`. */
function changeBetween(from: number, to: number, minutesAt: (time: number) => number): number {
  const before = minutesAt(from);
  let [low, high] = [from / MINUTE_MS, to / MINUTE_MS];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (minutesAt(middle * MINUTE_MS) === before) low = middle;
    else high = middle;
  }
  return high * MINUTE_MS;
}

/** "GMT-03:30" is -210. */
function minutesOf(text: string): number {
  const [, sign, hours = "0", minutes = "0"] = /GMT(?:([+-])(\d{2}):(\d{2}))?/.exec(text) ?? [];
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

/** Returns the day of a moment in a time zone, for example `2026-11-18`. Without shifts, the time zone is UTC. */
export function dayOf(at: string, shifts: readonly ZoneShift[] | undefined): string {
  const shift = shifts?.find(({ until }) => until === null || at < until);
  if (!shift) return at.slice(0, 10);
  return new Date(Date.parse(at) + shift.minutes * MINUTE_MS).toISOString().slice(0, 10);
}
