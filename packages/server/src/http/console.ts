import { hash } from "node:crypto";
import { ROUTES } from "@skein/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The route answers with files of the console. */
    console?: true;
  }
}

/** The built files of the console, by their name in the build: `index.html`, `assets/index-1a2b3c.js`. */
export interface ConsoleFiles {
  /** The content of a file; undefined if the build has no such file. */
  read(name: string): Promise<Uint8Array | undefined>;
}

/**
 * The content security policy of the console. It allows the console's own scripts, styles and requests, and images as
 * data URLs. Scripts cannot turn text into markup.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const HEADERS = {
  "content-security-policy": POLICY,
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
};

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  json: "application/json; charset=utf-8",
  webmanifest: "application/manifest+json; charset=utf-8",
  png: "image/png",
  ico: "image/x-icon",
  woff2: "font/woff2",
};

/**
 * A file of the build, at its top level or in `assets`. No other folder is allowed, so that no path leads out of the
 * build.
 */
const FILE = /^\/((?:assets\/)?[A-Za-z0-9_-][A-Za-z0-9._-]*\.([a-z0-9]+))$/;
/** Paths under these prefixes are never pages of the console. */
const NOT_PAGES = /^\/(?:v1|api|assets)(?:\/|$)/;
const ROUTE_PATHS: ReadonlySet<string> = new Set(Object.values(ROUTES).map(({ path }) => path));
const PAGE = "index.html";

/** Finds the file of the console that a request asks for. */
export function consoleFile({ method, url, headers }: Pick<FastifyRequest, "method" | "url" | "headers">) {
  if (method !== "GET" && method !== "HEAD") return undefined;
  const path = url.split("?", 1)[0] ?? "";
  if (path !== "/" && ROUTE_PATHS.has(path)) return undefined;
  const [, name, ending = ""] = FILE.exec(path) ?? [];
  if (name !== undefined && TYPES[ending] !== undefined) return name;
  const isPage = !NOT_PAGES.test(path) && (headers.accept ?? "").includes("text/html");
  return path === "/" || isPage ? PAGE : undefined;
}

/** Serves the files and pages of the console. Other requests are answered as on a server without a console. */
export function registerConsole(app: FastifyInstance, files: ConsoleFiles): void {
  app.route({
    method: ["GET", "HEAD"],
    url: "/*",
    config: { console: true },
    async handler(request, reply) {
      const name = consoleFile(request);
      if (name === undefined) return reply.callNotFound();
      return (await sendFile(files, name, { request, reply })) ? reply : reply.callNotFound();
    },
  });
}

/** Sends a file of the console. Returns false if no file has this name. */
export async function sendFile(
  files: ConsoleFiles,
  name: string,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<boolean> {
  const content = await files.read(name);
  if (!content) return false;
  const tag = `"${hash("sha256", content, "base64url").slice(0, 22)}"`;
  reply.headers({
    ...HEADERS,
    etag: tag,
    // The name of an asset contains a hash of its content, so the asset never changes. Other files change.
    "cache-control": name.startsWith("assets/") ? "public, max-age=31536000, immutable" : "no-cache",
  });
  if (request.headers["if-none-match"] === tag) void reply.code(304).send();
  else
    void reply
      .code(200)
      .type(TYPES[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream")
      // The response uses the bytes of the file without a copy per request.
      .send(Buffer.from(content.buffer, content.byteOffset, content.byteLength));
  return true;
}
