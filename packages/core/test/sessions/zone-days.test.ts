import { expect, test } from "vitest";
import { checkedTimeZone, zoneShifts } from "@skein/core";
import { dayOf } from "../../src/sessions/zone-days.ts";

test.each([
  ["Europe/Berlin", "2026-10-25T00:59:00.000Z", "2026-10-25"],
  ["Europe/Berlin", "2026-07-01T22:30:00.000Z", "2026-07-02"],
  ["Europe/Berlin", "2026-12-01T22:30:00.000Z", "2026-12-01"],
  ["Asia/Kolkata", "2026-03-01T18:29:59.000Z", "2026-03-01"],
  ["Asia/Kolkata", "2026-03-01T18:30:00.000Z", "2026-03-02"],
  ["America/St_Johns", "2026-01-01T03:29:00.000Z", "2025-12-31"],
  ["Pacific/Kiritimati", "2026-01-01T10:00:00.000Z", "2026-01-02"],
  ["UTC", "2026-01-01T23:59:59.999Z", "2026-01-01"],
])("in the time zone %s, the moment %s is on the day %s", (zone, at, day) => {
  expect(dayOf(at, zoneShifts(zone))).toBe(day);
});

test("dayOf returns the same day as `Intl` at about every hour of a year", () => {
  for (const zone of ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca"]) {
    const shifts = zoneShifts(zone);
    const day = new Intl.DateTimeFormat("sv", { timeZone: zone, dateStyle: "short" });
    for (let at = Date.UTC(2026, 0, 1); at < Date.UTC(2027, 0, 1); at += 3_595_000) {
      const time = new Date(at).toISOString();
      expect([zone, time, dayOf(time, shifts)]).toEqual([zone, time, day.format(at)]);
    }
  }
});

test("zoneShifts returns undefined for UTC, and throws an error for an unknown time zone", () => {
  expect(zoneShifts("UTC")).toBeUndefined();
  expect(checkedTimeZone("europe/berlin")).toBe("Europe/Berlin");
  expect(() => zoneShifts("Mars/Olympus")).toThrow('"Mars/Olympus" is not a time zone');
});
