export { forgetBeside } from "./forget-session.ts";
export { type BackedUp, backup, restore } from "./backup.ts";
export { makeFolder } from "./make-folder.ts";
export { isStore } from "./is-store.ts";
export { type MovedAll, move } from "./move.ts";
export { openStore, readRecords } from "./open-store.ts";
export { placeOf } from "./store-address.ts";
