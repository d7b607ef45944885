import type { ApiModel, ModelSettings, ModelTrial } from "@skein/protocol";

/** The models of a store or of a server, for commands. */
export interface ModelPlace {
  list(): Promise<readonly ApiModel[]>;
  add(model: NewModel): Promise<ApiModel>;
  /** Makes one small call for each ability. */
  test(name: string): AsyncIterable<ModelTrial>;
  /** Removes a model and returns it. Returns undefined if no model has this name. */
  remove(name: string): Promise<ApiModel | undefined>;
}

interface NewModel {
  readonly name: string;
  readonly settings: ModelSettings;
  /** The provider's key, to be stored. */
  readonly key: string | undefined;
  readonly isDefault: boolean;
}
