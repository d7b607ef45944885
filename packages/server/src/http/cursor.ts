import { ApiError } from "./api-error.ts";

/** A place in a list, as callers see it: nothing to read, only to send back. */
export function cursorOf(place: string | null): string | null {
  return place === null ? null : Buffer.from(place).toString("base64url");
}

/** The place behind a cursor of a list; `form` is what such places look like. */
export function placeOf(cursor: string, form: RegExp): string {
  const place = Buffer.from(cursor, "base64url").toString();
  if (!form.test(place)) throw new ApiError("invalid", "cursor: This is no cursor of this list.");
  return place;
}

/** Places in lists of numbers (messages, runs), of sessions and of records. */
export const PLACES = {
  number: /^\d{1,15}$/,
  session: /^\d{4}-\d\d-\d\dT[\d:.]+Z [0-9a-f-]{36}$/,
  record: /^[0-9a-f-]{36}$/,
  /** Places that only the store can read. */
  opaque: /^[0-9TZ.: a-f-]{1,100}$/,
};
