import { randomUUID } from "node:crypto";

/** Makes an id that starts with this prefix and was not used before. */
export type Ids = (prefix: string) => string;

/** Ids that look like the API's: `msg_01` and 22 characters. */
export const randomIds: Ids = (prefix) => `${prefix}01${randomUUID().replaceAll("-", "").slice(0, 22)}`;
