import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Gone } from "./api/client";
import { Entrance } from "./entrance";
import { SettingsProvider } from "./ui/settings";
import "./ui/tokens.css";
import "./ui/base.css";
import "./ui/layout.css";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // The stream of events says what is out of date; what was read stays when a server goes.
      staleTime: 30_000,
      gcTime: 10 * 60_000,
      networkMode: "always",
      refetchOnWindowFocus: false,
      retry: (count, error) => error instanceof Gone && count < 2,
    },
    mutations: { networkMode: "always" },
  },
});


createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <SettingsProvider>
        <Entrance />
      </SettingsProvider>
    </QueryClientProvider>
  </StrictMode>,
);
