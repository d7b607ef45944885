import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { configFrom, invokerSettings, noRestate } from "../restate.ts";
import { COUNTS, type Places, environmentOf, registrationOf } from "../cluster/topology.ts";

const read = (path: string): string => readFileSync(new URL(`../../deploy/${path}`, import.meta.url), "utf8");

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly environment?: Readonly<Record<string, string>>;
        readonly deploy?: { readonly replicas?: number };
        readonly cap_drop?: readonly string[];
        readonly security_opt?: readonly string[];
      }
    >
  >;
}

const compose = parse(read("compose.yaml"), { merge: true }) as Compose;

const places: Places = {
  postgres: "",
  redis: "",
  s3: { endpoint: "", bucket: "", keyId: "", secret: "" },
  restate: [],
  restateAdmin: "",
  identityKey: "",
  workers: "",
  model: { url: "", key: "" },
  apiKey: "",
  secretsKey: "",
};
const variablesOf = (role: "api" | "worker"): readonly string[] =>
  Object.keys(environmentOf({ role, port: 0, endpointPort: 0, dataDir: "" }, places)).sort();

/** These services run once and end. */
const JOBS: readonly string[] = ["register", "bucket"];

test("the compose file has the same numbers of processes as the local cluster", () => {
  const counts = Object.fromEntries(Object.keys(COUNTS).map((name) => [name, 0]));
  for (const [name, { deploy }] of Object.entries(compose.services)) {
    const kind = name.replace(/-\d+$/, "");
    if (JOBS.includes(kind)) continue;
    expect(Object.keys(COUNTS)).toContain(kind);
    counts[kind] = (counts[kind] ?? 0) + (deploy?.replicas ?? 1);
  }
  expect(counts).toEqual(COUNTS);
});

test.each(["api", "worker"] as const)("the compose file gives %s the variables of the local cluster", (role) => {
  const { environment = {} } = compose.services[role] ?? {};
  expect(Object.keys(environment).sort()).toEqual(variablesOf(role));
  expect(environment["SKEIN_ROLE"]).toBe(role);
  expect(environment["SKEIN_ENGINE"]).toBe("restate");
});

test.each(["api", "worker"])("the compose file lets bubblewrap work in %s without extra capabilities", (role) => {
  const { cap_drop, security_opt } = compose.services[role] ?? {};
  expect(cap_drop).toEqual(["ALL"]);
  expect(security_opt).toEqual(["no-new-privileges:true", "seccomp=./seccomp.json", "systempaths=unconfined"]);
  const { defaultAction, syscalls } = JSON.parse(read("seccomp.json")) as {
    readonly defaultAction: string;
    readonly syscalls: readonly { readonly names: readonly string[]; readonly action: string }[];
  };
  expect(defaultAction).toBe("SCMP_ACT_ALLOW");
  const rejected = syscalls.flatMap(({ names, action }) => (action === "SCMP_ACT_ERRNO" ? names : []));
  for (const call of ["bpf", "kexec_load", "init_module", "open_by_handle_at"]) expect(rejected).toContain(call);
  for (const call of ["unshare", "clone", "mount", "pivot_root", "sethostname"]) expect(rejected).not.toContain(call);
});

test("the compose file gives the job that registers the workers the variables of the local cluster", () => {
  const { environment = {} } = compose.services["register"] ?? {};
  expect(Object.keys(environment).sort()).toEqual(Object.keys(registrationOf(places)).sort());
});

test("the compose file gives Restate the settings of the local cluster for detecting a lost worker", () => {
  const local = Object.fromEntries(
    [...invokerSettings("key.pem").matchAll(/^([\w-]+) = "?([^"\n]+)"?$/gm)].map(([, name = "", value = ""]) => [
      name,
      value,
    ]),
  );
  expect(Object.keys(local)).toHaveLength(5);
  for (const [service, { environment = {} }] of Object.entries(compose.services)) {
    if (!service.startsWith("restate-")) continue;
    for (const [name, value] of Object.entries(local)) {
      const variable = `RESTATE_WORKER__INVOKER__${name.toUpperCase().replaceAll("-", "_")}`;
      expect
        .soft(environment[variable], `${service} ${variable}`)
        .toBe(name.endsWith("-file") ? "/run/secrets/restate_identity" : value);
    }
  }
});

test.skipIf(noRestate)("Restate itself reads every variable that the compose file gives it", () => {
  for (const [service, { environment = {} }] of Object.entries(compose.services)) {
    if (!service.startsWith("restate-")) continue;
    // Removes quotes and spaces, so that every value and every list is plain text on one line.
    const config = configFrom(environment).replaceAll(/["\s]/g, "");
    for (const [variable, value] of Object.entries(environment)) {
      const name = variable.replace("RESTATE_", "").toLowerCase().replaceAll("_", "-").split("--").at(-1);
      const written = value.startsWith("[") ? (JSON.parse(value) as readonly string[]).join("/,") : value;
      expect.soft(config, `${service} ${variable}`).toContain(`${name}=${value.startsWith("[") ? "[" : ""}${written}`);
    }
  }
});

test("the image is built only from sources, by existing scripts", () => {
  const ignored = readFileSync(new URL("../../.dockerignore", import.meta.url), "utf8").split("\n");
  expect(ignored).toEqual(expect.arrayContaining([".git", "**/node_modules", "deploy/restate-identity.pem"]));
  const scripts = Object.keys(
    (JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { scripts: object }).scripts,
  );
  const used = [...read("Dockerfile").matchAll(/npm run ([\w:]+)/g)].map(([, name = ""]) => name);
  expect(used.length).toBeGreaterThan(0);
  expect(scripts).toEqual(expect.arrayContaining(used));
});

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly replicas?: number;
    readonly template?: {
      readonly spec: { readonly containers: readonly { readonly env: readonly { readonly name: string }[] }[] };
    };
  };
}

const manifests = parseAllDocuments(read("kubernetes/skein.yaml")).map((document) => document.toJS() as Manifest);
const manifest = (kind: string, name: string): Manifest | undefined =>
  manifests.find((one) => one.kind === kind && one.metadata.name === name);

test.each(["api", "worker"] as const)("Kubernetes gives %s the variables and replicas of the local cluster", (role) => {
  const deployment = manifest("Deployment", `skein-${role}`);
  const own = deployment?.spec?.template?.spec.containers[0]?.env.map(({ name }) => name) ?? [];
  const shared = { ...manifest("ConfigMap", "skein")?.data, ...manifest("Secret", "skein")?.stringData };
  expect([...own, ...Object.keys(shared)].sort()).toEqual(variablesOf(role));
  expect(deployment?.spec?.replicas).toBe(COUNTS[role]);
});

test("the Kubernetes manifests give the job that registers the workers the variables of the local cluster", () => {
  const container = manifest("Job", "skein-register")?.spec?.template?.spec.containers[0];
  expect(container?.env.map(({ name }) => name).sort()).toEqual(Object.keys(registrationOf(places)).sort());
});

test("ports and names in nginx, compose and the manifests match each other", () => {
  const { environment: api = {} } = compose.services["api"] ?? {};
  const { environment: worker = {} } = compose.services["worker"] ?? {};
  const { environment: register = {} } = compose.services["register"] ?? {};
  const endpointPort = worker["SKEIN_RESTATE_ENDPOINT"]?.split(":")[1];
  const upstreams = [...read("nginx.conf").matchAll(/server (\w+:\d+) resolve/g)].map(([, address]) => address);
  expect(upstreams).toEqual([`api:${api["SKEIN_PORT"]}`, `worker:${endpointPort}`]);
  const listens = [...read("nginx.conf").matchAll(/listen (\d+);/g)].map(([, port]) => port);
  expect(listens).toEqual([api["SKEIN_PORT"], URL.parse(register["SKEIN_RESTATE_WORKERS_URL"] ?? "")?.port]);
  const nodes = Object.keys(compose.services).filter((name) => name.startsWith("restate-"));
  expect(api["SKEIN_RESTATE_URL"]).toBe(nodes.map((name) => `http://${name}:8080`).join(","));
  const text = read("kubernetes/skein.yaml");
  expect(text).toContain(`"http://skein-worker:${endpointPort}"`);
  expect(text.match(/containerPort: (\d+)/g)).toEqual(
    [7433, 7433, endpointPort].map((port) => `containerPort: ${port}`),
  );
});

test("the liveness probes for Kubernetes only open a TCP connection, so no pod is restarted while PostgreSQL is down", () => {
  const text = read("kubernetes/skein.yaml");
  expect(text.match(/readinessProbe/g)).toHaveLength(2);
  expect(text.match(/livenessProbe: \{ tcpSocket/g)).toHaveLength(2);
  expect(text).not.toMatch(/path: \/health/);
});

test("nginx does not buffer streams", () => {
  expect(read("nginx.conf")).toMatch(/proxy_buffering off/);
});
