import { config } from "zod";

/**
 * Makes zod work without generated code, which the page's content security policy forbids. Imported before any schema
 * is made.
 */
config({ jitless: true });
