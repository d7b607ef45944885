/** Patterns of secrets in a text. */
const SECRETS: readonly RegExp[] = [
  /\bsk-ant-[\w-]{8,}/g,
  /\bskein_[\w-]{20,}/g,
  /\bwhsec_[\w+/=-]{8,}/g,
  /\bgh[opsu]_\w{20,}/g,
  /\bgithub_pat_\w{20,}/g,
  /\bxox[abprs]-[\w-]{10,}/g,
  /\bAKIA[0-9A-Z]{16}\b/g,
  /\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /(?<=(?<![a-z])(?:authorization|x-api-key|api[-_]?key|token|secret|password|passwd)["']?\s*[:=]\s*["']?(?:bearer\s+)?)[^\s"',;&]{4,}/gi,
  /(?<=:\/\/[^\s/:@]{0,100}:)[^\s/@]{1,200}(?=@)/g,
];

/** Removes everything that looks like a secret from a text. */
export function withoutSecrets(text: string): string {
  return SECRETS.reduce((kept, secret) => kept.replaceAll(secret, "[removed]"), text);
}
