import { ROUTES, type Route, type RouteName, pathsOf } from "@skein/protocol";
import type { ServerDeps } from "../deps.ts";

/**
 * The content security policy of the server's pages. It allows scripts, styles and images from this server, requests to
 * this server, and images as data URLs.
 */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Returns the page at `/` of a server without a console. It describes the server and links to the API reference. */
export function homePage({ version, store, model }: ServerDeps["description"]): string {
  return page(
    "Skein",
    `<h1>Skein</h1>
<p>Runs AI agents and keeps what they did. This is the HTTP API, version ${text(version)}.</p>
<dl>
<dt>Model</dt><dd>${text(model)}</dd>
<dt>Store</dt><dd>${text(store)}</dd>
<dt>State</dt><dd><a href="/health">/health</a></dd>
</dl>
<form id="login"><label>API key <input id="key" type="password" autocomplete="off" size="50"></label> <button>Show the reference</button></form>
<p id="said" role="status"></p>
<div id="reference"></div>
<script src="/assets/home.js"></script>`,
  );
}

/** The API reference, made from the table of routes. */
export function docsPage(): string {
  const rows = (Object.keys(ROUTES) as RouteName[]).map((name) => {
    const route: Route = ROUTES[name];
    const paths = pathsOf(route).map((path) => `<code>${route.method} ${text(path)}</code>`);
    return `<tr><td>${paths.join("<br>")}</td><td>${text(route.scope)}</td><td>${text(route.summary)}</td></tr>`;
  });
  return page(
    "Skein: reference",
    `<h1>Reference</h1>
<p>Schemas of all bodies and answers: <code>GET /openapi.json</code> (OpenAPI 3.1). Every error has the body
<code>{"error":{"code","message","details"?,"request_id"}}</code>.</p>
<table><thead><tr><th>Route</th><th>Scope</th><th></th></tr></thead><tbody>
${rows.join("\n")}
</tbody></table>`,
  );
}

/**
 * The script of the page at `/`. It shows the API reference with an API key from the form or from the URL's fragment,
 * which browsers do not send to the server.
 */
export const HOME_SCRIPT = `const said = document.getElementById("said");
const key = document.getElementById("key");
async function show() {
  const answer = await fetch("/docs", { headers: { "x-api-key": key.value } });
  said.textContent = answer.ok ? "" : answer.status === 401 ? "This server does not know this API key." : "The server answered " + answer.status + ".";
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.getElementById("reference").replaceChildren(...page.querySelector("main").childNodes);
}
document.getElementById("login").addEventListener("submit", (event) => { event.preventDefault(); void show(); });
const given = new URLSearchParams(location.hash.slice(1)).get("key");
if (given) { key.value = given; history.replaceState(null, "", "/"); void show(); }
`;

export const HOME_STYLE = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 3rem auto; padding: 0 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.25rem 1rem; }
dt { font-weight: 600; } dd { margin: 0; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: 0.3rem 0.8rem 0.3rem 0; border-bottom: 1px solid #8884; }
code { font-size: 0.9em; }
`;

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${text(title)}</title><link rel="stylesheet" href="/assets/home.css"></head>
<body><main>
${body}
</main></body></html>
`;
}

function text(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
