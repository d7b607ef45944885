import type { ApiModel, ModelSettings, ModelTrial } from "@skein/protocol";

/** Where the models of a command are: in a store, or on a server. */
export interface ModelPlace {
  list(): Promise<readonly ApiModel[]>;
  add(model: NewModel): Promise<ApiModel>;
  /** Makes one small call for each ability. */
  test(name: string): AsyncIterable<ModelTrial>;
  /** The model that was removed; undefined if there was none of this name. */
  remove(name: string): Promise<ApiModel | undefined>;
}

interface NewModel {
  readonly name: string;
  readonly settings: ModelSettings;
  /** The provider's key, to be stored. */
  readonly key: string | undefined;
  readonly isDefault: boolean;
}
