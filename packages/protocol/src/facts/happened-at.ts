import { z } from "zod";

/** The original time of a fact in an adopted or imported session. */
export const happenedAt = { happened_at: z.iso.datetime().optional() };
