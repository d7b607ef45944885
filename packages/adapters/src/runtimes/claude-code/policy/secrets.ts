import { randomBytes } from "node:crypto";
import { type ClaudeOptions, KnownError } from "@skein/protocol";

/** The secrets of a session, by placeholder. */
export type Secrets = Readonly<Record<string, string>>;

type Given = Partial<ClaudeOptions>;

/** Matches the placeholder of a secret. In a URL, the placeholder follows the host. */
const MARK = /(?:^|\/)(secret:[0-9a-f]{24})$/;

/**
 * Removes the secrets from options and returns them separately. Secrets are values of variables and headers, secrets of
 * hooks, and the part of a URL after its host.
 */
export function takeSecrets(options: Given): { readonly kept: Given; readonly secrets: Secrets } {
  const secrets: Record<string, string> = {};
  const kept = eachSecret(options, (value, prefix) => {
    if (value === prefix) return value;
    if (MARK.test(value))
      throw new KnownError("invalid", "A value may not look like a placeholder (secret: and 24 hexadecimal digits).");
    const mark = `secret:${randomBytes(12).toString("hex")}`;
    secrets[mark] = value;
    return prefix + mark;
  });
  return { kept, secrets };
}

/** Restores the secrets in options. */
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
 * Replaces each secret in the options by the result of `change`. `prefix` is the part of the value that may be visible.
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
