import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/**
 * Builds the console into `dist`: static files that any server on the origin of the API can serve with a strict content
 * security policy.
 */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  resolve: { conditions: ["@skein/source", "module", "browser", "production", "import", "default"] },
  build: {
    target: "es2022",
    sourcemap: false,
    // Small fonts and pictures stay files. Inside a style they would need `data:` in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      output: {
        // The chunk with `without-eval.ts` must be loaded before all chunks with schemas.
        codeSplitting: { groups: [{ name: "schemas", test: /node_modules\/zod\/|without-eval/ }] },
      },
    },
  },
});
