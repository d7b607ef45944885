export { withoutSecrets } from "@skein/protocol";
