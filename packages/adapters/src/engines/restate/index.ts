export { listenForRestate } from "./endpoint.ts";
export { createRestateEngine } from "./engine.ts";
export { createIngress } from "./ingress.ts";
