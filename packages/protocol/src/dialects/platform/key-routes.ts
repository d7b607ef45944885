import { z } from "zod";
import { ApiKey, ApiKeyInput, ApiKeyPolicy, ApiKeyRotation, KeyId, MadeApiKey } from "./key-shapes.ts";
import type { Route } from "./route.ts";

const inKey = z.object({ key_id: KeyId });

export const keyRoutes = {
  getPolicy: {
    method: "GET",
    path: "/v1/policy",
    scope: "read",
    summary: "Explain in plain words what this key may do",
    status: 200,
    response: ApiKeyPolicy,
  },
  listKeys: {
    method: "GET",
    path: "/v1/keys",
    scope: "admin",
    summary: "List the keys of this tenant, newest first, including revoked and expired keys",
    status: 200,
    response: z.object({ data: z.array(ApiKey) }),
  },
  createKey: {
    method: "POST",
    path: "/v1/keys",
    scope: "admin",
    summary: "Create a key of this tenant. It is shown once",
    body: ApiKeyInput,
    status: 201,
    response: MadeApiKey,
    shownOnce: "key",
  },
  getKeyPolicy: {
    method: "GET",
    path: "/v1/keys/{key_id}/policy",
    scope: "admin",
    summary: "Explain in plain words what a key of this tenant may do",
    params: inKey,
    status: 200,
    response: ApiKeyPolicy,
  },
  rotateKey: {
    method: "POST",
    path: "/v1/keys/{key_id}/rotate",
    scope: "admin",
    summary: "Create a new key that replaces this key. The old key stays valid for a while",
    params: inKey,
    body: ApiKeyRotation,
    status: 201,
    response: MadeApiKey,
    shownOnce: "key",
  },
  revokeKey: {
    method: "DELETE",
    path: "/v1/keys/{key_id}",
    scope: "admin",
    summary: "Revoke a key of this tenant",
    params: inKey,
    status: 204,
  },
} as const satisfies Record<string, Route>;
