import { z } from "zod";

/** Any JSON object. It is checked without being copied, because objects in a log can be large. */
export const AnyObject = z
  .custom<Record<string, unknown>>((value) => typeof value === "object" && value !== null && !Array.isArray(value))
  .meta({ type: "object" });

/** A page of a list. `next_cursor` is the cursor of the next page; null at the end. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ data: z.array(item), next_cursor: z.string().nullable() });
}

export const PageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).optional(),
  cursor: z.string().min(1).max(500).optional(),
});
