import { createKeys } from "@skein/server";
import { explainKey, loadCode, openPolicy, serveSettings } from "skein/serve";
import { type Group, defineCommand } from "../terminal/command.ts";
import { openExisting } from "../terminal/existing-store.ts";
import { EXIT, MissingError } from "../terminal/exit-codes.ts";
import { wrapped } from "../terminal/help.ts";
import { JSON_OPTION } from "../terminal/shared-options.ts";
import { visible } from "../terminal/visible-text.ts";
import { SERVER_OPTIONS } from "./server-options.ts";

const explain = defineCommand({
  name: "policy explain",
  words: "KEY",
  summary: "Say in plain words what a key can do on this server. Takes the options of `skein serve`, and runs nothing.",
  options: { ...SERVER_OPTIONS, json: JSON_OPTION },
  examples: ["skein policy explain ci", "skein policy explain ci --config agents/skein.config.ts"],
  async run({ values, words: [named = ""], screen, config }) {
    const settings = serveSettings(values, config);
    const store = await openExisting(values.store ?? config.storeUrl, settings.storeUrl);
    try {
      const keys = createKeys({ records: store.records });
      const rules = openPolicy(settings, await loadCode(settings.configFile), keys);
      const valid = await keys.valid();
      const key = valid.find(({ name, id }) => name === named || (named.length >= 6 && id.startsWith(named)));
      if (!key) throw new MissingError(`There is no valid key "${named}". "skein keys list" shows them.`);
      const sentences = await explainKey(key, rules);
      if (values.json) screen.json({ key: key.name, tenant: key.tenant, sentences });
      else for (const each of sentences) screen.out(`${wrapped(visible(each), screen.helpColumns).join("\n")}\n`);
      return EXIT.completed;
    } finally {
      await store.close();
    }
  },
});

/** `skein policy`: what the operator's rules mean. */
export const policy: Group = {
  name: "policy",
  summary: "what the rules of a server let a key do",
  commands: [explain],
};
