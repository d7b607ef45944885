import { z } from "zod";
import { Me } from "./login-shapes.ts";
import type { Route } from "./route.ts";

export const loginRoutes = {
  login: {
    method: "POST",
    path: "/v1/login",
    scope: "open",
    summary: "Log a browser in with a key. The response sets a cookie that replaces the key for 12 hours",
    body: z.strictObject({ key: z.string().min(1).max(500) }),
    status: 204,
    readOnly: true,
  },
  logout: {
    method: "POST",
    path: "/v1/logout",
    scope: "open",
    summary: "Log the browser out, and remove the cookie",
    status: 204,
    readOnly: true,
  },
  getMe: {
    method: "GET",
    path: "/v1/me",
    scope: "read",
    summary: "Get the owner and the rights of the key, and what this server supports",
    status: 200,
    response: Me,
  },
} as const satisfies Record<string, Route>;
