/** Hides secrets, home directories and names in text before it is shared. */

export interface RedactOptions {
  /** A home directory to hide: it is replaced by `~`. */
  readonly home?: string;
  readonly userName?: string;
  /** Other words to hide, for example the name of a customer. */
  readonly words?: readonly string[];
  /** Called for everything that is hidden, with its kind, its text and its replacement. */
  readonly onHidden?: (hidden: Hidden) => void;
}

export interface Hidden {
  /** token, password, secret, private key, e-mail, path or name. */
  readonly kind: string;
  readonly text: string;
  readonly mark: string;
}

/**
 * Makes a function that hides secrets, e-mail addresses, home directories and the given names. The same secret gets the
 * same mark everywhere, so that the text stays readable. Only common forms of secrets are recognised: check the result
 * before you share it.
 */
export function createRedactor(options: RedactOptions = {}): (text: string) => string {
  const marks = new Map<string, string>();
  const mark = (kind: string, secret: string): string => {
    const known = marks.get(secret);
    if (known !== undefined) return known;
    const made = `[${kind} ${marks.size + 1}]`;
    marks.set(secret, made);
    return made;
  };
  const names = namesPattern(options);
  return (text) => {
    if (text.length < 3) return text;
    let result = text;
    for (const { kind, pattern } of secrets) {
      result = result.replaceAll(pattern, (whole: string, ...groups: unknown[]) => {
        const { before = "", secret = whole } = namedGroups(groups);
        if (isHarmless(secret)) return whole;
        const made = mark(kind, secret);
        options.onHidden?.({ kind, text: secret, mark: made });
        return before + made + whole.slice(before.length + secret.length);
      });
    }
    const hide = (kind: string, instead: string) => (text: string) => {
      options.onHidden?.({ kind, text, mark: instead });
      return instead;
    };
    result = hideHomes(result, options.home, hide);
    return names ? result.replaceAll(names, hide("name", "[name]")) : result;
  };
}

interface Secret {
  readonly kind: string;
  readonly pattern: RegExp;
}

/**
 * The group `before` is kept, the group `secret` is hidden. Without groups, the whole match is hidden. All patterns run
 * in linear time.
 */
const secrets: readonly Secret[] = [
  {
    kind: "private key",
    pattern: /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[A-Za-z0-9+/=\s\\]{0,20000}-----END [A-Z ]{0,40}PRIVATE KEY-----/g,
  },
  { kind: "token", pattern: /\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{20,200}/g },
  { kind: "token", pattern: /\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{30,255}|\bgithub_pat_[A-Za-z0-9_]{30,255}/g },
  {
    kind: "token",
    pattern:
      /\bglpat-[A-Za-z0-9_-]{20,100}|\bnpm_[A-Za-z0-9]{30,100}|\bhf_[A-Za-z0-9]{30,100}|\bpypi-[A-Za-z0-9_-]{50,300}/g,
  },
  {
    kind: "token",
    pattern:
      /\bxox[abeoprs]-[A-Za-z0-9-]{10,300}|\bdop_v1_[a-f0-9]{60,70}|\bSG\.[A-Za-z0-9_-]{16,40}\.[A-Za-z0-9_-]{16,60}/g,
  },
  {
    kind: "token",
    pattern:
      /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{35}\b|\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,200}/g,
  },
  { kind: "token", pattern: /\beyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{10,2000}/g },
  {
    kind: "password",
    pattern: /(?<before>\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:@/"']{1,100}:)(?<secret>[^\s@/"']{1,200})(?=@)/gi,
  },
  { kind: "token", pattern: /(?<before>\b(?:Bearer|Basic|Token)\s+)(?<secret>[A-Za-z0-9._~+/-]{16,4000}=*)/gi },
  {
    kind: "secret",
    pattern:
      /(?<before>[A-Za-z0-9_-]{0,40}(?:api[_-]?key|apikey|secret|token|passw(?:or)?d|credential|private[_-]?key|access[_-]?key)[A-Za-z0-9_-]{0,20}\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?)(?<secret>[^\s"'\\,;&<>(){}[\]]{6,400})/gi,
  },
  {
    kind: "e-mail",
    pattern: /\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,4}\.[A-Za-z]{2,24}\b/g,
  },
];

/** Returns true for names of variables, types and placeholders, because they are not secrets. */
function isHarmless(secret: string): boolean {
  return (
    /^(?:string|number|boolean|null|undefined|true|false|none|unknown|required|optional)\b/i.test(secret) ||
    /^[$<%*.]/.test(secret) ||
    /^(?:process\.env|os\.environ|env|self|this|config|options)\b/.test(secret) ||
    /^(?:x+|\*+|\.+|-+|_+)$/i.test(secret) ||
    secret.startsWith("[") ||
    /^\d{1,8}$/.test(secret)
  );
}

function namedGroups(groups: readonly unknown[]): { before?: string; secret?: string } {
  const last = groups.at(-1);
  return typeof last === "object" && last !== null ? last : {};
}

type Hide = (kind: string, instead: string) => (text: string) => string;

/** Hides home directories of Linux, macOS and Windows, even from other machines. */
function hideHomes(text: string, home: string | undefined, hide: Hide): string {
  let result = text;
  if (home !== undefined && home.length > 3)
    result = result.replaceAll(new RegExp(`${escape(home)}(?![A-Za-z0-9_.-])`, "g"), hide("path", "~"));
  return (
    result
      .replaceAll(/(?<![A-Za-z0-9_.:])\/(?:home|Users)\/(?!Shared\b)[A-Za-z0-9_.-]{1,64}/g, hide("path", "~"))
      .replaceAll(/\b[A-Za-z]:(?:\\{1,2}|\/)Users(?:\\{1,2}|\/)[^\\/\s"':*?<>|]{1,64}/gi, hide("path", "~"))
      // The folder names that Claude Code derives from such paths.
      .replaceAll(/-(?:home|Users)-[A-Za-z0-9_.]{1,64}(?=-|\b)/g, hide("path", "-~"))
  );
}

function namesPattern({ userName, words = [] }: RedactOptions): RegExp | undefined {
  const names = [
    ...(userName === undefined || userName.length < 3 || userName === "root" ? [] : [userName]),
    ...words,
  ].filter((word) => word.length > 1);
  if (names.length === 0) return undefined;
  return new RegExp(`(?<![A-Za-z0-9])(?:${names.map(escape).join("|")})(?![A-Za-z0-9])`, "gi");
}

function escape(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
