import { z } from "zod";
import { Uuid } from "../../ids.ts";
import { ApiModel, ModelInput, ModelTrial } from "./model-shapes.ts";
import type { Route } from "./route.ts";

const inModel = z.object({ model_id: Uuid });

export const modelRoutes = {
  listModels: {
    method: "GET",
    path: "/v1/models",
    scope: "read",
    summary: "List the models that agents, sessions and messages can use. Admins also see the settings",
    status: 200,
    response: z.object({ data: z.array(ApiModel) }),
  },
  addModel: {
    method: "POST",
    path: "/v1/models",
    scope: "admin",
    summary: "Add a model, or change its settings. No response shows the key of a model",
    body: ModelInput,
    status: 201,
    response: ApiModel,
  },
  testModel: {
    method: "POST",
    path: "/v1/models/{model_id}/test",
    scope: "admin",
    summary: "Test a model with one small call for each ability. The provider charges for the calls",
    params: inModel,
    readOnly: true,
    status: 200,
    response: z.object({ works: z.boolean(), data: z.array(ModelTrial) }),
  },
  removeModel: {
    method: "DELETE",
    path: "/v1/models/{model_id}",
    scope: "admin",
    summary: "Remove a model and its key. Sessions with this model fail until somebody adds the model again",
    params: inModel,
    status: 204,
  },
} as const satisfies Record<string, Route>;
