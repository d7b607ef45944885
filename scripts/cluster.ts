/** `npm run cluster` runs the same processes as `deploy/` on this machine, from npm and Debian packages, until Ctrl-C. */
import { once } from "node:events";
import { parseArgs } from "node:util";
import { startCluster } from "./cluster/start-cluster.ts";

const { values } = parseArgs({
  options: { config: { type: "string" }, restate: { type: "string" }, help: { type: "boolean", short: "h" } },
});
if (values.help) {
  console.log(`npm run cluster [-- --config FILE] [--restate N]

Starts 2 api and 2 worker processes, 3 Restate servers, PostgreSQL, Redis and an S3 server on 127.0.0.1, in one temporary
folder, with load balancers before the api processes and the workers. The model is the simulator. Ctrl-C ends all of it.

  --config FILE   agents and tools of the workers (default: none)
  --restate N     how many Restate servers (default 3)`);
  process.exit(0);
}
const asked = Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
// npm sends the Ctrl-C of a terminal a second time. The second signal must not end this process before the folder is
// removed.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => {});
const cluster = await startCluster({
  isSimulation: true,
  ...(values.config !== undefined && { config: values.config }),
  ...(values.restate !== undefined && { restate: Number(values.restate) }),
}).catch((error: unknown): never => {
  console.error(`The cluster did not start. ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
});
const { places, folder, restate } = cluster;
console.log(`Skein listens on ${cluster.url}

  Key         ${cluster.apiKey}
  Processes   ${cluster.processes.map(({ name, url }) => `${name} ${url}`).join("\n              ")}
  Workers     ${places.workers} (where Restate reaches them)
  Restate     ${restate.nodes.map(({ adminUrl, ingressUrl }) => `${ingressUrl} (admin ${adminUrl})`).join("\n              ")}
  PostgreSQL  ${places.postgres}
  Redis       ${places.redis}
  S3          ${places.s3.endpoint}
  Logs        ${folder}

Stop it with Ctrl-C, which also removes that folder.`);
await asked;
await cluster.stop();
console.log(`The cluster is stopped, and ${folder} is removed.`);
