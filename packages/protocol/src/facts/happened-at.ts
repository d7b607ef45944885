import { z } from "zod";

/** When it happened, if the fact was written later: the session was adopted from an agent's files, or imported. */
export const happenedAt = { happened_at: z.iso.datetime().optional() };
