import { KnownError } from "@skein/protocol";
import type { RetentionDays } from "@skein/server";

/** Checks the days of retention. Throws `invalid` if a value is wrong. */
export function checkedRetention(given: RetentionDays, whose: string): RetentionDays {
  if (typeof given !== "object" || given === null)
    throw new KnownError("invalid", `${whose} must be an object like { "*": 365, acme: 30 }.`);
  for (const [tenant, days] of Object.entries(given))
    if (tenant === "" || !Number.isFinite(days) || days <= 0)
      throw new KnownError("invalid", `${whose} keeps "${tenant}" for "${String(days)}" days. Expected more than 0.`);
  return given;
}

/** Parses SKEIN_RETENTION: `*=365,acme=30`, in days. */
export function retentionIn(written: readonly string[]): RetentionDays {
  const pairs = written.map((one) => {
    const [, tenant = "", days = ""] = /^([^=]+)=(\d+(?:\.\d+)?)d?$/.exec(one) ?? [];
    if (tenant === "")
      throw new KnownError("invalid", `SKEIN_RETENTION has "${one}". Expected days for each tenant: *=365,acme=30.`);
    return [tenant, Number(days)] as const;
  });
  return checkedRetention(Object.fromEntries(pairs), "SKEIN_RETENTION");
}
