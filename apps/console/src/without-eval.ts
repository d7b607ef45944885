import { config } from "zod";

/**
 * Schemas are checked without code that is made at run time: the policy of the page forbids it. Imported before anything
 * that makes a schema.
 */
config({ jitless: true });
