/** The simulator as a separate process: `node --conditions=@skein/source packages/simulator/src/main.ts --port 4010`. */
import { parseArgs } from "node:util";
import { createSimulator } from "./simulator.ts";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "0" },
    "demo-delay": { type: "string", default: "20" },
    "until-stdin-closes": { type: "boolean", default: false },
  },
});

const simulator = await createSimulator({ port: Number(values.port), demoDelayMs: Number(values["demo-delay"]) });
process.stdout.write(`simulator listening on ${simulator.url}\n`);

const untilStdinCloses = values["until-stdin-closes"];
const stop = (): void => {
  if (untilStdinCloses) process.stdin.destroy();
  void simulator.close();
};
process.once("SIGINT", stop);
process.once("SIGTERM", stop);
// When the parent process dies, the standard input ends.
if (untilStdinCloses) process.stdin.once("end", stop).once("error", stop).resume();
