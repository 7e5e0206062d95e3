import { defineConfig } from "vitest/config";

// Nothing is inlined: the server's policy of contents allows files of its own origin only.
export default defineConfig({
  build: {
    outDir: "../src/ganglion/server/portal/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: "build.json",
    target: "es2022",
    rolldownOptions: {
      // Packages mark what runs on servers; here nothing does.
      onwarn: (warning, warn) => {
        if (warning.code !== "MODULE_LEVEL_DIRECTIVE") warn(warning);
      },
    },
  },
  server: {
    port: 7080,
    // `make portal-dev`: the server of this machine answers, as if the page were its own.
    proxy: Object.fromEntries(
      ["/api", "/login", "/logout", "/account", "/portal.json", "/readyz"].map((path) => [
        path,
        {
          target: process.env["GANGLION_URL"] ?? "http://127.0.0.1:7077",
          changeOrigin: true,
          rewriteWsOrigin: true,
          headers: { origin: process.env["GANGLION_URL"] ?? "http://127.0.0.1:7077" },
        },
      ]),
    ),
  },
  // Modules are loaded once for all tests: those of the components take long.
  test: { environment: "node", isolate: false, include: ["src/**/*.test.{ts,tsx}"] },
});
