import { expect, test } from "vitest";
import { withoutSecrets } from "../src/without-secrets.ts";

test.each([
  ["an Anthropic key", "sk-ant-api03-CANARYcanary0123456789"],
  ["an API key of Skein", "skein_CANARYcanary0123456789canary"],
  ["a webhook's secret", "whsec_CANARYcanary0123456789=="],
  ["a GitHub token", "ghp_CANARYcanary0123456789canary"],
  ["a fine-grained GitHub token", "github_pat_CANARYcanary0123456789"],
  ["a Slack token", "xoxb-CANARY-0123456789"],
  ["an AWS key", "AKIACANARYCANARYCANA"],
  ["a JWT", "eyJCANARYcanary.eyJCANARYcanary.CANARY"],
  ["a private key", "-----BEGIN RSA PRIVATE KEY-----\nCANARY\n-----END RSA PRIVATE KEY-----"],
  ["a password in an address", "postgres://user:CANARY@host/db"],
  ["a header", "Authorization: Bearer CANARY"],
  ["a header as JSON", '{"x-api-key":"CANARY"}'],
  ["a parameter", "https://host/?token=CANARY&x=1"],
  ["a setting", "DB_PASSWORD=CANARY"],
])("%s is removed from a text", (_, secret) => {
  const kept = withoutSecrets(`before ${secret} after`);
  expect(kept).not.toContain("CANARY");
  expect(kept).toMatch(/^before .*after$/s);
});

test.each(["at answer (register.ts:65:3)", "The store cannot be reached now.", "GET /v1/sessions/:session_id 200"])(
  "%s is not changed",
  (text) => expect(withoutSecrets(text)).toBe(text),
);
