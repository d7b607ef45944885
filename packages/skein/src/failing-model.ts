import { EVERY_ABILITY, type Model, ModelFailure } from "@skein/core";

/** Makes a model that cannot be called. Every call fails immediately with this message. */
export function failingModel(message: string): Model {
  return {
    unusable: message,
    abilities: EVERY_ABILITY,
    prepare: () => ({ api: "none", body: {}, leftOut: [] }),
    call: () => Promise.reject(new ModelFailure({ code: "unknown_model", message }, { retryable: false })),
  };
}
