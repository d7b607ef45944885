/**
 * `npm run cluster` runs the same processes as `deploy/` on this machine, from npm and Debian packages, until Ctrl-C.
 */
import { once } from "node:events";
import { startCluster } from "./cluster/start-cluster.ts";
import { readOptions } from "./read-options.ts";

const { values } = readOptions("cluster", {
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
const stop = new AbortController();
const asked = once(stop.signal, "abort");
// npm sends the Ctrl-C of a terminal a second time. The second signal must not end this process before the folder is
// removed.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => stop.abort());
const cluster = await startCluster({
  isSimulation: true,
  signal: stop.signal,
  ...(values.config !== undefined && { config: values.config }),
  ...(values.restate !== undefined && { restate: Number(values.restate) }),
}).catch((error: unknown): never => {
  if (stop.signal.aborted) console.error("Stopped before the cluster was running. Its folder is removed.");
  else console.error(`The cluster did not start. ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
});
const { places, folder, restate } = cluster;
console.log(`Skein listens on ${cluster.url}

  Console     ${cluster.url}/#key=${cluster.apiKey}
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
