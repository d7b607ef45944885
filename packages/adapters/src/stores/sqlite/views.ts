export const VIEWS = "";
