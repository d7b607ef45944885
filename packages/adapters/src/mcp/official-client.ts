import { registerHooks } from "node:module";

/**
 * The official client, loaded so that it also works in a clone.
 *
 * There our own sources run under the export condition `source`. Two packages that the client needs know the same word
 * and answer it with TypeScript, which Node does not run inside `node_modules`: they must not hear it.
 */
const hooks = registerHooks({
  resolve(specifier, context, next) {
    if (!/^eventsource(?:-parser)?(?:\/|$)/.test(specifier)) return next(specifier, context);
    return next(specifier, { ...context, conditions: context.conditions.filter((word) => word !== "source") });
  },
});

export const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
export const { StdioClientTransport, getDefaultEnvironment } = await import("@modelcontextprotocol/client/stdio");

hooks.deregister();
