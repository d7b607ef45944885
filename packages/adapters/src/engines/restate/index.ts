export { type EndpointOptions, type RestateEndpoint, listenForRestate } from "./endpoint.ts";
export { type RestateEngineDeps, createRestateEngine } from "./engine.ts";
export { type Ingress, createIngress } from "./ingress.ts";
export * from "./deployments.ts";
