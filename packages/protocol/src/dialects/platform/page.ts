import { z } from "zod";

/** Any JSON object. The check does not copy the object, because objects in a log can be large. */
export const AnyObject = z
  .custom<Record<string, unknown>>((value) => typeof value === "object" && value !== null && !Array.isArray(value))
  .meta({ type: "object" });

/** Makes the schema for a page of a list. `next_cursor` is null on the last page. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ data: z.array(item), next_cursor: z.string().nullable() });
}

export const PageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).optional(),
  cursor: z.string().min(1).max(500).optional(),
});
