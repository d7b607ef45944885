import { type Model, ModelFailure } from "@skein/core";

/** A model that cannot be asked: each call fails at once with the sentence. */
export function failingModel(message: string): Model {
  return {
    unusable: message,
    abilities: { tools: true, images: true, pdf: true, thinking: true, output: true },
    prepare: () => ({ api: "none", body: {}, leftOut: [] }),
    call: () => Promise.reject(new ModelFailure({ code: "unknown_model", message }, { retryable: false })),
  };
}
