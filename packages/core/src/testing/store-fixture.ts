import type { Ids } from "@skein/protocol";
import type { Store } from "../ports/store.ts";
import type { Script } from "./script.ts";

/** A store that is opened for one test. */
export interface StoreUnderTest {
  readonly store: Store;
  /** Closes the store and opens it again on the same data. */
  readonly reopen?: () => Promise<Store>;
  /** A second store on the same data, as if opened by another process. The contract closes it. */
  readonly another?: () => Promise<Store>;
  /** Removes everything. The contract closes the stores first. */
  readonly cleanup?: () => Promise<void>;
}

/** What a store cannot do, and why. */
export interface StoreExceptions {
  readonly reopen?: string;
  readonly another?: string;
}

/** The parts that every test of the contract uses. */
export interface StoreFixture {
  readonly store: Store;
  readonly ids: Ids;
  readonly under: StoreUnderTest;
  script(options?: { tenant?: string; owner?: string }): Script;
  /** A new session without a prompt. */
  created(options?: { tenant?: string }): Promise<Script>;
  /** Opens a second store on the same data and closes it at the end of the test. */
  another(): Promise<Store>;
  reopen(): Promise<Store>;
}

/** Returns the name of a test. If the test is left out, the name includes the reason. */
export function withReason(name: string, reason: string | undefined): string {
  return reason === undefined ? name : `${name} (cannot: ${reason})`;
}
