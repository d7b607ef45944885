import { type Tool, defineTool } from "@skein/core";
import { z } from "zod";
import { type GuardedRequestOptions, guardedRequest } from "./guarded-request.ts";
import { textOfHtml } from "./text-of-html.ts";

const REDIRECTS = 5;
const LENGTH = 50_000;

/**
 * Creates a tool that fetches pages of the public internet. By default, it cannot reach this machine or its private
 * networks.
 */
export function createWebFetch(options: GuardedRequestOptions = {}): Tool {
  return defineTool({
    name: "WebFetch",
    description: "Fetches a page from the public internet and returns its text.",
    input: z.object({
      url: z.string().min(1).max(4096).describe("An http or https URL."),
      prompt: z.string().optional().describe("What to look for. It does not change what is returned."),
      max_length: z
        .number()
        .int()
        .positive()
        .max(100_000)
        .optional()
        .describe(`The most characters to return. Default: ${LENGTH}.`),
      raw: z.boolean().optional().describe("Return the page unchanged instead of its text."),
    }),
    policy: "once",
    run: async ({ url, max_length = LENGTH, raw = false }, { signal }) => {
      const { page, at } = await follow(url, options, signal);
      if (page.status >= 400) throw new Error(`${at.href} answered with status ${page.status}.`);
      const text = new TextDecoder().decode(page.body);
      if (text.slice(0, 1000).includes("\0")) throw new Error(`${at.href} is not text (${page.contentType}).`);
      const shown = raw || !page.contentType.includes("html") ? text : textOfHtml(text);
      const note = page.cut || shown.length > max_length ? "\n[The page is longer; this is its beginning.]" : "";
      return `${shown.slice(0, max_length).toWellFormed()}${note}`;
    },
  });
}

/** Follows redirects, and checks every address. */
async function follow(url: string, options: GuardedRequestOptions, signal: AbortSignal) {
  let at = parsed(url);
  for (let hops = 0; hops <= REDIRECTS; hops++) {
    const page = await guardedRequest(at, options, signal);
    if (page.status < 300 || page.status >= 400 || page.location === undefined) return { page, at };
    at = parsed(page.location, at);
  }
  throw new Error(`${url} redirects more than ${REDIRECTS} times.`);
}

function parsed(url: string, base?: URL): URL {
  const result = URL.parse(url, base?.href);
  if (!result) throw new Error(`"${url.slice(0, 200)}" is not a URL.`);
  return result;
}
