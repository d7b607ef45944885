import { expect, test } from "vitest";
import { createRedactor } from "../src/index.ts";

const redact = createRedactor({ home: "/srv/homes/ada", userName: "ada", words: ["Initech"] });

test.each([
  ["an Anthropic key", "sk-ant-api03-abcdefghijklmnopqrstuvwxyz012345"],
  ["a GitHub token", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"],
  ["an AWS key", "AKIAABCDEFGHIJKLMNOP"],
  ["a JSON web token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"],
  ["a private key", "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----"],
  ["a Slack token", "xoxb-123456789012-abcdefghijkl"],
  ["an e-mail address", "someone@example.org"],
])("%s is hidden anywhere in a text", (_, secret) => {
  const text = redact(`before ${secret} after, and "${secret}"`);
  expect(text).not.toContain(secret.slice(8, 20));
  expect(text).toMatch(/^before \[.+\] after, and "\[.+\]"$/s);
});

test.each([
  ["export API_KEY=hunter2hunter2", "hunter2"],
  ['{"password": "correct horse"}', "correct"],
  [String.raw`{\"client_secret\":\"abc123def456\"}`, "abc123"],
  ["Authorization: Bearer abcdefghijklmnop.qrst", "abcdefgh"],
  ["postgres://ada:s3cretpass@db.example/x", "s3cretpass"],
])("a secret after a name such as password is hidden: %s", (text, secret) => {
  expect(redact(text)).not.toContain(secret);
});

test.each([
  ["const token = process.env.TOKEN", "process.env.TOKEN"],
  ["password: string", "password: string"],
  ["max_tokens: 4096", "max_tokens: 4096"],
  ["apiKey: <your key here>", "<your key here>"],
  ["git commit abcdef0123456789abcdef0123456789abcdef01", "abcdef0123456789abcdef0123456789abcdef01"],
])("text that only looks like a secret is not hidden: %s", (text, kept) => {
  expect(redact(text)).toContain(kept);
});

test("equal secrets get equal marks, and different secrets get different marks", () => {
  const hide = createRedactor();
  const text = hide("sk-ant-aaaaaaaaaaaaaaaaaaaaaaaa sk-ant-bbbbbbbbbbbbbbbbbbbbbbbb sk-ant-aaaaaaaaaaaaaaaaaaaaaaaa");
  expect(text).toBe("[token 1] [token 2] [token 1]");
});

test("home directories become ~, also those of other users, and names are hidden", () => {
  expect(redact("/srv/homes/ada/src/x.ts and /srv/homes/adam/x")).toBe("~/src/x.ts and /srv/homes/adam/x");
  expect(redact("/home/bob/app /Users/eve/app C:\\Users\\Eve\\app C:/Users/eve/app")).toBe("~/app ~/app ~\\app ~/app");
  expect(redact("-Users-eve-app")).toBe("-~-app");
  expect(redact("Ada works for initech, not for adamant")).toBe("[name] works for [name], not for adamant");
});

test("redacting a long text without secrets takes less than two seconds of processor time", () => {
  const text = `${"a".repeat(200_000)} ${"token".repeat(20_000)} ${"-----BEGIN ".repeat(5000)} ${"x:y://".repeat(20_000)} ${"a@b.".repeat(20_000)}`;
  // The test measures processor time, because other programs may keep the machine busy.
  const started = process.cpuUsage();
  redact(text);
  expect(process.cpuUsage(started).user).toBeLessThan(2_000_000);
});

test("each hidden text is reported with its kind and its replacement", () => {
  const hidden: string[] = [];
  const redact = createRedactor({
    home: "/home/mara",
    userName: "mara",
    onHidden: ({ kind, text, mark }) => hidden.push(`${kind} ${text} ${mark}`),
  });
  redact("mara keeps ghp_0123456789abcdefghijABCDEFGHIJ0123 in /home/mara/keys");
  expect(hidden).toEqual([
    "token ghp_0123456789abcdefghijABCDEFGHIJ0123 [token 1]",
    "path /home/mara ~",
    "name mara [name]",
  ]);
});
