/** What a user has chosen in this browser: theme and time zone. */
import { createContext, useContext, useEffect, useMemo, useState, type ReactNode } from "react";
import type { Zone } from "./numbers";

export type Theme = "system" | "light" | "dark";

export interface Settings {
  theme: Theme;
  zone: Zone;
  setTheme(theme: Theme): void;
  setZone(zone: Zone): void;
}

const SettingsContext = createContext<Settings>({
  theme: "system",
  zone: "local",
  setTheme: () => undefined,
  setZone: () => undefined,
});
export const useSettings = () => useContext(SettingsContext);

function kept<T extends string>(key: string, known: readonly T[], usual: T): T {
  try {
    const found = localStorage.getItem(key) as T | null;
    return found && known.includes(found) ? found : usual;
  } catch {
    return usual; // a browser that keeps nothing
  }
}

function keep(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // it counts until the page is left
  }
}

export function SettingsProvider({ children }: { children: ReactNode }) {
  const [theme, setTheme] = useState<Theme>(() => kept<Theme>("theme", ["system", "light", "dark"], "system"));
  const [zone, setZone] = useState<Zone>(() => kept<Zone>("zone", ["local", "utc"], "local"));
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
    keep("theme", theme);
  }, [theme]);
  useEffect(() => keep("zone", zone), [zone]);
  const value = useMemo(() => ({ theme, zone, setTheme, setZone }), [theme, zone]);
  return <SettingsContext.Provider value={value}>{children}</SettingsContext.Provider>;
}
