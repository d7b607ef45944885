import { ApiError } from "./api-error.ts";

/** Encodes a position in a list as an opaque cursor. */
export function cursorOf(place: string | null): string | null {
  return place === null ? null : Buffer.from(place).toString("base64url");
}

/** Decodes the position in a cursor. Rejects a cursor whose position does not match `form`. */
export function placeOf(cursor: string, form: RegExp): string {
  const place = Buffer.from(cursor, "base64url").toString();
  if (!form.test(place)) throw new ApiError("invalid", "cursor: This is not a cursor of this list.");
  return place;
}

/** The form of positions in each kind of list. */
export const PLACES = {
  number: /^\d{1,15}$/,
  session: /^\d{4}-\d\d-\d\dT[\d:.]+Z [0-9a-f-]{36}$/,
  record: /^[0-9a-f-]{36}$/,
  /** Positions that only the store can read. */
  opaque: /^[0-9TZ.: a-f-]{1,100}$/,
};
