import { randomBytes } from "node:crypto";
import { type ClaudeOptions, KnownError } from "@skein/protocol";

/** Secrets of a session by their placeholders in its log. */
export type Secrets = Readonly<Record<string, string>>;

type Given = Partial<ClaudeOptions>;

/** The placeholder of a secret in the log. In a URL it follows the host. */
const MARK = /(?:^|\/)(secret:[0-9a-f]{24})$/;

/**
 * Splits options into options without secrets, and the secrets. Secrets are the values of variables and headers, the
 * secrets of hooks, and everything after the host of a URL.
 */
export function takeSecrets(options: Given): { readonly kept: Given; readonly secrets: Secrets } {
  const secrets: Record<string, string> = {};
  const kept = eachSecret(options, (value, prefix) => {
    if (value === prefix) return value;
    if (MARK.test(value))
      throw new KnownError("invalid", "A value may not have the form of a placeholder (secret: and 24 digits).");
    const mark = `secret:${randomBytes(12).toString("hex")}`;
    secrets[mark] = value;
    return prefix + mark;
  });
  return { kept, secrets };
}

/** The options with their secrets restored. */
export function putSecrets<Options extends Given>(options: Options, secrets: Secrets): Options {
  return eachSecret(options, (value) => {
    const [, mark] = MARK.exec(value) ?? [];
    if (mark === undefined) return value;
    if (!Object.hasOwn(secrets, mark))
      throw new KnownError("invalid", "A secret of this session no longer exists. Start a new session.");
    return secrets[mark] as string;
  }) as Options;
}

/**
 * Replaces each secret of the options by the result of `change`. `prefix` is the part of the value that may be shown.
 */
function eachSecret(options: Given, change: (value: string, prefix: string) => string): Given {
  const hidden = (record: Readonly<Record<string, string>>): Record<string, string> =>
    mapped(record, (value) => change(value, ""));
  const address = (url: string): string => change(url, `${new URL(url).origin}/`);
  const { env, hooks, mcp_servers } = options;
  return {
    ...options,
    ...(env && { env: hidden(env) }),
    ...(mcp_servers && {
      mcp_servers: mapped(mcp_servers, (server) => ({
        ...server,
        env: hidden(server.env),
        headers: hidden(server.headers),
        ...(server.url && { url: address(server.url) }),
      })),
    }),
    ...(hooks && {
      hooks: mapped(hooks as Record<string, (typeof hooks)["Stop"]>, (hook) =>
        hook
          ? {
              ...hook,
              headers: hidden(hook.headers),
              url: address(hook.url),
              ...(hook.secret && { secret: change(hook.secret, "") }),
            }
          : hook,
      ),
    }),
  };
}

function mapped<Value, Made>(
  record: Readonly<Record<string, Value>>,
  make: (value: Value) => Made,
): Record<string, Made> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, make(value)]));
}
