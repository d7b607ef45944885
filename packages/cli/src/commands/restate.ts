import { existsSync, readFileSync, writeFileSync } from "node:fs";
import {
  type RestateAdmin,
  listDeployments,
  registerDeployment,
  removeDeployment,
} from "@skein/adapters/engines/restate/deployments";
import { identityKeyOf, newIdentity } from "@skein/adapters/engines/restate/identity";
import type { Config } from "skein/config";
import { type RestateSettings, restateSettings } from "skein/serve";
import { counted } from "../terminal/counts.ts";
import { type Group, defineCommand } from "../terminal/command.ts";
import { EXIT, UsageError } from "../terminal/exit-codes.ts";
import { JSON_OPTION } from "../terminal/shared-options.ts";

const OPTIONS = {
  admin: { takes: "URL", about: "The admin API of a node (SKEIN_RESTATE_ADMIN_URL)" },
  json: JSON_OPTION,
} as const;

const register = defineCommand({
  name: "restate register",
  summary:
    "Register the address of the workers with Restate. A new address is a new version: sessions in progress finish their step at the old address.",
  options: {
    workers: { takes: "URL", about: "The address of the workers, as Restate reaches it (SKEIN_RESTATE_WORKERS_URL)" },
    ...OPTIONS,
  },
  examples: [
    "skein restate register",
    "skein restate register --workers http://workers:9080 --admin http://restate:9070",
  ],
  async run({ values, config, screen }) {
    const { admin, settings } = restateOf(values, config);
    const workers = values.workers ?? settings.workersUrl;
    if (workers === undefined)
      throw new UsageError("Restate needs the address of the workers: --workers URL, or SKEIN_RESTATE_WORKERS_URL.");
    const id = await registerDeployment(admin, workers);
    if (values.json) screen.json({ deployment: id, workers });
    else screen.out(`Restate sends sessions to ${workers} (deployment ${id}).\n`);
    return EXIT.completed;
  },
});

const identity = defineCommand({
  name: "restate identity",
  words: "FILE",
  summary: "Print the public key of a Restate cluster. Makes its private key if the file does not exist.",
  options: { json: JSON_OPTION },
  examples: ["skein restate identity restate-identity.pem"],
  notes:
    "Give FILE to Restate as request-identity-private-key-pem-file, and the public key to the workers as SKEIN_RESTATE_IDENTITY_KEYS.",
  async run({ words: [file = ""], values, screen }) {
    if (!existsSync(file)) {
      writeFileSync(file, newIdentity(), { mode: 0o600, flag: "wx" });
      screen.note(`Made ${file}. Restate signs its calls with it.\n`);
    }
    const key = identityKeyOf(readFileSync(file, "utf8"));
    if (values.json) screen.json({ file, key });
    else screen.out(`${key}\n`);
    return EXIT.completed;
  },
});

const status = defineCommand({
  name: "restate status",
  summary: "List the versions of the workers in Restate, with the number of sessions that are left.",
  options: OPTIONS,
  examples: ["skein restate status"],
  async run({ values, config, screen }) {
    const { admin, settings } = restateOf(values, config);
    const all = await listDeployments(admin, settings.service);
    for (const [place, { id, uri, open }] of all.entries()) {
      const isCurrent = place === all.length - 1;
      if (values.json) screen.json({ deployment: id, workers: uri, open, current: isCurrent });
      else screen.out(`${id}  ${uri}  ${counted(open, "session")}${isCurrent ? "  current" : ""}\n`);
    }
    if (all.length === 0 && !values.json)
      screen.note('No workers are registered with Restate. Run "skein restate register".\n');
    return EXIT.completed;
  },
});

const drain = defineCommand({
  name: "restate drain",
  summary: "Remove old versions of the workers that have no sessions left. Their processes can then be stopped.",
  options: OPTIONS,
  examples: ["skein restate drain"],
  async run({ values, config, screen }) {
    const { admin, settings } = restateOf(values, config);
    const old = (await listDeployments(admin, settings.service)).slice(0, -1);
    const busy = old.filter(({ open }) => open > 0);
    for (const { id, uri } of old.filter(({ open }) => open === 0)) {
      await removeDeployment(admin, id);
      if (values.json) screen.json({ deployment: id, workers: uri, drained: true });
      else screen.out(`${id}  ${uri}  removed\n`);
    }
    for (const { id, uri, open } of busy) {
      if (values.json) screen.json({ deployment: id, workers: uri, drained: false, open });
      else screen.note(`${id}  ${uri}  still has ${counted(open, "session")}. Try again later.\n`);
    }
    if (old.length === 0 && !values.json) screen.note("There are no old versions of the workers.\n");
    return busy.length === 0 ? EXIT.completed : EXIT.failed;
  },
});

function restateOf(
  values: { readonly admin?: string | undefined },
  config: Config,
): { readonly admin: RestateAdmin; readonly settings: RestateSettings } {
  const { restate } = config.engine;
  // Only workers and api processes need the address of the ingress. Here, a default replaces a missing address.
  const settings = restateSettings({
    ...restate,
    ingressUrls: restate.ingressUrls.length > 0 ? restate.ingressUrls : ["http://127.0.0.1:8080"],
    adminUrl: values.admin ?? restate.adminUrl,
  });
  if (settings.adminUrl === undefined)
    throw new UsageError("Say where Restate's admin API is: --admin URL, or SKEIN_RESTATE_ADMIN_URL.");
  return { admin: { url: settings.adminUrl, token: settings.token }, settings };
}

export const restate: Group = {
  name: "restate",
  summary: "workers on a Restate cluster",
  commands: [register, status, drain, identity],
  notes: "docs/guides/cluster.md describes an upgrade step by step.",
};
