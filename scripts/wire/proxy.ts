import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../free-port.ts";

/** A proxy in front of a server, as in real deployments. */
export interface Proxy {
  readonly name: ProxyName;
  readonly url: string;
  close(): Promise<void>;
}

export type ProxyName = "nginx" | "haproxy";

export function isInstalled(name: ProxyName): boolean {
  return spawnSync(name, ["-v"]).status === 0;
}

/**
 * The configurations of the proxies have the defaults of Debian's packages with compression, and no settings for
 * streams.
 */
const CONFIGS: Readonly<Record<ProxyName, (port: number, server: string, folder: string) => string>> = {
  nginx: (port, server, folder) => `
daemon off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  gzip on;
  gzip_types text/event-stream application/json;
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass ${server}; }
  }
}`,
  haproxy: (port, server) => `
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  compression algo gzip
  compression type text/event-stream application/json
frontend all
  bind 127.0.0.1:${port}
  default_backend skein
backend skein
  server one ${new URL(server).host}`,
};

const ARGS: Readonly<Record<ProxyName, (file: string, folder: string) => readonly string[]>> = {
  nginx: (file, folder) => ["-p", folder, "-c", file],
  haproxy: (file) => ["-db", "-f", file],
};

export async function startProxy(name: ProxyName, server: string, folder: string): Promise<Proxy> {
  const home = join(folder, name);
  mkdirSync(home, { recursive: true });
  const port = await freePort();
  const file = join(home, `${name}.conf`);
  writeFileSync(file, `${CONFIGS[name](port, server, home)}\n`);
  const child = spawn(name, ARGS[name](file, home), { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += String(chunk)));
  const url = `http://127.0.0.1:${port}`;
  const isUp = async (): Promise<boolean> =>
    fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  for (const end = Date.now() + 10_000; !(await isUp());) {
    if (child.exitCode !== null || Date.now() > end) throw new Error(`${name} did not start: ${said}`);
    await delay(50);
  }
  return {
    name,
    url,
    async close() {
      if (child.exitCode !== null) return;
      child.kill("SIGTERM");
      await new Promise((resolve) => child.once("exit", resolve));
    },
  };
}
