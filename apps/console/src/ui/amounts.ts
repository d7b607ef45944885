/** Numbers as people read them: money, tokens, sizes and durations. */

/** Returns millionths of a dollar as dollars. An amount below ten cents has three decimals, a larger amount has two. */
export function money(micros: number): string {
  const dollars = micros / 1_000_000;
  if (dollars === 0) return "$0";
  if (dollars < 0.0005) return "< $0.001";
  return `$${dollars < 0.1 ? dollars.toFixed(3) : grouped(dollars, 2)}`;
}

/** The cost of calls, or "no price" if no call has a price. */
export function costWords(micros: number, unpricedCalls: number): string {
  return micros === 0 && unpricedCalls > 0 ? "no price" : money(micros);
}

/** Returns the price of a part of a request with more decimals, because it is often far below a cent. */
export function smallMoney(micros: number): string {
  const dollars = micros / 1_000_000;
  return dollars >= 0.1 ? money(micros) : `$${dollars.toFixed(dollars < 0.01 ? 5 : 4)}`;
}

export function grouped(value: number, places = 0): string {
  return value.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
}

/** 950, 24.6 k, 118 M. */
export function short(count: number): string {
  if (count < 1000) return String(Math.round(count));
  for (const [size, unit] of [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const)
    if (count >= size * 0.9995) {
      const value = count / size;
      return `${value < 100 ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value)} ${unit}`;
    }
  return String(count);
}

export function bytes(size: number): string {
  if (size < 1000) return `${size} B`;
  return `${short(size)}B`.replace("kB", "kB");
}

export function percent(part: number, whole: number): string {
  if (whole <= 0) return "0 %";
  const share = (part / whole) * 100;
  return share > 0 && share < 1 ? "< 1 %" : `${Math.round(share)} %`;
}

/** 3 ms, 0.1 s, 14 s, 4 min 12 s, 1 h 04 min, 3 d 2 h. */
export function duration(ms: number): string {
  if (ms > 0 && ms < 95) return `${Math.round(ms)} ms`;
  if (ms < 9950) return `${(Math.max(0, ms) / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 || minutes >= 10 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${String(minutes % 60).padStart(2, "0")} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** A short duration for lists: 0.3 s, 22 s, 4 min, 2 h 05 min, 3 d. */
export function briefDuration(ms: number): string {
  if (ms > 0 && ms < 9950) return duration(ms);
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 86_400)
    return `${Math.floor(seconds / 3600)} h ${String(Math.floor((seconds % 3600) / 60)).padStart(2, "0")} min`;
  return `${Math.floor(seconds / 86_400)} d`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

/** Returns the name of a model without `claude-` and without a date at the end, for narrow columns. */
export function shortModel(model: string): string {
  return model.replace(/^claude-/, "").replace(/-\d{8}$/, "");
}
